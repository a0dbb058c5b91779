// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>

#include <zfolio/psi.h>

#include "actuator.h"
#include "control.h"
#include "features.h"
#include "log.h"
#include "manager.h"
#include "notices.h"
#include "requests.h"
#include "sample.h"
#include "server.h"
#include "trace.h"
#include "worker.h"

/*
 * A write-back is not worth it when tasks wait for memory 15 % of the time: a
 * bit above memory_pressure, which is looked at each tick anyway. Windows of
 * whole two seconds need no capability (Linux 6.5 and later).
 */
#define PSI_STALL_USEC 300000
#define PSI_WINDOW_USEC 2000000

struct manager {
	const struct manager_options *options;
	struct zf_path *sys;
	struct zf_path *cgroups;
	struct config *config;
	struct cgtree *tree;
	struct sampler *sampler;
	struct control *control;
	struct properties *properties;	/* NULL but on the live system */
	struct actuator *actuator;	/* NULL in a dry run */
	struct worker *worker;		/* likewise */
	struct features features;
	struct history *history;
	struct overrides *overrides;
	struct notices notices;
	struct server *server;		/* NULL in a dry run */
	const struct tick *tick;	/* the last one; NULL once nodes may have
					 * gone that it names */
	FILE *record;

	sd_event *event;
	sd_event_source *timer, *results, *pressure;
	int pressure_fd;

	uint64_t started_at;		/* CLOCK_MONOTONIC */
	uint64_t ticked_at;		/* CLOCK_BOOTTIME, microseconds */
	uint64_t scanned_at;		/* CLOCK_MONOTONIC */
	uint64_t written;		/* asked for, bytes on devices */
	bool sampling_fails;		/* said so already */
	bool scanning_fails;		/* likewise */
};

static uint64_t clock_usec(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * ZF_USEC_PER_SEC + now.tv_nsec / 1000;
}

static void manager_done(struct manager *m)
{
	server_free(m->server);
	sd_event_source_unref(m->timer);
	sd_event_source_unref(m->results);
	sd_event_source_unref(m->pressure);
	zf_closep(&m->pressure_fd);
	sd_event_unref(m->event);
	if (m->record)
		fclose(m->record);
	history_free(m->history);
	worker_free(m->worker);
	actuator_free(m->actuator);
	properties_free(m->properties);
	control_free(m->control);
	sampler_free(m->sampler);
	cgtree_free(m->tree);
	config_free(m->config);
	overrides_free(m->overrides);
	zf_path_free(m->cgroups);
	zf_path_free(m->sys);
}

/* ---- the tree and the features ---- */

static void probe(struct manager *m)
{
	char text[FEATURES_TEXT_LEN];

	m->features = features_probe(m->sys, m->tree, !m->options->dry_run);
	/* A dry run shows what would be done with all that is there. */
	sampler_set_knobs(m->sampler, m->options->dry_run ?
			  m->features.knobs | KNOB_BIT(KNOB_RECLAIM) :
			  m->features.knobs);
	log_line(LOG_INFO, LOG_ID_FEATURES, "%s",
		 features_format(&m->features, text));
}

static const char *remedy(int error)
{
	return error == -EMFILE ? ": raise LimitNOFILE=" : "";
}

/* Only what concerns all cgroups is an error here, and the next scan may do. */
static void scan(struct manager *m)
{
	int r;

	m->tick = NULL;
	r = cgtree_rescan(m->tree);
	m->scanned_at = clock_usec(CLOCK_MONOTONIC);
	if (r < 0 && !m->scanning_fails)
		log_line(LOG_WARNING, LOG_ID_OTHER,
			 "not all cgroups are seen: %s%s", strerror(-r),
			 remedy(r));
	m->scanning_fails = r < 0;
	sampler_look_around(m->sampler);
	if (m->actuator)
		actuator_tidy(m->actuator, m->tree);
}

/* ---- results of write-backs ---- */

static void collect_results(struct manager *m)
{
	struct worker_result result;

	while (m->worker && worker_next(m->worker, &result)) {
		struct node *node = cgtree_find(m->tree, result.id);

		if (!node)
			continue;
		node->reclaim = !result.error ? RECLAIM_DONE :
				result.error == -EAGAIN ||
				result.error == -ECANCELED ? RECLAIM_PARTIAL :
							     RECLAIM_FAILED;
		if (node->reclaim == RECLAIM_FAILED &&
		    !zf_cgroup_is_gone(result.error))
			log_line(LOG_DEBUG, LOG_ID_OTHER,
				 "%s: write-back failed: %s", node->path,
				 strerror(-result.error));
	}
}

