// SPDX-License-Identifier: GPL-2.0-or-later
#include "tick.h"

const struct field_info field_infos[NR_FIELDS] = {
	[FIELD_ZSWPIN]		= { "zswpin", FIELD_IS_DELTA },
	[FIELD_ZSWPOUT]		= { "zswpout", FIELD_IS_DELTA },
	[FIELD_ZSWPWB]		= { "zswpwb", FIELD_IS_DELTA },
	[FIELD_PSWPIN]		= { "pswpin", FIELD_IS_DELTA },
	[FIELD_PSWPOUT]		= { "pswpout", FIELD_IS_DELTA },
	[FIELD_PGMAJFAULT]	= { "pgmajfault", FIELD_IS_DELTA },
	[FIELD_REFAULT_ANON]	= { "workingset_refault_anon", FIELD_IS_DELTA },
	[FIELD_MEMORY_STALL]	= { "memory_stall", FIELD_IS_DELTA },
	[FIELD_IO_STALL]	= { "io_stall", FIELD_IS_DELTA },
	[FIELD_WBYTES]		= { "wbytes", FIELD_IS_DELTA },
	[FIELD_WIOS]		= { "wios", FIELD_IS_DELTA },
	[FIELD_CURRENT]		= { "current", FIELD_IS_LEVEL },
	[FIELD_SWAP]		= { "swap", FIELD_IS_LEVEL },
	[FIELD_ZSWAPPED]	= { "zswapped", FIELD_IS_LEVEL },
	[FIELD_ZSWAP]		= { "zswap", FIELD_IS_LEVEL },
	[FIELD_ZSWAP_MAX]	= { "zswap_max", FIELD_IS_LEVEL },
	[FIELD_SWAPIN_MAX]	= { "swapin_max", FIELD_IS_LEVEL },
	[FIELD_WRITEBACK]	= { "writeback", FIELD_IS_LEVEL },
	[FIELD_WRITEBACK_HERE]	= { "writeback_here", FIELD_IS_LEVEL },
};

const char *const knob_files[NR_KNOBS] = {
	[KNOB_WRITEBACK]	= "memory.zswap.writeback",
	[KNOB_ZSWAP_MAX]	= "memory.zswap.max",
	[KNOB_SWAPIN_MAX]	= "memory.zswap.swapin_max",
	[KNOB_RECLAIM]		= "memory.reclaim",
};
