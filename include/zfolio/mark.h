/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mark.h - where bench/plugin/insns.c begins and ends to count
 */
#ifndef ZFOLIO_MARK_H
#define ZFOLIO_MARK_H

/* Does nothing. The plugin counts from one mark to the next. */
static inline void zf_mark(void)
{
#ifdef __x86_64__
	asm volatile("xchgw %%bx, %%bx" ::: "memory");
#endif
}

#endif