static int on_results(sd_event_source *source, int fd, uint32_t events,
		      void *data)
{
	(void)source;
	(void)fd;
	(void)events;
	collect_results(data);
	return 0;
}

/* ---- decisions ---- */

static int reclaim(struct manager *m, struct node *node,
		   const struct decision *d)
{
	char text[DECISION_VALUE_LEN];
	int r;

	if (!d->value) {
		worker_cancel_id(m->worker, node->id);
		return 0;
	}
	r = worker_submit(m->worker, zf_cgroup_path(node->cgroup), node->id,
			  decision_value(KNOB_RECLAIM, d->value, text));
	if (r < 0)
		return r;
	node->reclaim = RECLAIM_RUNNING;
	m->written = zf_add(m->written, d->cost);
	return 0;
}

static void carry_out(struct manager *m, const struct decision *d,
		      uint64_t now)
{
	struct node *node = cgtree_find(m->tree, d->id);
	int r = 0;

	if (node && d->knob != KNOB_RECLAIM)
		node->touched = true;
	/* Locked since the sample was taken: somebody else changed it. */
	if (!node || (node->locked & KNOB_BIT(d->knob)))
		return;
	if (!m->options->dry_run)
		r = d->knob == KNOB_RECLAIM ?
			    reclaim(m, node, d) :
			    actuator_set(m->actuator, node, d->knob, d->value);
	if (zf_cgroup_is_gone(r))
		return;
	log_decision(d, m->options->dry_run, r, now);
	history_decision(m->history, d, r, now);
}

static void check_drift(struct manager *m, const struct tick *tick,
			uint64_t now)
{
	for (size_t i = 0; m->actuator && i < tick->nr_cgroups; i++) {
		const struct cgroup_sample *sample = &tick->cgroups[i];
		struct node *node = cgtree_find(m->tree, sample->id);
		struct drift drift;

		while (actuator_check(m->actuator, config_settings(m->config),
				      node, sample, now, &drift) > 0) {
			log_drift(&drift, node->path, now);
			history_drift(m->history, &drift, node->path, now);
		}
	}
}

/* What was told to the law once is not told again. */
static void forget_results(struct manager *m, const struct tick *tick)
{
	for (size_t i = 0; i < tick->nr_cgroups; i++) {
		struct node *node = cgtree_find(m->tree, tick->cgroups[i].id);

		if (node->reclaim != RECLAIM_RUNNING)
			node->reclaim = RECLAIM_NONE;
	}
}

static void record(struct manager *m, const struct tick *tick)
{
	int r;

	if (!m->record)
		return;
	r = trace_write_tick(m->record, tick);
	if (r >= 0)
		return;
	log_line(LOG_WARNING, LOG_ID_OTHER, "%s: %s: recording ends here",
		 m->options->record, strerror(-r));
	fclose(m->record);
	m->record = NULL;
}

static void tell_status(const struct manager *m, const struct tick *tick)
{
	char pool[ZF_BYTES_LEN], limit[ZF_BYTES_LEN], written[ZF_BYTES_LEN];

	sd_notifyf(0, "STATUS=%zu cgroups watched; pool %s of %s; %s sent to disk",
		   tick->nr_cgroups, zf_format_bytes(tick->pool, pool),
		   zf_format_bytes(tick->pool_limit, limit),
		   zf_format_bytes(m->written, written));
}

/* ---- values that are set at run time ---- */

/*
 * What other values have led to is put back, as after a reload; one that was
 * left to somebody else is ours again, since somebody has just said so.
 */
static void renew(struct manager *m, struct node *node)
{
	if (m->actuator)
		actuator_restore_cgroup(m->actuator, node->id);
	node->locked = 0;
	node->touched = false;
	node->policy = config_policy(m->config, node->path);
	control_forget_cgroup(m->control, node->id);
}

