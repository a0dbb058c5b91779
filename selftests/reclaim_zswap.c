// SPDX-License-Identifier: GPL-2.0-only
/*
 * reclaim_zswap: memory.reclaim with source=zswap writes back what it is asked to.
 *
 * Children of two groups below one fill memory that goes to zswap whole, and is
 * then asked for: of one group, of both through their parent, more than there is,
 * where write-back is not allowed, by two callers at once, and by one whom a signal
 * ends. The compressed pool and the usage must fall by what was asked for, as much
 * as one batch apart; no page may count as a refault, and each must come back with
 * its contents.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/time.h>

#include "guest_cgroup.h"

#define PARENT		"reclaim_zswap"
#define NR_GROUPS	2
#define REGION_SIZE	(64 * GUEST_MIB)
#define ASKED		(4 * GUEST_MIB)

/*
 * A batch is 32 pages and as many beside them that are as cold, of up to a page
 * each when they don't compress; these take a little more than half of one.
 */
#define BATCH		(64 * page_size * 5 / 8)
/* Per-CPU charges of memory.current, and pages whose write has not ended. */
#define USAGE_SLACK	(GUEST_MIB)
#define SETTLE_SECONDS	3
/* At least, of what was filled in one go. */
#define REQUEST_KIB	120

static const char *const groups[NR_GROUPS] = { PARENT "/a", PARENT "/b" };

struct child {
	uint32_t seed;
	size_t wrong;
};

static int child_body(void *arg)
{
	struct child *child = arg;
	char *region = guest_map(REGION_SIZE);

	guest_fill(region, REGION_SIZE, child->seed);
	if (guest_pageout(region, REGION_SIZE))
		return 1;
	guest_child_pause();

	child->wrong = guest_count_wrong(region, REGION_SIZE, child->seed);
	guest_child_pause();
	return 0;
}

struct usage {
	long compressed;	/* bytes, exact */
	long current;		/* bytes */
	long written;		/* pages */
	long proactive;		/* pages */
	long refaults;		/* pages */
};

static void read_usage(const char *group, struct usage *ret)
{
	*ret = (struct usage){
		.compressed = guest_cgroup_read(group, "memory.zswap.current"),
		.current = guest_cgroup_read(group, "memory.current"),
		.written = guest_cgroup_key(group, "memory.stat", "zswpwb"),
		.proactive = guest_cgroup_key(group, "memory.stat",
					      "zswpwb_proactive"),
		.refaults = guest_cgroup_key(group, "memory.stat",
					     "workingset_refault_anon"),
	};
}

static int reclaim(const char *group, const char *text)
{
	char path[PATH_MAX];

	guest_cgroup_path(path, sizeof(path), group, "memory.reclaim");
	return guest_try_write(path, "%s", text);
}

static void test_bad_input(void)
{
	static const char *const bad[] = {
		"source=zswap", "1M source=", "1M source=disk", "1X source=zswap",
		"-1 source=zswap", "1M source=zswap swappiness=10",
		"1M swappiness=max source=zswap", "1M source=zswap1",
	};
	size_t refused = 0;
	int ret;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ret = reclaim(groups[0], bad[i]);
		if (ret == -EINVAL)
			refused++;
		else
			ksft_print_msg("\"%s\": %d\n", bad[i], ret);
	}
	ksft_test_result(refused == ARRAY_SIZE(bad), "what is wrong gives EINVAL\n");
	ksft_test_result(!reclaim(groups[0], "0 source=zswap"),
			 "nothing is soon done\n");
}

/* Write requests that the disk has completed, and their KiB. */
static void read_writes(long *ret_requests, long *ret_kib)
{
	FILE *file = popen("cat /sys/block/$(sed -n 's|^/dev/\\([^ ]*\\) .*|\\1|p' /proc/swaps)/stat", "r");
	long merges, sectors;

	if (!file || fscanf(file, "%*d %*d %*d %*d %ld %ld %ld", ret_requests,
			    &merges, &sectors) != 3)
		ksft_exit_fail_msg("the disk's statistics cannot be read\n");
	pclose(file);
	*ret_kib = sectors / 2;
}

static void test_amount(void)
{
	long requests_before, requests, kib_before, kib;
	struct usage before, after;
	long compressed, current;
	char text[64];
	int ret;

	read_usage(groups[0], &before);
	read_writes(&requests_before, &kib_before);
	snprintf(text, sizeof(text), "%lu source=zswap", ASKED);
	ret = reclaim(groups[0], text);
	read_usage(groups[0], &after);
	compressed = before.compressed - after.compressed;
	current = before.current - after.current;
	ksft_print_msg("asked for %lu bytes: the pool fell by %ld, the usage by %ld\n",
		       ASKED, compressed, current);
	ksft_test_result(!ret && compressed >= (long)ASKED &&
			 compressed < (long)(ASKED + BATCH),
			 "the pool falls by what was asked for\n");
	ksft_test_result(labs(current - compressed) < (long)USAGE_SLACK,
			 "so does the usage, when the write returns\n");

	sleep(SETTLE_SECONDS);
	read_writes(&requests, &kib);
	requests -= requests_before;
	kib -= kib_before;
	ksft_print_msg("%ld KiB in %ld write requests\n", kib, requests);
	ksft_test_result(requests && kib / requests >= REQUEST_KIB,
			 "in long requests\n");
	read_usage(groups[0], &after);
	ksft_print_msg("%ld pages written, %ld of them on request, %ld refaults\n",
		       after.written - before.written,
		       after.proactive - before.proactive,
		       after.refaults - before.refaults);
	ksft_test_result(after.written > before.written &&
			 after.written - before.written ==
			 after.proactive - before.proactive,
			 "each page counts, and as asked for\n");
	ksft_test_result(after.refaults == before.refaults, "none is a refault\n");
}

