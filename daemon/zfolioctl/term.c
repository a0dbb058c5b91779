// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <wchar.h>
#include <wctype.h>

#include <zfolio/path.h>

#include "term.h"

/* What shells assume where nobody says. */
#define DEFAULT_WIDTH 80
#define DEFAULT_HEIGHT 24

/* Columns whose text is cut are not made smaller than this. */
#define PATH_MIN 30
#define TEXT_MIN 24

static unsigned int from_environment(const char *name, unsigned int fallback)
{
	const char *text = getenv(name);
	uint64_t value;

	if (!text || zf_parse_u64(text, &value) < 0 || !value || value > 10000)
		return fallback;
	return value;
}

void term_init(struct term *term)
{
	const char *no_colour = getenv("NO_COLOR");
	struct winsize size = { 0 };

	setlocale(LC_CTYPE, "");
	term->is_terminal = isatty(STDOUT_FILENO);
	if (term->is_terminal)
		ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	term->width = from_environment("COLUMNS", size.ws_col ? size.ws_col :
						  DEFAULT_WIDTH);
	term->height = from_environment("LINES", size.ws_row ? size.ws_row :
						 DEFAULT_HEIGHT);
	term->colour = term->is_terminal && !(no_colour && *no_colour);
}

const char *term_on(const struct term *term, enum tint tint)
{
	static const char *const codes[] = {
		[TINT_PLAIN] = "", [TINT_TITLE] = "\033[1m",
		[TINT_GOOD] = "\033[32m", [TINT_WARN] = "\033[33m",
		[TINT_BAD] = "\033[1;31m", [TINT_DIM] = "\033[2m",
	};

	return term->colour ? codes[tint] : "";
}

const char *term_off(const struct term *term)
{
	return term->colour ? "\033[0m" : "";
}

const char *term_bytes(const struct term *term, uint64_t bytes,
		       char text[ZF_BYTES_LEN])
{
	if (!term->exact || bytes == UINT64_MAX)
		return zf_format_bytes(bytes, text);
	snprintf(text, ZF_BYTES_LEN, "%" PRIu64, bytes);
	return text;
}

/* ---- text ---- */

/* The length of a character and the columns it takes; 0 columns: unprintable. */
static size_t look_at(const char *text, unsigned int *ret_width)
{
	mbstate_t state = { 0 };
	wchar_t c;
	size_t len = mbrtowc(&c, text, strlen(text), &state);
	int width;

	*ret_width = 0;
	if (len == (size_t)-1 || len == (size_t)-2 || !len)
		return 1;
	width = iswprint(c) ? wcwidth(c) : 0;
	*ret_width = width > 0 ? width : 0;
	return len;
}

static void make_printable(char *text)
{
	unsigned int width;
	char *to = text;

	while (*text) {
		size_t len = look_at(text, &width);

		if (width) {
			memmove(to, text, len);
			to += len;
		} else {
			*to++ = '?';
		}
		text += len;
	}
	*to = '\0';
}

/* Of text that can be printed. */
static unsigned int text_width(const char *text)
{
	unsigned int sum = 0, width;

	while (*text) {
		text += look_at(text, &width);
		sum += width;
	}
	return sum;
}

static const char *skip(const char *text, unsigned int columns)
{
	unsigned int width;

	while (columns && *text) {
		text += look_at(text, &width);
		columns -= width < columns ? width : columns;
	}
	return text;
}

/* The end of what fits into @columns. */
static const char *fit(const char *text, unsigned int columns)
{
	unsigned int width;

	while (*text) {
		size_t len = look_at(text, &width);

		if (width > columns)
			break;
		columns -= width;
		text += len;
	}
	return text;
}

void term_wrap(const struct term *term, unsigned int indent, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	unsigned int at = indent;
	char *rest = NULL;

	if (!copy)
		return;
	make_printable(copy);
	printf("%*s", indent, "");
	for (char *word = strtok_r(copy, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest)) {
		unsigned int width = text_width(word);

		if (at > indent && at + 1 + width > term->width) {
			printf("\n%*s", indent, "");
			at = indent;
		}
		at += printf("%s", at > indent ? " " : "");
		fputs(word, stdout);
		at += width;
	}
	putchar('\n');
}

/* ---- tables ---- */

struct cell {
	char *text;
	unsigned int width;
	enum tint tint;
};

struct table {
	const struct column *columns;
	size_t nr_columns;
	struct cell *cells;
	size_t nr_cells, room;
};

