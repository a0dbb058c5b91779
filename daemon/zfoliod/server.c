// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "server.h"

/* ---- data structures ---- */

struct client {
	struct server *server;
	struct client *next;
	sd_event_source *io, *timer;
	int fd;
	uid_t uid;
	char request[SERVER_REQUEST_MAX];
	size_t got;
	char *reply;			/* NULL while the request comes in */
	size_t len, sent;
};

struct server {
	sd_event *event;
	server_answer answer;
	void *data;
	uint64_t group;
	const struct zf_path *sys;
	sd_event_source *listener;
	int fd;
	struct client *clients;
	size_t nr_clients;
	size_t pending;			/* bytes of all replies */
};

int server_new(sd_event *event, server_answer answer, void *data,
	       struct server **ret_server)
{
	struct server *server = calloc(1, sizeof(*server));

	if (!server)
		return -ENOMEM;
	server->event = sd_event_ref(event);
	server->answer = answer;
	server->data = data;
	server->group = GROUP_NONE;
	server->fd = -EBADF;
	*ret_server = server;
	return 0;
}

static void client_free(struct client *client)
{
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->timer);
	zf_closep(&client->fd);
	free(client->reply);
	free(client);
}

static void drop(struct client *client)
{
	struct server *server = client->server;
	struct client **at = &server->clients;

	while (*at != client)
		at = &(*at)->next;
	*at = client->next;
	server->nr_clients--;
	server->pending -= client->len;
	client_free(client);
}

void server_free(struct server *server)
{
	if (!server)
		return;
	while (server->clients)
		drop(server->clients);
	sd_event_source_disable_unref(server->listener);
	if (server->fd >= 0)
		unlinkat(zf_path_fd(server->sys), SERVER_DIR "/" SERVER_SOCKET,
			 0);
	zf_closep(&server->fd);
	sd_event_unref(server->event);
	free(server);
}

void server_set_group(struct server *server, uint64_t group)
{
	server->group = group;
}

size_t server_nr_clients(const struct server *server)
{
	return server->nr_clients;
}

/* ---- replies ---- */

json_t *server_error(int error, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	const char *name = strerrorname_np(-error);
	json_t *message;
	va_list args;
	int n;

	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0) {
		text = NULL;
		return NULL;
	}
	/* It may quote what is no UTF-8. */
	message = json_string(text);
	if (!message)
		message = json_string(strerror(-error));
	return json_pack("{s:i, s:{s:s, s:o}}", "zfolio", SERVER_VERSION,
			 "error", "code", name ? name : "EIO", "message",
			 message);
}

/* The text of @reply and a newline, as what is to be sent; takes @reply. */
static int set_reply(struct client *client, json_t *reply)
{
	size_t len = reply ? json_dumpb(reply, NULL, 0, JSON_COMPACT) : 0;
	char *text;

	if (len >= SERVER_REPLY_MAX ||
	    len > SERVER_PENDING_MAX - client->server->pending) {
		json_decref(reply);
		reply = len >= SERVER_REPLY_MAX ?
			server_error(-EMSGSIZE,
				     "the reply is longer than %zu bytes",
				     SERVER_REPLY_MAX) :
			server_error(-EBUSY,
				     "too many replies wait for others; try again");
		len = reply ? json_dumpb(reply, NULL, 0, JSON_COMPACT) : 0;
	}
	text = len ? malloc(len + 1) : NULL;
	if (!text) {
		json_decref(reply);
		return -ENOMEM;
	}
	json_dumpb(reply, text, len, JSON_COMPACT);
	json_decref(reply);
	text[len] = '\n';
	client->reply = text;
	client->len = len + 1;
	client->server->pending += client->len;
	return 0;
}

static int answer(struct client *client, size_t len)
{
	json_auto_t *request = NULL;
	json_t *reply = NULL;
	json_error_t error;
	int r;

	request = json_loadb(client->request, len, JSON_REJECT_DUPLICATES,
			     &error);
	if (!json_is_object(request))
		return set_reply(client, server_error(-EINVAL,
			"expected a JSON object in one line%s%s",
			request ? "" : ": ", request ? "" : error.text));
	r = client->server->answer(client->server->data, request,
				   client->uid == 0, &reply);
	return r < 0 ? r : set_reply(client, reply);
}

/* ---- one connection ---- */

/* Return: above 0 when the request is there, 0 when more is to come. */
static int receive(struct client *client)
{
	size_t room = sizeof(client->request) - client->got;
	char *at = client->request + client->got;
	const char *end;
	ssize_t n;
	int r;

	n = recv(client->fd, at, room, MSG_DONTWAIT);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -ECONNRESET;
	client->got += n;
	end = memchr(at, '\n', n);
	if (end)
		r = answer(client, end - client->request);
	else if (client->got < sizeof(client->request))
		return 0;
	else
		r = set_reply(client, server_error(-EMSGSIZE,
			"expected a request of at most %d bytes",
			SERVER_REQUEST_MAX - 1));
	return r < 0 ? r : 1;
}

