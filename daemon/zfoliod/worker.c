// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include <zfolio/units.h>

#include "worker.h"

#define WAKE_SIGNAL SIGUSR1

struct request {
	struct request *next;
	struct zf_path *cgroup;
	char *text;
	struct worker_result result;
};

/* In the order of arrival. */
struct queue {
	struct request *first, **end;
};

/* The lock protects all below it. */
struct worker {
	pthread_t thread;
	int fd;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct queue waiting, done;
	bool busy, cancelled, stop;
	uint64_t busy_id;
	uint64_t since;		/* the busy one began, microseconds */
};

/* ---- queues ---- */

static void queue_init(struct queue *queue)
{
	queue->first = NULL;
	queue->end = &queue->first;
}

static void queue_add(struct queue *queue, struct request *request)
{
	request->next = NULL;
	*queue->end = request;
	queue->end = &request->next;
}

static struct request *queue_take(struct queue *queue)
{
	struct request *request = queue->first;

	if (!request)
		return NULL;
	queue->first = request->next;
	if (!queue->first)
		queue->end = &queue->first;
	return request;
}

static void request_free(struct request *request)
{
	if (!request)
		return;
	zf_path_free(request->cgroup);
	free(request->text);
	free(request);
}

ZF_DEFINE_CLEANUP(struct request, request_free, request_free)

/* ---- the thread ---- */

static uint64_t now_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * ZF_USEC_PER_SEC + now.tv_nsec / 1000;
}

/* With the lock held. */
static void finish(struct worker *worker, struct request *request, int error)
{
	const uint64_t one = 1;

	request->result.error = error;
	queue_add(&worker->done, request);
	/* Full at 2^64 - 1 only, and then it is readable anyway. */
	while (write(worker->fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void *work(void *data)
{
	struct worker *worker = data;
	struct request *request;
	sigset_t wake;
	int r;

	sigemptyset(&wake);
	sigaddset(&wake, WAKE_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &wake, NULL);

	pthread_mutex_lock(&worker->lock);
	while (!worker->stop) {
		request = queue_take(&worker->waiting);
		if (!request) {
			pthread_cond_wait(&worker->changed, &worker->lock);
			continue;
		}
		worker->busy = true;
		worker->busy_id = request->result.id;
		worker->cancelled = false;
		worker->since = now_usec();
		pthread_mutex_unlock(&worker->lock);
		r = zf_path_write_interruptible(request->cgroup,
						"memory.reclaim",
						request->text);
		pthread_mutex_lock(&worker->lock);
		worker->busy = false;
		if (r == -EINTR)
			r = -ECANCELED;
		finish(worker, request, r);
	}
	pthread_mutex_unlock(&worker->lock);
	return NULL;
}

/* Its only purpose is to end a system call. */
static void on_signal(int number)
{
	(void)number;
}

/* ---- main API ---- */

int worker_new(struct worker **ret_worker)
{
	/* Without SA_RESTART: the write is to end. */
	const struct sigaction action = { .sa_handler = on_signal };
	sigset_t all, before, wake;
	struct worker *worker;
	int r;

	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return -ENOMEM;
	worker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker->fd < 0) {
		r = -errno;
		free(worker);
		return r;
	}
	queue_init(&worker->waiting);
	queue_init(&worker->done);
	pthread_mutex_init(&worker->lock, NULL);
	pthread_cond_init(&worker->changed, NULL);
	sigaction(WAKE_SIGNAL, &action, NULL);
	/* Those of the process are for the caller's thread alone. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&worker->thread, NULL, work, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	sigemptyset(&wake);
	sigaddset(&wake, WAKE_SIGNAL);
	pthread_sigmask(SIG_BLOCK, &wake, NULL);
	if (r) {
		close(worker->fd);
		free(worker);
		return -r;
	}
	*ret_worker = worker;
	return 0;
}

int worker_submit(struct worker *worker, const struct zf_path *cgroup,
		  uint64_t id, const char *text)
{
	_cleanup_(request_freep) struct request *request = NULL;
	int r;

	request = calloc(1, sizeof(*request));
	if (!request)
		return -ENOMEM;
	request->result.id = id;
	request->text = strdup(text);
	if (!request->text)
		return -ENOMEM;
	r = zf_path_open_at(cgroup, ".", &request->cgroup);
	if (r < 0)
		return r;
	pthread_mutex_lock(&worker->lock);
	queue_add(&worker->waiting, zf_take_ptr(request));
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
	return 0;
}

void worker_cancel(struct worker *worker, uint64_t usec)
{
	struct request *request;

	pthread_mutex_lock(&worker->lock);
	if (worker->busy && now_usec() - worker->since >= usec) {
		worker->cancelled = true;
		pthread_kill(worker->thread, WAKE_SIGNAL);
	}
	/* What waits behind a request that is too slow is late as well. */
	while ((worker->cancelled || !usec) &&
	       (request = queue_take(&worker->waiting)))
		finish(worker, request, -ECANCELED);
	pthread_mutex_unlock(&worker->lock);
}

void worker_cancel_id(struct worker *worker, uint64_t id)
{
	struct request *request;
	struct queue others;

	queue_init(&others);
	pthread_mutex_lock(&worker->lock);
	if (worker->busy && worker->busy_id == id)
		pthread_kill(worker->thread, WAKE_SIGNAL);
	while ((request = queue_take(&worker->waiting))) {
		if (request->result.id == id)
			finish(worker, request, -ECANCELED);
		else
			queue_add(&others, request);
	}
	while ((request = queue_take(&others)))
		queue_add(&worker->waiting, request);
	pthread_mutex_unlock(&worker->lock);
}

int worker_fd(const struct worker *worker)
{
	return worker->fd;
}

bool worker_next(struct worker *worker, struct worker_result *ret_result)
{
	_cleanup_(request_freep) struct request *request = NULL;
	uint64_t count;

	pthread_mutex_lock(&worker->lock);
	request = queue_take(&worker->done);
	/* Quiet only while no result can come in between. */
	if (!request && read(worker->fd, &count, sizeof(count)) < 0)
		count = 0;
	pthread_mutex_unlock(&worker->lock);
	if (!request)
		return false;
	*ret_result = request->result;
	return true;
}

void worker_free(struct worker *worker)
{
	const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };
	struct worker_result result;

	if (!worker)
		return;
	pthread_mutex_lock(&worker->lock);
	worker->stop = true;
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->lock);
	worker_cancel(worker, 0);
	while (pthread_tryjoin_np(worker->thread, NULL) == EBUSY) {
		nanosleep(&pause, NULL);
		worker_cancel(worker, 0);
	}
	while (worker_next(worker, &result))
		;
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->lock);
	close(worker->fd);
	free(worker);
}
