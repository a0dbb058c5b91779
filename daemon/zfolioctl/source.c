// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "../zfoliod/requests.h"
#include "../zfoliod/sample.h"
#include "../zfoliod/server.h"

#include "ctl.h"

/* The daemon answers within a tick, or is held up; it ends all after 5 s. */
#define ANSWER_SEC 10

/* Rates over less time would jump. */
#define OWN_LOOK_USEC ZF_USEC_PER_SEC

/* ---- data structures ---- */

struct source {
	const struct ctl *ctl;
	const char *excuse;		/* of the last reply */
	/* Without a daemon; NULL until then. */
	struct zf_path *cgroups;
	struct config *config;
	struct cgtree *tree;
	struct sampler *sampler;
	struct features features;
	uint64_t looked_at;
};

int source_new(const struct ctl *ctl, struct source **ret_source)
{
	struct source *source = calloc(1, sizeof(*source));

	if (!source)
		return -ENOMEM;
	source->ctl = ctl;
	*ret_source = source;
	return 0;
}

void source_free(struct source *source)
{
	if (!source)
		return;
	sampler_free(source->sampler);
	cgtree_free(source->tree);
	config_free(source->config);
	zf_path_free(source->cgroups);
	free(source);
}

const char *source_excuse(const struct source *source)
{
	return source->excuse;
}

/* ---- the daemon ---- */

/* The connection, or why there is none: -ENOENT, -ECONNREFUSED, -EACCES, ... */
static int reach(const struct ctl *ctl)
{
	_cleanup_(zf_path_freep) struct zf_path *dir = NULL;
	_cleanup_close_ int fd = -EBADF;
	const struct timeval patience = { .tv_sec = ANSWER_SEC };
	struct sockaddr_un address;
	int r;

	r = zf_path_open_at(ctl->sys, SERVER_DIR, &dir);
	if (r < 0)
		return r;
	server_address(zf_path_fd(dir), &address);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		       sizeof(patience)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience,
		       sizeof(patience)) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return zf_take_fd(&fd);
}

static int read_reply(int fd, json_t **ret_reply)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0, room = 0;
	json_error_t error;
	json_t *reply;
	ssize_t n;

	do {
		if (len == room) {
			char *larger;

			room = room ? room * 2 : 65536;
			larger = realloc(text, room);
			if (!larger)
				return -ENOMEM;
			text = larger;
		}
		n = read(fd, text + len, room - len);
		/* It has closed without reading all of the request. */
		if (n < 0 && errno == ECONNRESET && len)
			break;
		if (n < 0 && errno != EINTR)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if (n > 0)
			len += n;
	} while (n && len <= SERVER_REPLY_MAX);
	reply = json_loadb(text, len, 0, &error);
	if (!json_is_object(reply)) {
		json_decref(reply);
		return -EPROTO;
	}
	*ret_reply = reply;
	return 0;
}