int table_new(const struct column *columns, size_t nr_columns,
	      struct table **ret_table)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->columns = columns;
	table->nr_columns = nr_columns;
	*ret_table = table;
	return 0;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->nr_cells; i++)
		free(table->cells[i].text);
	free(table->cells);
	free(table);
}

int table_add(struct table *table, enum tint tint, const char *text)
{
	struct cell cell = { .text = strdup(text), .tint = tint };

	if (!cell.text)
		return -ENOMEM;
	if (table->nr_cells == table->room) {
		size_t room = table->room ? table->room * 2 : 256;
		struct cell *larger;

		larger = realloc(table->cells, room * sizeof(*larger));
		if (!larger) {
			free(cell.text);
			return -ENOMEM;
		}
		table->cells = larger;
		table->room = room;
	}
	make_printable(cell.text);
	cell.width = text_width(cell.text);
	table->cells[table->nr_cells++] = cell;
	return 0;
}

static void print_cell(const struct term *term, enum align align,
		       unsigned int room, enum tint tint, const char *text,
		       unsigned int width, bool is_last)
{
	unsigned int blanks = width < room ? room - width : 0;

	if (align == ALIGN_RIGHT)
		printf("%*s", blanks, "");
	fputs(term_on(term, tint), stdout);
	if (width <= room)
		fputs(text, stdout);
	else if (align == ALIGN_PATH)
		printf("...%s", skip(text, width - room + 3));
	else
		printf("%.*s...", (int)(fit(text, room - 3) - text), text);
	if (tint != TINT_PLAIN)
		fputs(term_off(term), stdout);
	if (align != ALIGN_RIGHT && !is_last)
		printf("%*s", blanks, "");
}

static unsigned int least(enum align align, unsigned int width)
{
	unsigned int min = align == ALIGN_PATH ? PATH_MIN :
			   align == ALIGN_TEXT ? TEXT_MIN : width;

	return min < width ? min : width;
}

/* Widths of the columns that fit, 0 for those that do not. */
static void lay_out(const struct table *table, unsigned int width,
		    unsigned int *widths)
{
	unsigned int sum, spare;
	size_t worst;

	for (size_t i = 0; i < table->nr_columns; i++)
		widths[i] = strlen(table->columns[i].title);
	for (size_t i = 0; i < table->nr_cells; i++) {
		unsigned int *w = &widths[i % table->nr_columns];

		if (table->cells[i].width > *w)
			*w = table->cells[i].width;
	}
	for (;;) {
		sum = 0;
		worst = 0;
		for (size_t i = 0; i < table->nr_columns; i++) {
			if (!widths[i])
				continue;
			sum += least(table->columns[i].align, widths[i]) + 2;
			if (table->columns[i].rank >
			    table->columns[worst].rank)
				worst = i;
		}
		if (sum <= width + 2 || !table->columns[worst].rank)
			break;
		widths[worst] = 0;
	}
	/* What is left goes to those that were cut, in their order. */
	spare = width + 2 > sum ? width + 2 - sum : 0;
	for (size_t i = 0; i < table->nr_columns; i++) {
		unsigned int min, more;

		if (!widths[i])
			continue;
		min = least(table->columns[i].align, widths[i]);
		more = widths[i] - min < spare ? widths[i] - min : spare;
		widths[i] = min + more;
		spare -= more;
	}
}

void table_print(const struct table *table, const struct term *term,
		 size_t max_rows)
{
	size_t rows = table->nr_cells / table->nr_columns, last = 0;
	unsigned int widths[table->nr_columns];

	lay_out(table, term->width, widths);
	for (size_t i = 0; i < table->nr_columns; i++) {
		if (widths[i])
			last = i;
	}
	for (size_t row = 0; row <= rows && row <= max_rows; row++) {
		for (size_t i = 0; i < table->nr_columns; i++) {
			const struct column *column = &table->columns[i];
			const struct cell *cell;

			if (!widths[i])
				continue;
			if (i)
				fputs("  ", stdout);
			if (!row) {
				print_cell(term, column->align, widths[i],
					   TINT_TITLE, column->title,
					   strlen(column->title), i == last);
				continue;
			}
			cell = &table->cells[(row - 1) * table->nr_columns + i];
			print_cell(term, column->align, widths[i], cell->tint,
				   cell->text, cell->width, i == last);
		}
		putchar('\n');
	}
}
