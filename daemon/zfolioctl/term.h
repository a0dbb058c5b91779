/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * term.h - text for people: width and colour of the terminal, and tables
 *
 * Colour is used on a terminal, unless NO_COLOR is set, or as --color says.
 * Names of cgroups may hold any bytes: what is not printable is shown as "?", so
 * that no name does anything to the terminal.
 */
#ifndef ZFOLIOCTL_TERM_H
#define ZFOLIOCTL_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zfolio/cleanup.h>
#include <zfolio/units.h>

struct term {
	unsigned int width, height;
	bool is_terminal;	/* stdout is one */
	bool colour;
	bool exact;		/* sizes in bytes */
};

/* Also sets the locale of characters. COLUMNS and LINES win. */
void term_init(struct term *term);

enum tint {
	TINT_PLAIN,
	TINT_TITLE,
	TINT_GOOD,
	TINT_WARN,
	TINT_BAD,
	TINT_DIM,
};

/* What switches a tint on, and all of them off; "" without colour. */
const char *term_on(const struct term *term, enum tint tint);
const char *term_off(const struct term *term);

/* A size, as --bytes asks for. */
const char *term_bytes(const struct term *term, uint64_t bytes,
		       char text[ZF_BYTES_LEN]);

/* Prints text, broken between words to fit, each line indented. */
void term_wrap(const struct term *term, unsigned int indent, const char *text);

/* ---- tables ---- */

enum align {
	ALIGN_RIGHT,
	ALIGN_PATH,		/* left, cut at its start */
	ALIGN_TEXT,		/* left, cut at its end */
};

/* Columns that do not fit are left out, those of the highest rank first. */
struct column {
	const char *title;
	enum align align;
	unsigned int rank;	/* 0: always there */
};

struct table;

/* Return: 0 or -ENOMEM; @columns must outlive it. */
int table_new(const struct column *columns, size_t nr_columns,
	      struct table **ret_table);

void table_free(struct table *table);
ZF_DEFINE_CLEANUP(struct table, table_free, table_free)

/* The next cell, row by row; text that can not be printed is replaced. */
int table_add(struct table *table, enum tint tint, const char *text);

/* Prints the title and at most @max_rows rows. */
void table_print(const struct table *table, const struct term *term,
		 size_t max_rows);

#endif