static void expire_overrides(struct manager *m, uint64_t now)
{
	for (;;) {
		_cleanup_free_ char *path = overrides_expire(m->overrides, now);
		struct node *const *nodes;
		size_t nr;

		if (!path)
			return;
		nodes = cgtree_nodes(m->tree, &nr);
		for (size_t i = 0; i < nr; i++) {
			if (!strcmp(nodes[i]->path, path))
				renew(m, nodes[i]);
		}
		log_line(LOG_INFO, LOG_ID_CONFIG,
			 "%s: a value that was set has expired", path);
	}
}

static int set(void *data, struct node *node, const char *key,
	       const char *value, uint64_t usec, char **ret_error)
{
	struct manager *m = data;
	int r;

	r = overrides_set(m->overrides, &node->policy, node->path, key, value,
			  zf_add(clock_usec(CLOCK_MONOTONIC), usec),
			  ret_error);
	if (r < 0)
		return r;
	renew(m, node);
	log_line(LOG_INFO, LOG_ID_CONFIG, "%s: %s = %s set by request",
		 node->path, key, value);
	return 0;
}

static int answer(void *data, const json_t *request, bool may_change,
		  json_t **ret_reply)
{
	struct manager *m = data;
	const struct requests requests = {
		.subject = {
			.is_daemon = true, .now = clock_usec(CLOCK_MONOTONIC),
			.started = m->started_at, .written = m->written,
			.tick = m->tick, .settings = config_settings(m->config),
			.features = &m->features, .tree = m->tree,
			.history = m->history, .overrides = m->overrides,
		},
		.set = set, .data = m,
	};

	return requests_answer(&requests, request, may_change, ret_reply);
}

static int tick_once(struct manager *m)
{
	const struct settings *settings = config_settings(m->config);
	uint64_t now = clock_usec(CLOCK_MONOTONIC);
	/* This one runs on while the machine sleeps. */
	uint64_t boottime = clock_usec(CLOCK_BOOTTIME);
	const struct decision *decisions;
	const struct tick *tick;
	size_t nr;
	int r;

	collect_results(m);
	expire_overrides(m, now);
	if (m->worker)
		worker_cancel(m->worker, settings->reclaim_timeout);
	if (now - m->scanned_at >= settings->rescan) {
		scan(m);
		/* There was no cgroup to ask at the start. */
		if (!(m->features.knobs & KNOB_BIT(KNOB_RECLAIM)) &&
		    !m->features.reclaim_error)
			probe(m);
	}
	m->tick = NULL;
	r = sampler_tick(m->sampler, m->tree, m->config,
			 m->ticked_at ? boottime - m->ticked_at : 0, &tick);
	m->ticked_at = boottime;
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		if (!m->sampling_fails)
			log_line(LOG_WARNING, LOG_ID_OTHER, "no ticks: %s%s",
				 strerror(-r), remedy(r));
		m->sampling_fails = true;
		return 0;
	}
	m->sampling_fails = false;
	m->tick = tick;
	notices_tick(&m->notices, settings, tick);
	check_drift(m, tick, now);
	record(m, tick);
	r = control_tick(m->control, settings, tick, &decisions, &nr);
	if (r < 0)
		return r;
	forget_results(m, tick);
	for (size_t i = 0; i < nr; i++)
		carry_out(m, &decisions[i], now);
	tell_status(m, tick);
	return 0;
}

