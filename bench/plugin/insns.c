// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * insns - a plugin for QEMU that counts the guest's instructions by address
 *
 * It counts from one `xchg %bx,%bx` to the next (zf_mark() in daemon/lib): an
 * instruction that does nothing and that compilers do not use. With start=ADDRESS,
 * in hexadecimal, it counts from the first time that the instruction there runs. When
 * the guest ends, the file that out= names gets a line for each instruction that ran,
 * "ADDRESS TIMES", both in hexadecimal.
 *
 * QEMU's packages bring no header, so the few declarations stand here: those of
 * version 1 of its plugin interface, which QEMU 6.1 to 8.2 have.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- QEMU's interface ---- */

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

#define QEMU_PLUGIN_CB_NO_REGS 0

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *
qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
	void (*translated)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
	void (*executed)(unsigned int vcpu, void *data), int flags, void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id,
	void (*ended)(qemu_plugin_id_t id, void *data), void *data);

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
			       char **argv);

/* ---- instructions seen ---- */

struct spot {
	uint64_t addr;
	uint64_t times;
};

/* Open addressing; a guest kernel and its programs run some 100,000. */
#define TABLE_BITS 21
#define TABLE_SIZE ((size_t)1 << TABLE_BITS)

static struct spot *table[TABLE_SIZE];
static size_t nr_spots;
static bool counting;
static char *out;
static uint64_t start;	/* 0: by marks */

/* Code that is translated again keeps its count. */
static struct spot *spot_at(uint64_t addr)
{
	size_t i = (addr * 0x9e3779b97f4a7c15ULL) >> (64 - TABLE_BITS);

	while (table[i] && table[i]->addr != addr)
		i = (i + 1) % TABLE_SIZE;
	if (!table[i]) {
		table[i] = calloc(1, sizeof(*table[i]));
		if (!table[i] || ++nr_spots == TABLE_SIZE / 2) {
			fputs("insns: too many instructions\n", stderr);
			exit(1);
		}
		table[i]->addr = addr;
	}
	return table[i];
}

/* ---- callbacks ---- */

static void count(unsigned int vcpu, void *data)
{
	struct spot *spot = data;

	(void)vcpu;
	spot->times += counting;
}

static void begin(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	counting = true;
}

static void toggle(unsigned int vcpu, void *data)
{
	(void)vcpu;
	(void)data;
	counting = !counting;
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	static const unsigned char mark[] = { 0x66, 0x87, 0xdb };

	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (start && qemu_plugin_insn_vaddr(insn) == start)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, begin,
				QEMU_PLUGIN_CB_NO_REGS, NULL);
		if (!start && qemu_plugin_insn_size(insn) == sizeof(mark) &&
		    !memcmp(qemu_plugin_insn_data(insn), mark, sizeof(mark)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, toggle,
				QEMU_PLUGIN_CB_NO_REGS, NULL);
		else
			qemu_plugin_register_vcpu_insn_exec_cb(insn, count,
				QEMU_PLUGIN_CB_NO_REGS,
				spot_at(qemu_plugin_insn_vaddr(insn)));
	}
}

static void ended(qemu_plugin_id_t id, void *data)
{
	FILE *file = fopen(out, "w");

	(void)id;
	(void)data;
	if (!file) {
		perror(out);
		return;
	}
	for (size_t i = 0; i < TABLE_SIZE; i++) {
		if (table[i] && table[i]->times)
			fprintf(file, "%llx %llx\n",
				(unsigned long long)table[i]->addr,
				(unsigned long long)table[i]->times);
	}
	fclose(file);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc,
			char **argv)
{
	(void)info;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4) && argv[i][4])
			out = strdup(argv[i] + 4);
		else if (!strncmp(argv[i], "start=", 6))
			start = strtoull(argv[i] + 6, NULL, 16);
	}
	if (!out || argc > 2 || (argc == 2 && !start)) {
		fputs("insns: expected out=FILE, and start=ADDRESS or nothing\n",
		      stderr);
		return -1;
	}
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, ended, NULL);
	return 0;
}