static void test_children(void)
{
	struct usage before[NR_GROUPS], after[NR_GROUPS];
	long fell[NR_GROUPS];
	char text[64];
	int ret;

	for (int i = 0; i < NR_GROUPS; i++)
		read_usage(groups[i], &before[i]);
	snprintf(text, sizeof(text), "%lu source=zswap", ASKED);
	ret = reclaim(PARENT, text);
	for (int i = 0; i < NR_GROUPS; i++) {
		read_usage(groups[i], &after[i]);
		fell[i] = before[i].compressed - after[i].compressed;
	}
	ksft_print_msg("the children's pools fell by %ld and %ld\n", fell[0],
		       fell[1]);
	ksft_test_result(!ret && fell[0] > 0 && fell[1] > 0 &&
			 fell[0] + fell[1] >= (long)ASKED,
			 "a group's children give what it is asked for\n");
}

static void test_not_allowed(void)
{
	struct usage before, after;
	int own, above;

	read_usage(groups[0], &before);
	guest_cgroup_write(groups[0], "memory.zswap.writeback", "0");
	own = reclaim(groups[0], "1M source=zswap");
	guest_cgroup_write(groups[0], "memory.zswap.writeback", "1");
	guest_cgroup_write(PARENT, "memory.zswap.writeback", "0");
	above = reclaim(groups[0], "1M source=zswap");
	guest_cgroup_write(PARENT, "memory.zswap.writeback", "1");
	read_usage(groups[0], &after);
	ksft_test_result(own == -EAGAIN && above == -EAGAIN &&
			 before.compressed == after.compressed,
			 "write-back that is off stays off, also up the hierarchy\n");
}

static void *ask(void *arg)
{
	return (void *)(intptr_t)reclaim(groups[0], arg);
}

static void test_concurrent(void)
{
	struct usage before, after;
	pthread_t threads[2];
	int failed = 0;
	char text[64];
	long fell;
	void *ret;

	read_usage(groups[0], &before);
	snprintf(text, sizeof(text), "%lu source=zswap", ASKED / 2);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, ask, text))
			ksft_exit_fail_msg("pthread_create\n");
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &ret);
		failed |= (intptr_t)ret;
	}
	read_usage(groups[0], &after);
	fell = before.compressed - after.compressed;
	ksft_print_msg("two callers: the pool fell by %ld\n", fell);
	ksft_test_result(!failed && fell >= (long)ASKED &&
			 fell < (long)(ASKED + 2 * BATCH),
			 "two callers get what both have asked for\n");
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void test_signal(void)
{
	/* Comes again and again, as the first may come too early. */
	const struct itimerval soon = {
		.it_value.tv_usec = 2000, .it_interval.tv_usec = 2000,
	};
	const struct sigaction action = { .sa_handler = on_alarm };
	const struct itimerval never = {};
	struct usage before, after;
	int ret;

	read_usage(groups[1], &before);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	ret = reclaim(groups[1], "1G source=zswap");
	setitimer(ITIMER_REAL, &never, NULL);
	read_usage(groups[1], &after);
	ksft_print_msg("until the signal the pool fell by %ld of %ld bytes\n",
		       before.compressed - after.compressed, before.compressed);
	ksft_test_result(ret == -EINTR && after.compressed > 0,
			 "a signal ends it\n");
}

static void test_all(void)
{
	struct usage after;
	int ret;

	ret = reclaim(groups[1], "1G source=zswap");
	read_usage(groups[1], &after);
	ksft_print_msg("asked for more than there is: %d, %ld bytes are left\n", ret,
		       after.compressed);
	ksft_test_result(ret == -EAGAIN && after.compressed == 0,
			 "less than was asked for gives EAGAIN, and all of it goes\n");
	ksft_test_result(reclaim(groups[1], "1M source=zswap") == -EAGAIN,
			 "nothing at all gives EAGAIN\n");
}

static void test_root(void)
{
	long before = guest_zswap_stored(), after;
	int ret = reclaim("", "1M source=zswap");

	after = guest_zswap_stored();
	ksft_print_msg("of the root: %d, %ld of %ld pages are left\n", ret, after,
		       before);
	ksft_test_result(!ret && after < before, "the root gives what others hold\n");
}

int main(void)
{
	struct child *children[NR_GROUPS];
	pid_t pids[NR_GROUPS];
	size_t wrong = 0;

	guest_start();
	guest_zswap_enable("lz4");
	guest_thp_only(0);

	ksft_set_plan(15);
	guest_cgroup_create_parent(PARENT);
	for (int i = 0; i < NR_GROUPS; i++) {
		guest_cgroup_create(groups[i]);
		children[i] = guest_share(sizeof(**children));
		children[i]->seed = i + 1;
		pids[i] = guest_cgroup_spawn(groups[i], child_body, children[i]);
		guest_child_must_pause(guest_child_wait(pids[i]), "filling");
	}
	sleep(SETTLE_SECONDS);

	test_bad_input();
	test_not_allowed();
	/* First, while both have as many entries with a second chance. */
	test_children();
	test_amount();
	test_concurrent();
	test_root();
	test_signal();
	test_all();

	for (int i = 0; i < NR_GROUPS; i++) {
		guest_child_must_pause(guest_child_next(pids[i]), "reading");
		wrong += children[i]->wrong;
		guest_child_kill(pids[i]);
		guest_cgroup_remove(groups[i]);
	}
	ksft_test_result(!wrong, "contents\n");
	guest_cgroup_remove(PARENT);
	ksft_finished();
}