static int on_timer(sd_event_source *source, uint64_t due, void *data)
{
	struct manager *m = data;
	uint64_t now = clock_usec(CLOCK_MONOTONIC);
	uint64_t interval = config_settings(m->config)->interval;
	int r;

	r = tick_once(m);
	if (r < 0) {
		log_line(LOG_ERR, LOG_ID_OTHER, "%s", strerror(-r));
		return sd_event_exit(m->event, r);
	}
	/* Ticks that were missed are not made up for. */
	due = zf_max(due + interval, now + interval / 2);
	r = sd_event_source_set_time(source, due);
	/* Wake-ups may be put together with others, as far as that is no harm. */
	if (r >= 0)
		r = sd_event_source_set_time_accuracy(source, interval / 10);
	if (r < 0)
		return r;
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- pressure and signals ---- */

static int on_pressure(sd_event_source *source, int fd, uint32_t events,
		       void *data)
{
	struct manager *m = data;

	(void)source;
	(void)fd;
	if (events & (EPOLLERR | EPOLLHUP)) {
		/* It would be ready for ever. */
		m->pressure = sd_event_source_unref(m->pressure);
		zf_closep(&m->pressure_fd);
		m->pressure_fd = -EBADF;
		return 0;
	}
	worker_cancel(m->worker, 0);
	return 0;
}

/* Without PSI the ticks alone watch the pressure. */
static int watch_pressure(struct manager *m)
{
	int r;

	if (!m->worker)
		return 0;
	m->pressure_fd = zf_psi_trigger(m->sys, "proc/pressure/memory",
					PSI_STALL_USEC, PSI_WINDOW_USEC);
	if (m->pressure_fd < 0)
		return 0;
	r = sd_event_add_io(m->event, &m->pressure, m->pressure_fd, EPOLLPRI,
			    on_pressure, m);
	/* A file of a captured tree can not be waited for. */
	return r == -EPERM ? 0 : r;
}

static int load_config(const struct manager *m, struct config **ret_config)
{
	_cleanup_free_ char *error = NULL;
	int r;

	if (m->options->config)
		r = config_load_file(m->options->config, ret_config, &error);
	else
		r = config_load(m->sys, ret_config, &error);
	if (r < 0)
		log_line(LOG_ERR, LOG_ID_CONFIG, "%s",
			 error ? error : strerror(-r));
	return r;
}

/*
 * What the old configuration has led to is put back, so that nothing stays that
 * the new one does not ask for; the law begins as after a start, but for what
 * it has taken from the budgets.
 */
static void start_anew(struct manager *m, struct config *config)
{
	struct node *const *nodes;
	size_t nr;

	if (m->actuator)
		actuator_restore(m->actuator);
	nodes = cgtree_nodes(m->tree, &nr);
	for (size_t i = 0; i < nr; i++)
		nodes[i]->touched = false;
	control_forget_cgroups(m->control);
	config_set_overrides(config, m->overrides);
	if (m->server)
		server_set_group(m->server, config_settings(config)->group);
	cgtree_set_config(m->tree, config);
	config_free(m->config);
	m->config = config;
	scan(m);
}

static int on_hangup(sd_event_source *source,
		     const struct signalfd_siginfo *info, void *data)
{
	struct manager *m = data;
	struct config *config;
	int r;

	(void)source;
	(void)info;
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
		   clock_usec(CLOCK_MONOTONIC));
	r = load_config(m, &config);
	if (r < 0) {
		log_line(LOG_ERR, LOG_ID_CONFIG,
			 "configuration not reloaded, the old one stays");
	} else {
		start_anew(m, config);
		log_line(LOG_INFO, LOG_ID_CONFIG, "configuration reloaded");
	}
	sd_notify(0, "READY=1");
	return 0;
}

static int on_stop(sd_event_source *source,
		   const struct signalfd_siginfo *info, void *data)
{
	struct manager *m = data;

	(void)source;
	(void)info;
	sd_notify(0, "STOPPING=1\nSTATUS=putting back what was changed");
	return sd_event_exit(m->event, 0);
}

/* ---- start and stop ---- */

/*
 * Before anything is changed: of two daemons the second one ends here. Without
 * a socket the work goes on.
 */
static int start_server(struct manager *m)
{
	int r;

	r = sd_event_new(&m->event);
	if (r < 0 || m->options->dry_run)
		return r;
	r = server_new(m->event, answer, m, &m->server);
	if (r < 0)
		return r;
	server_set_group(m->server, config_settings(m->config)->group);
	r = server_listen(m->server, m->sys);
	if (r == -EADDRINUSE) {
		log_line(LOG_ERR, LOG_ID_OTHER, "/" SERVER_DIR "/" SERVER_SOCKET
			 ": another zfoliod answers there");
		return r;
	}
	if (r < 0)
		log_line(LOG_WARNING, LOG_ID_OTHER, "/" SERVER_DIR "/"
			 SERVER_SOCKET ": %s: zfolioctl can not ask",
			 strerror(-r));
	return 0;
}

