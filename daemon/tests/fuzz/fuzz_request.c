// SPDX-License-Identifier: GPL-2.0-or-later
/* A request of any bytes over the socket gets one line of JSON, or none. */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "../../zfoliod/requests.h"
#include "../../zfoliod/server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct overrides *overrides;

static int set(void *data, struct node *node, const char *key,
	       const char *value, uint64_t usec, char **ret_error)
{
	(void)data;
	(void)node;
	return overrides_set(overrides, &policy_default, "a", key, value, usec,
			     ret_error);
}

static int answer(void *data, const json_t *request, bool may_change,
		  json_t **ret_reply)
{
	(void)may_change;
	return requests_answer(data, request, true, ret_reply);
}

static void check_reply(int fd)
{
	json_auto_t *reply = NULL;
	json_error_t error;
	char text[65536];
	ssize_t len = recv(fd, text, sizeof(text), MSG_DONTWAIT);

	if (len <= 0)
		return;
	reply = json_loadb(text, len - 1, 0, &error);
	if (text[len - 1] != '\n' || !json_object_get(reply, "zfolio"))
		abort();
}

/* A hierarchy with one cgroup, "a". */
static int make_tree(struct zf_path **ret_root)
{
	char dir[] = "/dev/shm/zfolio-fuzz-XXXXXX";
	int fd, r;

	if (!mkdtemp(dir))
		return -errno;
	r = zf_path_open(dir, ret_root);
	if (r < 0 || mkdirat(zf_path_fd(*ret_root), "a", 0755) < 0)
		return -EIO;
	fd = openat(zf_path_fd(*ret_root), "a/memory.stat",
		    O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	return fd < 0 ? -errno : close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct tick tick = { .page_size = 4096, .elapsed = 1 };
	static const struct features features;
	static struct cgtree *tree;
	static struct zf_path *root;
	static struct config *config;
	static struct history *history;
	static sd_event *event;
	struct requests requests = {
		.subject = {
			.is_daemon = true, .tick = &tick,
			.settings = &settings_default, .features = &features,
		},
		.set = set,
	};
	struct server *server;
	char *error = NULL;
	int fds[2];

	if (!tree &&
	    (make_tree(&root) < 0 ||
	     config_load_file("/dev/null", &config, &error) < 0 ||
	     cgtree_new(root, config, &tree) < 0 || cgtree_rescan(tree) < 0 ||
	     history_new(&history) < 0 || overrides_new(&overrides) < 0 ||
	     sd_event_new(&event) < 0))
		abort();
	requests.subject.tree = tree;
	requests.subject.history = history;
	requests.subject.overrides = overrides;
	if (size > 65536 || server_new(event, answer, &requests, &server) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) < 0)
		return 0;
	if (server_adopt(server, fds[1]) >= 0) {
		send(fds[0], data, size, MSG_NOSIGNAL);
		send(fds[0], "\n", 1, MSG_NOSIGNAL);
		while (sd_event_run(event, 0) > 0)
			;
		check_reply(fds[0]);
	}
	close(fds[0]);
	server_free(server);
	return 0;
}
