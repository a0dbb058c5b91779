/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * worker.h - a thread for writes that may block for minutes
 *
 * memory.reclaim returns when it is done. The thread takes one request after
 * the other; the caller learns of results through a descriptor and never
 * blocks. A request is cancelled by a signal, which ends the write with -EINTR
 * as soon as the kernel looks for signals.
 */
#ifndef ZFOLIOD_WORKER_H
#define ZFOLIOD_WORKER_H

#include <zfolio/cgroup.h>

struct worker;

struct worker_result {
	uint64_t id;		/* as given with the request */
	int error;		/* 0, -EAGAIN: less was done, -ECANCELED, ... */
};

/*
 * Starts the thread. Takes SIGUSR1 for itself: installs a handler for it and
 * blocks it in the calling thread.
 */
int worker_new(struct worker **ret_worker);

/* Cancels all there is and waits for the thread. */
void worker_free(struct worker *worker);
ZF_DEFINE_CLEANUP(struct worker, worker_free, worker_free)

/**
 * worker_submit() - write back in a cgroup
 * @worker:	worker
 * @cgroup:	context of the cgroup; need not outlive the request
 * @id:		handed back with the result
 * @text:	what to write into memory.reclaim
 */
int worker_submit(struct worker *worker, const struct zf_path *cgroup,
		  uint64_t id, const char *text);

/*
 * Cancel what is waiting, and what has been at work for @usec or more. A
 * signal may be lost when it comes right before the write begins: repeat it
 * until the result is there.
 */
void worker_cancel(struct worker *worker, uint64_t usec);

/* Likewise what was submitted for @id, waiting or at work. */
void worker_cancel_id(struct worker *worker, uint64_t id);

/*
 * Becomes readable when there is a result, and stays so until worker_next() has
 * found none: take results until then.
 */
int worker_fd(const struct worker *worker);

/* The next result; false when there is none, and the descriptor is quiet. */
bool worker_next(struct worker *worker, struct worker_result *ret_result);

#endif