static int start_modules(struct manager *m)
{
	_cleanup_free_ char *error = NULL;
	size_t restored = 0;
	int r;

	r = zf_path_open(m->options->root, &m->sys);
	if (r < 0) {
		log_line(LOG_ERR, LOG_ID_OTHER, "%s: %s", m->options->root,
			 strerror(-r));
		return r;
	}
	r = load_config(m, &m->config);
	if (r < 0)
		return r == -ENOMEM ? r : -EINVAL;
	r = features_find_cgroups(m->sys, &m->cgroups, &error);
	if (r < 0) {
		log_line(LOG_ERR, LOG_ID_FEATURES, "%s",
			 error ? error : strerror(-r));
		return r;
	}
	r = start_server(m);
	if (r < 0)
		return r;
	r = overrides_new(&m->overrides);
	if (r >= 0)
		r = history_new(&m->history);
	config_set_overrides(m->config, m->overrides);
	if (r >= 0)
		r = cgtree_new(m->cgroups, m->config, &m->tree);
	if (r >= 0)
		r = sampler_new(m->sys, &m->sampler);
	if (r >= 0)
		r = control_new(&m->control);
	if (r >= 0 && !m->options->dry_run)
		r = worker_new(&m->worker);
	if (r < 0) {
		log_line(LOG_ERR, LOG_ID_OTHER, "%s", strerror(-r));
		return r;
	}
	/* A captured tree has no systemd. */
	if (!m->options->dry_run && !strcmp(m->options->root, "/")) {
		r = properties_new(NULL, &m->properties);
		if (r < 0)
			return r;
	}
	if (!m->options->dry_run) {
		r = actuator_new(m->sys, m->cgroups, m->properties,
				 &m->actuator, &restored);
		if (r < 0) {
			log_line(LOG_ERR, LOG_ID_OTHER,
				 "/" LEDGER_DIR "/" LEDGER_FILE ": %s",
				 r == -EINVAL ?
				 "expected a state file of zfoliod; remove it to start without" :
				 strerror(-r));
			return r == -EINVAL ? -EIO : r;
		}
	}
	if (restored)
		log_line(LOG_NOTICE, LOG_ID_RESTORED,
			 "put back %zu values that an earlier run left behind",
			 restored);
	scan(m);
	probe(m);
	return 0;
}

static int start_record(struct manager *m)
{
	int r;

	if (!m->options->record)
		return 0;
	m->record = fopen(m->options->record, "we");
	r = m->record ? trace_write_header(m->record) : -errno;
	if (r < 0)
		log_line(LOG_ERR, LOG_ID_OTHER, "%s: %s", m->options->record,
			 strerror(-r));
	return r;
}

static int start_loop(struct manager *m)
{
	int r;

	r = sd_event_set_watchdog(m->event, true);
	if (r >= 0)
		r = sd_event_add_signal(m->event, NULL, SIGTERM, on_stop, m);
	if (r >= 0)
		r = sd_event_add_signal(m->event, NULL, SIGINT, on_stop, m);
	if (r >= 0)
		r = sd_event_add_signal(m->event, NULL, SIGHUP, on_hangup, m);
	/* The first tick comes at once. */
	if (r >= 0)
		r = sd_event_add_time(m->event, &m->timer, CLOCK_MONOTONIC,
				      clock_usec(CLOCK_MONOTONIC), 0,
				      on_timer, m);
	if (r >= 0 && m->worker)
		r = sd_event_add_io(m->event, &m->results,
				    worker_fd(m->worker), EPOLLIN, on_results,
				    m);
	if (r >= 0)
		r = watch_pressure(m);
	if (r < 0)
		log_line(LOG_ERR, LOG_ID_OTHER, "event loop: %s",
			 strerror(-r));
	return r;
}

static void stop(struct manager *m)
{
	size_t restored;

	if (!m->actuator)
		return;
	/* Values first: a write-back may take long to see that it is cancelled. */
	worker_cancel(m->worker, 0);
	/* Its descriptors may be all there are, and a few are needed here. */
	m->tick = NULL;
	cgtree_free(m->tree);
	m->tree = NULL;
	restored = actuator_restore(m->actuator);
	log_line(LOG_INFO, LOG_ID_RESTORED, "put back %zu values", restored);
}

int manager_run(const struct manager_options *options)
{
	_cleanup_(manager_done) struct manager m = {
		.options = options, .pressure_fd = -EBADF,
	};
	sigset_t signals;
	int r;

	m.started_at = clock_usec(CLOCK_MONOTONIC);
	/* From here on they wait for the loop: no half of a start is left. */
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	r = start_modules(&m);
	if (r >= 0)
		r = start_record(&m);
	if (r >= 0)
		r = start_loop(&m);
	if (r < 0)
		return r;
	sd_notify(0, "READY=1\nSTATUS=started");
	r = sd_event_loop(m.event);
	stop(&m);
	return r;
}