static int ask_daemon(const struct ctl *ctl, const json_t *request,
		      json_t **ret_reply)
{
	_cleanup_free_ char *text = json_dumps(request, JSON_COMPACT);
	_cleanup_close_ int fd = -EBADF;
	size_t len, sent = 0;

	if (!text)
		return -ENOMEM;
	fd = reach(ctl);
	if (fd < 0)
		return fd;
	/* The newline takes the place of the terminating NUL. */
	len = strlen(text) + 1;
	text[len - 1] = '\n';
	while (sent < len) {
		ssize_t n = send(fd, text + sent, len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		/* It has refused us before it read: its reply says why. */
		if (n < 0 && errno == EPIPE)
			break;
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		sent += n;
	}
	return read_reply(fd, ret_reply);
}

/* ---- without a daemon ---- */

static uint64_t clock_usec(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return now.tv_sec * ZF_USEC_PER_SEC + now.tv_nsec / 1000;
}

static int complain_start(int r, const char *error)
{
	complain("%s", error ? error : strerror(-r));
	return r == -EOPNOTSUPP ? EXIT_UNSUPPORTED :
	       r == -EINVAL ? EXIT_BAD_INPUT : EXIT_FAILED;
}

static int start_own(struct source *source)
{
	const struct zf_path *sys = source->ctl->sys;
	_cleanup_free_ char *error = NULL;
	int r;

	r = features_find_cgroups(sys, &source->cgroups, &error);
	if (r >= 0)
		r = config_load(sys, &source->config, &error);
	if (r >= 0)
		r = cgtree_new(source->cgroups, source->config, &source->tree);
	if (r >= 0)
		r = cgtree_rescan(source->tree);
	if (r >= 0)
		r = sampler_new(sys, &source->sampler);
	if (r < 0)
		return complain_start(r, error);
	source->features = features_probe(sys, source->tree, false);
	/* What the daemon does with it is not known, that it is there is. */
	sampler_set_knobs(source->sampler, source->features.knobs);
	return EXIT_OK;
}

static int look(struct source *source, const struct tick **ret_tick)
{
	uint64_t now = clock_usec();
	int r;

	r = cgtree_rescan(source->tree);
	if (r >= 0) {
		sampler_look_around(source->sampler);
		r = sampler_tick(source->sampler, source->tree, source->config,
				 source->looked_at ?
				 now - source->looked_at : 0, ret_tick);
	}
	source->looked_at = now;
	if (r < 0)
		complain("%s: %s", zf_path_prefix(source->cgroups),
			 strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int answer_here(struct source *source, const json_t *request,
		       json_t **ret_reply)
{
	bool is_first = !source->sampler;
	struct requests requests = { 0 };
	const struct tick *tick = NULL;
	int status = EXIT_OK;

	if (is_first)
		status = start_own(source);
	if (status == EXIT_OK)
		status = look(source, &tick);
	if (status == EXIT_OK && is_first) {
		const struct timespec pause = {
			.tv_sec = OWN_LOOK_USEC / ZF_USEC_PER_SEC,
		};

		nanosleep(&pause, NULL);
		status = look(source, &tick);
	}
	if (status != EXIT_OK)
		return status;
	requests.subject = (struct subject){
		.tick = tick, .settings = config_settings(source->config),
		.features = &source->features, .tree = source->tree,
	};
	if (requests_answer(&requests, request, false, ret_reply) < 0) {
		complain("out of memory");
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

/* ---- main API ---- */

/* Takes a reply with an error in it. */
static int complain_reply(json_t *reply)
{
	const json_t *error = json_object_get(reply, "error");
	const char *code = string_of(error, "code");
	int status = !strcmp(code, "EACCES") ? EXIT_NOT_PERMITTED :
		     !strcmp(code, "EINVAL") || !strcmp(code, "ENOENT") ?
			     EXIT_BAD_INPUT :
		     !strcmp(code, "EOPNOTSUPP") ? EXIT_NO_DAEMON : EXIT_FAILED;

	complain("%s", string_of(error, "message"));
	json_decref(reply);
	return status;
}

static bool is_refused(const json_t *reply)
{
	return !strcmp(string_of(json_object_get(reply, "error"), "code"),
		       "EACCES");
}

int source_ask(struct source *source, json_t *request, json_t **ret_reply)
{
	json_auto_t *owned = request;
	bool may_do_without = json_object_get(request, "get");
	json_t *reply = NULL;
	int status, r;

	r = ask_daemon(source->ctl, request, &reply);
	source->excuse = NULL;
	if (r == -ENOENT || r == -ECONNREFUSED)
		source->excuse = "zfoliod does not run";
	else if (r == -EACCES || (r >= 0 && is_refused(reply)))
		source->excuse = "zfoliod does not answer this user";
	else if (r < 0) {
		complain("/" SERVER_DIR "/" SERVER_SOCKET ": %s", strerror(-r));
		return EXIT_FAILED;
	}
	if (source->excuse && !may_do_without) {
		if (reply)
			return complain_reply(reply);
		complain("%s: start it with `systemctl start zfoliod`",
			 source->excuse);
		return EXIT_NO_DAEMON;
	}
	if (source->excuse) {
		json_decref(reply);
		reply = NULL;
		status = answer_here(source, owned, &reply);
		if (status != EXIT_OK)
			return status;
	}
	if (json_object_get(reply, "error"))
		return complain_reply(reply);
	*ret_reply = reply;
	return EXIT_OK;
}

/* ---- what all commands share ---- */

void complain(const char *format, ...)
{
	va_list args;

	fputs("zfolioctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int no_arguments(int argc, char **argv)
{
	if (!argc)
		return EXIT_OK;
	complain("%s: expected no argument: see --help", argv[0]);
	return EXIT_USAGE;
}

char *clean_path(const char *text)
{
	size_t len;

	text += strspn(text, "/");
	len = strlen(text);
	while (len && text[len - 1] == '/')
		len--;
	return strndup(text, len);
}

int print_json(const json_t *reply)
{
	if (json_dumpf(reply, stdout, JSON_INDENT(2)) < 0 ||
	    putchar('\n') == EOF || fflush(stdout) == EOF) {
		complain("writing: %s", strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

uint64_t number_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (json_is_string(value) && !strcmp(json_string_value(value), "max"))
		return UINT64_MAX;
	return json_integer_value(value);
}

const char *string_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}
