/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * guest_cgroup.h: control groups (v2), and children that live in them.
 *
 * A group is named by its path below the root of the hierarchy, as "parent/child";
 * "" is the root itself. The helpers that change something end the program when
 * they cannot, as those of guest.h do; those that read return -1 for what is not
 * there, and GUEST_CGROUP_MAX for the word "max".
 *
 * memory.current and memory.events are exact (but for the pages that a CPU has
 * charged in advance, 64 at most for each CPU). memory.stat is not: it is brought
 * up to date when 64 changes for each CPU have gathered, and every 2 seconds. A
 * test that compares its figures leaves that much room.
 *
 * A child does its steps one by one and stops itself after each with
 * guest_child_pause(); guest_child_wait() and guest_child_next() are the parent's
 * side. It prints no results: those are the parent's. What it has counted goes
 * through memory of guest_share().
 */
#ifndef SELFTESTS_GUEST_CGROUP_H
#define SELFTESTS_GUEST_CGROUP_H

#include <signal.h>
#include <sys/wait.h>

#include "guest.h"

#define GUEST_CGROUP_ROOT	"/sys/fs/cgroup"
#define GUEST_CGROUP_MAX	LONG_MAX

/*
 * Groups
 */

static inline void guest_cgroup_path(char *path, size_t len, const char *group,
				     const char *file)
{
	snprintf(path, len, GUEST_CGROUP_ROOT "/%s/%s", group, file);
}

#define guest_cgroup_write(group, file, fmt, ...) do {			\
	char guest_path[PATH_MAX];					\
									\
	guest_cgroup_path(guest_path, sizeof(guest_path), group, file);	\
	guest_write(guest_path, fmt, ##__VA_ARGS__);			\
} while (0)

static inline long guest_cgroup_read(const char *group, const char *file)
{
	char path[PATH_MAX], word[32] = "";
	FILE *stream;
	long value;

	guest_cgroup_path(path, sizeof(path), group, file);
	stream = fopen(path, "re");
	if (!stream)
		return -1;
	if (fscanf(stream, "%31s", word) != 1)
		value = -1;
	else if (!strcmp(word, "max"))
		value = GUEST_CGROUP_MAX;
	else
		value = strtol(word, NULL, 10);
	fclose(stream);
	return value;
}

/* The number behind @key in a file such as memory.stat or memory.events. */
static inline long guest_cgroup_key(const char *group, const char *file,
				    const char *key)
{
	char path[PATH_MAX];

	guest_cgroup_path(path, sizeof(path), group, file);
	return guest_read_key(path, key);
}

/* Makes the group; its children will have the memory controller too. */
static inline void guest_cgroup_create(const char *group)
{
	char path[PATH_MAX];

	guest_cgroup_path(path, sizeof(path), group, "");
	if (mkdir(path, 0755))
		ksft_exit_fail_msg("mkdir %s: %s\n", path, strerror(errno));
	guest_cgroup_path(path, sizeof(path), group, "memory.current");
	if (access(path, F_OK))
		ksft_exit_fail_msg("%s: no memory controller\n", path);
}

/*
 * Lets children of @group have the memory controller. A group that does can hold
 * no tasks itself, so this is not done for every group.
 */
static inline void guest_cgroup_create_parent(const char *group)
{
	guest_cgroup_create(group);
	guest_cgroup_write(group, "cgroup.subtree_control", "+memory");
}

/* A task that has been waited for leaves its group a moment later. */
static inline void guest_cgroup_remove(const char *group)
{
	char path[PATH_MAX];

	guest_cgroup_path(path, sizeof(path), group, "");
	for (int tries = 0; rmdir(path); tries++) {
		if (errno != EBUSY || tries == 1000)
			ksft_exit_fail_msg("rmdir %s: %s\n", path,
					   strerror(errno));
		usleep(10000);
	}
}

/* Memory stays charged to the group that it was charged to. */
static inline void guest_cgroup_move(pid_t pid, const char *group)
{
	guest_cgroup_write(group, "cgroup.procs", "%d", pid);
}

/*
 * Children
 */

/* Memory that a child shares with its parent, zero at first. */
static inline void *guest_share(size_t size)
{
	void *mem = mmap(NULL, size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (mem == MAP_FAILED)
		ksft_exit_fail_msg("mmap of %zu shared bytes: %s\n", size,
				   strerror(errno));
	return mem;
}

/* A child that runs @body(@arg) in @group and exits with what that returns. */
static inline pid_t guest_cgroup_spawn(const char *group, int (*body)(void *),
				       void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid) {
		guest_cgroup_move(0, group);
		_exit(body(arg));
	}
	return pid;
}

/* In the child: the step is done. */
static inline void guest_child_pause(void)
{
	raise(SIGSTOP);
}

/*
 * Waits until the child has paused or has ended, and returns its wait status:
 * WIFSTOPPED() after a pause.
 */
static inline int guest_child_wait(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, WUNTRACED) != pid)
		ksft_exit_fail_msg("waitpid: %s\n", strerror(errno));
	return status;
}

/* Lets a paused child go on, and waits for the end of its next step. */
static inline int guest_child_next(pid_t pid)
{
	kill(pid, SIGCONT);
	return guest_child_wait(pid);
}

/* For steps without which the test shows nothing. */
static inline void guest_child_must_pause(int status, const char *step)
{
	if (WIFSTOPPED(status))
		return;
	if (WIFSIGNALED(status))
		ksft_exit_fail_msg("%s: the child was killed by signal %d\n",
				   step, WTERMSIG(status));
	ksft_exit_fail_msg("%s: the child exited with %d\n", step,
			   WEXITSTATUS(status));
}

static inline bool guest_child_exited_well(int status)
{
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

static inline void guest_child_kill(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/*
 * Write-back of zswap by its worker
 */

/*
 * Has the worker, a kernel thread, write back zswap's pages until at most @left
 * are stored, and returns how many are. With a pool limit of zero, every page
 * that is paged out starts it; one run ends after the second chance of some
 * hundred entries, so several are needed. Leaves the limit at 20 %.
 */
static inline long guest_zswap_drain(long left)
{
	size_t size = 4 * GUEST_MIB;
	char *mem = guest_map(size);
	long stored;

	guest_write(ZSWAP_PARAM "max_pool_percent", "0");
	for (size_t off = 0; off < size; off += page_size) {
		stored = guest_zswap_stored();
		if (stored <= left)
			break;
		guest_page((uint64_t *)(mem + off), 99, off / page_size);
		if (madvise(mem + off, page_size, MADV_PAGEOUT))
			ksft_exit_fail_msg("MADV_PAGEOUT: %s\n",
					   strerror(errno));
		usleep(5000);
	}
	guest_write(ZSWAP_PARAM "max_pool_percent", "20");
	munmap(mem, size);
	return stored;
}

#endif /* SELFTESTS_GUEST_CGROUP_H */
