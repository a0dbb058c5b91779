// SPDX-License-Identifier: GPL-2.0-or-later
/* config.h: files, sections and keys on a tree of plain files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../zfoliod/config.h"

#include "tree.h"

#define MAIN "etc/zfolio.conf"

/* Each test begins without any file. */
static int clear(void **state)
{
	struct tree *t = *state;
	_cleanup_free_ char *etc = tree_name(t, "etc");
	_cleanup_free_ char *usr = tree_name(t, "usr");

	nftw(etc, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	nftw(usr, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static void mask(const struct tree *t, const char *name)
{
	_cleanup_free_ char *whole = tree_name(t, name);

	tree_write(t, name, "");
	assert_int_equal(unlink(whole), 0);
	assert_int_equal(symlink("/dev/null", whole), 0);
}

static struct config *load(const struct tree *t)
{
	_cleanup_free_ char *error = NULL;
	struct config *config = NULL;

	if (config_load(t->path, &config, &error) < 0)
		fail_msg("%s", error);
	return config;
}

/* That @text as the only file is refused with @want. */
static void refused(const struct tree *t, const char *text, const char *want)
{
	_cleanup_free_ char *error = NULL;
	struct config *config = (struct config *)0x1;

	tree_write(t, MAIN, text);
	assert_int_equal(config_load(t->path, &config, &error), -EINVAL);
	assert_ptr_equal(config, (struct config *)0x1);
	assert_non_null(error);
	assert_string_equal(error, want);
}

static void test_defaults_without_files(void **state)
{
	_cleanup_(config_freep) struct config *config = load(*state);
	struct policy policy = config_policy(config, "a/b");

	assert_true(config_settings(config)->interval == 2000000);
	assert_memory_equal(&policy, &policy_default, sizeof(policy));
	assert_false(config_device(config, "sda").reserved);
}

static void test_every_key(void **state)
{
	const struct tree *t = *state;
	_cleanup_(config_freep) struct config *config = NULL;
	const struct settings *settings;
	struct device_policy device;
	struct policy policy;

	tree_write(t, MAIN,
		   "# a comment\n; another\n\n"
		   "[daemon]\ninterval = 500ms\nrescan=1min\npool_low: 30%\n"
		   "pool_high = 80 % ; as a share\nburst = 20s\n"
		   "reclaim_timeout = 1min\nreapply_interval = 1h\n"
		   "drift = reapply\r\n"
		   "[device *]\nwrite_rate = 1M/s\nwrite_daily = 5G/day\n"
		   "  reserved = yes\n"
		   "[cgroup **]\nwriteback = off\nswapin = leave\n"
		   "proactive = no\nsubtree = yes\nweight = 10000\n"
		   "pool_target = 25%\nstep_min = 64K\nstep_max = 128K\n"
		   "memory_pressure = 1%\nio_pressure = 2%\n"
		   "refault_limit = 1%/h\noff_refaults = 3%/s\noff_ticks = 7\n"
		   "thrash_limit = 4%/min\nthrash_ticks = 8\ncalm = 1s\n"
		   "dwell = 0\nswapin_min = 16K\nswapin_max = 64K\n"
		   "zswap_max = max\n");
	config = load(t);
	settings = config_settings(config);
	assert_true(settings->interval == 500000);
	assert_true(settings->rescan == 60000000);
	assert_true(settings->pool_low == 300000);
	assert_true(settings->pool_high == 800000);
	assert_true(settings->burst == 20000000);
	assert_true(settings->reclaim_timeout == 60000000);
	assert_true(settings->reapply_interval == ZF_USEC_PER_HOUR);
	assert_true(settings->drift == DRIFT_REAPPLY);
	device = config_device(config, "nvme0n1");
	assert_true(device.write_rate.amount == 1 << 20);
	assert_true(device.write_daily.amount == 5ULL << 30);
	assert_true(device.write_daily.usec == ZF_USEC_PER_DAY);
	assert_true(device.reserved);
	policy = config_policy(config, "x");
	assert_true(policy.writeback == WRITEBACK_OFF);
	assert_true(policy.swapin == SWAPIN_LEAVE);
	assert_true(!policy.proactive && policy.subtree);
	assert_true(policy.weight == 10000);
	assert_true(zf_amount_bytes(policy.pool_target, 400) == 100);
	assert_true(policy.step_min == 65536 && policy.step_max == 131072);
	assert_true(policy.memory_pressure == 10000);
	assert_true(policy.io_pressure == 20000);
	assert_true(policy.refault_limit.usec == ZF_USEC_PER_HOUR);
	assert_true(policy.off_refaults.amount == 30000);
	assert_true(policy.off_ticks == 7 && policy.thrash_ticks == 8);
	assert_true(policy.thrash_limit.amount == 40000);
	assert_true(policy.calm == 1000000 && policy.dwell == 0);
	assert_true(policy.swapin_min == 16384 && policy.swapin_max == 65536);
	assert_true(!amount_is_leave(policy.zswap_max));
	assert_true(policy.zswap_max.value == UINT64_MAX);
}

static void test_most_specific_wins_key_by_key(void **state)
{
	const struct tree *t = *state;
	_cleanup_(config_freep) struct config *config = NULL;
	struct policy policy;

	tree_write(t, MAIN,
		   "[cgroup system.slice/db.service]\nweight = 500\n"
		   "[cgroup system.slice/**]\nweight = 50\nproactive = no\n"
		   "[cgroup **]\nweight = 5\nproactive = yes\nstep_min = 2M\n"
		   "[cgroup *em.slice/**]\nweight = 7\n"
		   "[cgroup system.slice/**]\nweight = 60\n");
	config = load(t);
	policy = config_policy(config, "system.slice/db.service");
	assert_true(policy.weight == 500);
	assert_false(policy.proactive);
	assert_true(policy.step_min == 2 << 20);
	/* Equally specific: the later one. */
	assert_true(config_policy(config, "system.slice/a").weight == 60);
	assert_true(config_policy(config, "item.slice/a").weight == 7);
	assert_true(config_policy(config, "").weight == 5);
}

static void test_devices(void **state)
{
	const struct tree *t = *state;
	_cleanup_(config_freep) struct config *config = NULL;

	tree_write(t, MAIN,
		   "[device **]\nreserved = yes\n"
		   "[device nvme*]\nreserved = no\n"
		   "[device var/swap*]\nwrite_rate = 1M/s\n");
	config = load(t);
	assert_true(config_device(config, "sda2").reserved);
	assert_false(config_device(config, "nvme0n1p2").reserved);
	assert_true(config_device(config, "/var/swapfile").reserved);
	assert_true(config_device(config, "/var/swapfile").write_rate.amount ==
		    1 << 20);
}

static void test_order_of_files(void **state)
{
	const struct tree *t = *state;
	_cleanup_(config_freep) struct config *config = NULL;

	tree_write(t, "usr/lib/zfolio/zfolio.conf",
		   "[cgroup **]\nweight = 1\noff_ticks = 1\nthrash_ticks = 1\n");
	tree_write(t, MAIN, "[cgroup **]\nweight = 2\noff_ticks = 2\n");
	tree_write(t, MAIN ".d/20-b.conf", "[cgroup **]\nweight = 4\n");
	tree_write(t, MAIN ".d/10-a.conf", "[cgroup **]\nweight = 3\n");
	tree_write(t, MAIN ".d/30-c.conf.bak", "rubbish");
	tree_write(t, MAIN ".d/.40-d.conf", "rubbish");
	tree_write(t, "usr/lib/zfolio/zfolio.conf.d/15-p.conf",
		   "[cgroup **]\nweight = 9\nstep_min = 8K\n");
	config = load(t);
	assert_true(config_policy(config, "a").weight == 4);
	assert_true(config_policy(config, "a").off_ticks == 2);
	assert_true(config_policy(config, "a").thrash_ticks == 1);
	assert_true(config_policy(config, "a").step_min == 8192);
}

static void test_links_to_null_mask(void **state)
{
	const struct tree *t = *state;
	_cleanup_(config_freep) struct config *config = NULL;

	tree_write(t, "usr/lib/zfolio/zfolio.conf", "[cgroup **]\nweight = 1\n");
	tree_write(t, "usr/lib/zfolio/zfolio.conf.d/a.conf",
		   "[cgroup **]\noff_ticks = 9\n");
	tree_write(t, "usr/lib/zfolio/zfolio.conf.d/b.conf",
		   "[cgroup **]\nthrash_ticks = 9\n");
	mask(t, MAIN);
	mask(t, MAIN ".d/a.conf");
	config = load(t);
	assert_true(config_policy(config, "a").weight == policy_default.weight);
	assert_true(config_policy(config, "a").off_ticks ==
		    policy_default.off_ticks);
	assert_true(config_policy(config, "a").thrash_ticks == 9);
}

static void test_groups(void **state)
{
	static const struct {
		const char *text;
		uint64_t want;
	} groups[] = {
		{ "none", GROUP_NONE }, { "root", 0 }, { "0", 0 },
		{ "4294967294", 4294967294 },
	};
	const struct tree *t = *state;

	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		_cleanup_(config_freep) struct config *config = NULL;
		char text[64];

		snprintf(text, sizeof(text), "[daemon]\ngroup = %s\n",
			 groups[i].text);
		tree_write(t, MAIN, text);
		config = load(t);
		assert_int_equal(config_settings(config)->group,
				 groups[i].want);
	}
#define EXPECTED "expected a group of this system by name or number, or none"
	refused(t, "[daemon]\ngroup = nobody-has-this\n",
		"/etc/zfolio.conf:2: [daemon] group: \"nobody-has-this\": " EXPECTED);
	refused(t, "[daemon]\ngroup = 4294967295\n",
		"/etc/zfolio.conf:2: [daemon] group: \"4294967295\": " EXPECTED);
	refused(t, "[daemon]\ngroup = 18446744073709551615\n",
		"/etc/zfolio.conf:2: [daemon] group: \"18446744073709551615\": " EXPECTED);
	refused(t, "[daemon]\ngroup =\n",
		"/etc/zfolio.conf:2: [daemon] group: \"\": " EXPECTED);
}

static void test_errors_name_the_place(void **state)
{
	const struct tree *t = *state;

	refused(t, "[cgroup **]\n\nstep_min = 12Q\n",
		"/etc/zfolio.conf:3: [cgroup **] step_min: \"12Q\": expected a size from 4K to 1G, such as 1M");
	refused(t, "[daemon]\ninterval = 2\n",
		"/etc/zfolio.conf:2: [daemon] interval: \"2\": expected a time from 100ms to 1h, such as 2s");
	refused(t, "[daemon]\ninterval = 1ms\n",
		"/etc/zfolio.conf:2: [daemon] interval: \"1ms\": expected a time from 100ms to 1h, such as 2s");
	refused(t, "[daemon]\ninterval =\n",
		"/etc/zfolio.conf:2: [daemon] interval: \"\": expected a time from 100ms to 1h, such as 2s");
	refused(t, "[device sda]\nweight = 5\n",
		"/etc/zfolio.conf:2: [device sda] weight: no key of this section");
	refused(t, "[cgroup a]\nweight = 0x10\n",
		"/etc/zfolio.conf:2: [cgroup a] weight: \"0x10\": expected a number from 1 to 10000, such as 100");
	refused(t, "[cgroup a]\nwriteback = maybe\n",
		"/etc/zfolio.conf:2: [cgroup a] writeback: \"maybe\": expected auto, on, off or leave");
	refused(t, "weight = 5\n",
		"/etc/zfolio.conf:1: weight: expected [daemon], [device NAME] or [cgroup GLOB] before the first key");
	refused(t, "[group a]\n",
		"/etc/zfolio.conf:1: [group a]: expected [daemon], [device NAME] or [cgroup GLOB]");
	refused(t, "[cgroup]\n",
		"/etc/zfolio.conf:1: [cgroup]: expected [daemon], [device NAME] or [cgroup GLOB]");
	refused(t, "[cgroup /a]\n",
		"/etc/zfolio.conf:1: [cgroup /a]: expected a path without a slash at its ends or twice in a row, where ** is a whole level");
	refused(t, "\n[daemon\ninterval = 1s\n",
		"/etc/zfolio.conf:2: [daemon: expected ] at the end");
	refused(t, "[daemon]\njust words\ninterval = bad\n",
		"/etc/zfolio.conf:2: expected KEY = VALUE or [SECTION]");
	refused(t, "[daemon]\ninterval = bad\njust words\n",
		"/etc/zfolio.conf:2: [daemon] interval: \"bad\": expected a time from 100ms to 1h, such as 2s");
	refused(t, "[cgroup a]\nstep_min = 2M\nstep_max = 1M\n",
		"[cgroup a] step_min: expected at most step_max");
	refused(t, "[cgroup **]\nstep_max = 2M\n[cgroup a/*]\nstep_min = 4M\n",
		"[cgroup a/*] step_min: expected at most step_max");
	refused(t, "[daemon]\npool_low = 95%\n",
		"[daemon] pool_low: expected at most pool_high");
}

static void test_long_lines_and_names(void **state)
{
	const struct tree *t = *state;
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *error = NULL;
	struct config *none = NULL;
	char name[600], text[1000];

	/* Longer than what libinih keeps of a section, and with brackets. */
	memset(name, 'n', 500);
	name[255] = '/';
	name[500] = '\0';
	snprintf(text, sizeof(text), "[cgroup %s]\nweight = 7\n[cgroup db@[0-9]*.service] ; x\nweight = 8\n",
		 name);
	tree_write(t, MAIN, text);
	config = load(t);
	assert_true(config_policy(config, name).weight == 7);
	assert_true(config_policy(config, "db@1.service").weight == 8);

	snprintf(text, sizeof(text), "[daemon]\ninterval = %s\n", name);
	tree_write(t, MAIN, text);
	assert_int_equal(config_load(t->path, &none, &error), -EINVAL);
	assert_non_null(strstr(error, "/etc/zfolio.conf:2: expected a line of at most "));
}

static void test_nul_byte(void **state)
{
	const struct tree *t = *state;
	_cleanup_free_ char *whole = tree_name(t, MAIN);
	_cleanup_free_ char *error = NULL;
	struct config *config = NULL;
	FILE *file;

	tree_write(t, MAIN, "");
	file = fopen(whole, "w");
	fwrite("[daemon]\n\0\n", 1, 11, file);
	fclose(file);
	assert_int_equal(config_load(t->path, &config, &error), -EINVAL);
	assert_string_equal(error, "/etc/zfolio.conf:2: expected text, found a NUL byte");
}

static void test_one_file(void **state)
{
	const struct tree *t = *state;
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *name = tree_name(t, "etc/my.conf");
	_cleanup_free_ char *absent = tree_name(t, "etc/absent.conf");
	_cleanup_free_ char *error = NULL;
	_cleanup_free_ char *want = NULL;

	tree_write(t, MAIN, "[cgroup **]\nweight = 9\n");
	tree_write(t, "etc/my.conf", "[cgroup **]\noff_ticks = 9\n");
	assert_int_equal(config_load_file(name, &config, &error), 0);
	assert_true(config_policy(config, "a").off_ticks == 9);
	assert_true(config_policy(config, "a").weight == 100);
	assert_int_equal(config_load_file(absent, &config, &error), -ENOENT);
	assert_true(asprintf(&want, "%s: No such file or directory", absent) > 0);
	assert_string_equal(error, want);
}

/* The file that documents every default must not say anything else. */
static void test_documented_defaults(void **state)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *error = NULL;
	struct device_policy device;
	struct policy policy;

	(void)state;
	if (config_load_file("daemon/systemd/zfolio.conf", &config, &error) < 0)
		fail_msg("%s", error);
	policy = config_policy(config, "a");
	device = config_device(config, "sda");
	assert_memory_equal(config_settings(config), &settings_default,
			    sizeof(settings_default));
	assert_memory_equal(&policy, &policy_default, sizeof(policy));
	assert_memory_equal(&device, &device_policy_default, sizeof(device));
}

#define T(fn) cmocka_unit_test_setup(fn, clear)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		T(test_defaults_without_files),
		T(test_every_key),
		T(test_most_specific_wins_key_by_key),
		T(test_devices),
		T(test_order_of_files),
		T(test_links_to_null_mask),
		T(test_groups),
		T(test_errors_name_the_place),
		T(test_long_lines_and_names),
		T(test_nul_byte),
		T(test_one_file),
		T(test_documented_defaults),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