/* Return: above 0 when all is sent, 0 when it goes on later. */
static int transmit(struct client *client)
{
	ssize_t n = send(client->fd, client->reply + client->sent,
			 client->len - client->sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	client->sent += n;
	return client->sent == client->len;
}

static int on_io(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct client *client = data;
	int r = 0;

	(void)fd;
	(void)events;
	if (!client->reply) {
		r = receive(client);
		if (r > 0)
			r = sd_event_source_set_io_events(source, EPOLLOUT);
	}
	/* Most replies go out at once; an error of the peer ends it as well. */
	if (r >= 0 && client->reply)
		r = transmit(client);
	if (r)
		drop(client);
	return 0;
}

static int on_timeout(sd_event_source *source, uint64_t due, void *data)
{
	(void)source;
	(void)due;
	drop(data);
	return 0;
}

/* ---- who may connect ---- */

static bool has_group(int fd, gid_t gid, uint64_t group)
{
	_cleanup_free_ gid_t *groups = NULL;
	socklen_t bytes = 0;

	if (group == GROUP_NONE)
		return false;
	if (gid == group)
		return true;
	/* With no room it says how much it takes. */
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &bytes) ||
	    errno != ERANGE)
		return false;
	groups = malloc(bytes);
	if (!groups ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &bytes) < 0)
		return false;
	for (size_t i = 0; i < bytes / sizeof(*groups); i++) {
		if (groups[i] == group)
			return true;
	}
	return false;
}

static size_t nr_clients_of(const struct server *server, uid_t uid)
{
	size_t nr = 0;

	for (const struct client *c = server->clients; c; c = c->next)
		nr += c->uid == uid;
	return nr;
}

static int check_peer(const struct server *server, int fd, uid_t *ret_uid)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
		return -errno;
	if (peer.uid && !has_group(fd, peer.gid, server->group))
		return -EACCES;
	if (server->nr_clients >= SERVER_CLIENTS_MAX ||
	    (peer.uid && nr_clients_of(server, peer.uid) >=
			 SERVER_CLIENTS_MAX_USER))
		return -EBUSY;
	*ret_uid = peer.uid;
	return 0;
}

/* In one go, or not at all: there is nothing to wait for. */
static void refuse(int fd, int error)
{
	json_auto_t *reply = NULL;
	char text[256];
	size_t len;

	if (error == -EACCES)
		reply = server_error(error,
				     "expected root, or a member of the group that [daemon] group names");
	else
		reply = server_error(error,
				     "too many connections; try again");
	len = reply ? json_dumpb(reply, text, sizeof(text) - 1,
				 JSON_COMPACT) : 0;
	if (!len || len >= sizeof(text))
		return;
	text[len] = '\n';
	send(fd, text, len + 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int server_adopt(struct server *server, int fd)
{
	struct client *client;
	uid_t uid = 0;
	int r;

	r = check_peer(server, fd, &uid);
	if (r < 0) {
		if (r == -EACCES || r == -EBUSY)
			refuse(fd, r);
		close(fd);
		return r;
	}
	client = calloc(1, sizeof(*client));
	if (!client) {
		close(fd);
		return -ENOMEM;
	}
	client->server = server;
	client->fd = fd;
	client->uid = uid;
	r = sd_event_add_io(server->event, &client->io, fd, EPOLLIN, on_io,
			    client);
	if (r >= 0)
		r = sd_event_add_time_relative(server->event, &client->timer,
					       CLOCK_MONOTONIC,
					       SERVER_TIMEOUT_USEC, 0,
					       on_timeout, client);
	if (r < 0) {
		client_free(client);
		return r;
	}
	client->next = server->clients;
	server->clients = client;
	server->nr_clients++;
	return 0;
}

/* ---- the socket ---- */

static int on_connection(sd_event_source *source, int fd, uint32_t events,
			 void *data)
{
	int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)source;
	(void)events;
	/* Whatever fails concerns that one, and the rate is limited. */
	if (client >= 0)
		server_adopt(data, client);
	return 0;
}

void server_address(int dir, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(address->sun_path, sizeof(address->sun_path),
		 "/proc/self/fd/%d/" SERVER_SOCKET, dir);
}

static bool is_answered(const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
					SOCK_NONBLOCK, 0);

	/* -EAGAIN: it has more connections waiting than it takes. */
	return fd >= 0 && (!connect(fd, (const struct sockaddr *)address,
				    sizeof(*address)) || errno == EAGAIN);
}

static int bind_socket(int dir)
{
	_cleanup_close_ int fd = -EBADF;
	struct sockaddr_un address;

	server_address(dir, &address);
	if (is_answered(&address))
		return -EADDRINUSE;
	if (unlinkat(dir, SERVER_SOCKET, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	/* Everybody may knock. */
	if (fchmodat(dir, SERVER_SOCKET, 0666, 0) < 0 ||
	    listen(fd, SERVER_CLIENTS_MAX) < 0) {
		int error = -errno;

		unlinkat(dir, SERVER_SOCKET, 0);
		return error;
	}
	return zf_take_fd(&fd);
}

int server_listen(struct server *server, const struct zf_path *sys)
{
	_cleanup_(zf_path_freep) struct zf_path *dir = NULL;
	int r;

	if (mkdirat(zf_path_fd(sys), SERVER_DIR, 0755) < 0 && errno != EEXIST)
		return -errno;
	r = zf_path_open_at(sys, SERVER_DIR, &dir);
	if (r < 0)
		return r;
	r = bind_socket(zf_path_fd(dir));
	if (r < 0)
		return r;
	server->fd = r;
	server->sys = sys;
	r = sd_event_add_io(server->event, &server->listener, server->fd,
			    EPOLLIN, on_connection, server);
	if (r >= 0)
		r = sd_event_source_set_ratelimit(server->listener,
						  SERVER_ACCEPTS_USEC,
						  SERVER_ACCEPTS);
	return r < 0 ? r : 0;
}
