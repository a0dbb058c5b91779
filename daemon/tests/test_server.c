// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server.h: exchanges over socket pairs, clients that misbehave, and the socket
 * in its directory.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "../zfoliod/server.h"

#include "tree.h"

/* ---- system calls ---- */

int __real_getsockopt(int fd, int level, int name, void *value,
		      socklen_t *bytes);
ssize_t __real_recv(int fd, void *buffer, size_t bytes, int flags);
ssize_t __real_send(int fd, const void *buffer, size_t bytes, int flags);

/* Who seems to have connected, in which group. */
static uid_t peer_uid;
static gid_t peer_group;
static int getsockopt_error, recv_error, send_error;
static bool slow_send;

int __wrap_getsockopt(int fd, int level, int name, void *value,
		      socklen_t *bytes)
{
	struct ucred *peer = value;

	if (getsockopt_error) {
		errno = getsockopt_error;
		return -1;
	}
	if (level == SOL_SOCKET && name == SO_PEERCRED) {
		*peer = (struct ucred){ .pid = 1, .uid = peer_uid, .gid = 99 };
		return 0;
	}
	if (level == SOL_SOCKET && name == SO_PEERGROUPS) {
		if (*bytes < sizeof(gid_t)) {
			*bytes = sizeof(gid_t);
			errno = ERANGE;
			return -1;
		}
		*(gid_t *)value = peer_group;
		return 0;
	}
	return __real_getsockopt(fd, level, name, value, bytes);
}

ssize_t __wrap_recv(int fd, void *buffer, size_t bytes, int flags)
{
	if (!recv_error)
		return __real_recv(fd, buffer, bytes, flags);
	errno = recv_error;
	recv_error = 0;
	return -1;
}

ssize_t __wrap_send(int fd, const void *buffer, size_t bytes, int flags)
{
	if (send_error) {
		errno = send_error;
		send_error = 0;
		return -1;
	}
	return __real_send(fd, buffer, slow_send && bytes > 3 ? 3 : bytes,
			   flags);
}

/* ---- fixtures ---- */

static sd_event *event;
static struct server *server;
static size_t asked;
static bool asked_may_change;
static size_t reply_bytes;	/* of padding */
static bool no_memory;

static int answer(void *data, const json_t *request, bool may_change,
		  json_t **ret_reply)
{
	_cleanup_free_ char *padding = malloc(reply_bytes + 1);

	assert_ptr_equal(data, &asked);
	assert_true(json_is_object(request));
	assert_non_null(padding);
	asked++;
	asked_may_change = may_change;
	if (no_memory)
		return -ENOMEM;
	memset(padding, 'x', reply_bytes);
	padding[reply_bytes] = '\0';
	*ret_reply = json_pack("{s:s}", "p", padding);
	return *ret_reply ? 0 : -ENOMEM;
}

static int start(void **state)
{
	(void)state;
	peer_uid = peer_group = 0;
	getsockopt_error = recv_error = send_error = 0;
	slow_send = no_memory = asked_may_change = false;
	asked = reply_bytes = 0;
	assert_true(sd_event_new(&event) >= 0);
	return server_new(event, answer, &asked, &server);
}

static int stop(void **state)
{
	(void)state;
	server_free(server);
	sd_event_unref(event);
	return 0;
}

/* Until nothing is to be done for @usec. */
static void turn(uint64_t usec)
{
	while (sd_event_run(event, usec) > 0)
		;
}

/* A connection that the server has taken, or not: then *ret_error. */
static int connected(int *ret_error)
{
	int fds[2], r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
				    fds), 0);
	r = server_adopt(server, fds[1]);
	if (ret_error)
		*ret_error = r;
	else
		assert_int_equal(r, 0);
	return fds[0];
}

static void say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* What comes until the server closes; fails when it does not. */
static const char *heard(int fd)
{
	static char text[65536];
	size_t len = 0;
	ssize_t n;

	for (;;) {
		turn(1000);
		n = __real_recv(fd, text + len, sizeof(text) - 1 - len,
				MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			fail_msg("the server has not closed");
		/* It may have closed with something of ours unread. */
		if (n <= 0)
			break;
		len += n;
	}
	text[len] = '\0';
	close(fd);
	return text;
}

static bool is_open(int fd)
{
	char byte;

	turn(1000);
	return __real_recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 &&
	       errno == EAGAIN;
}

/* ---- exchanges ---- */

static void test_exchange(void **state)
{
	int fd = connected(NULL);

	(void)state;
	assert_int_equal(server_nr_clients(server), 1);
	say(fd, "{\"a\": 1}\n");
	assert_string_equal(heard(fd), "{\"p\":\"\"}\n");
	assert_int_equal(asked, 1);
	assert_true(asked_may_change);
	assert_int_equal(server_nr_clients(server), 0);
}

static void test_in_pieces(void **state)
{
	const char *text = "{\"a\": 1}\n";
	int fd = connected(NULL);

	(void)state;
	slow_send = true;
	reply_bytes = 40;
	for (; *text; text++) {
		assert_int_equal(write(fd, text, 1), 1);
		turn(0);
		assert_true(!*(text + 1) || asked == 0);
	}
	assert_int_equal(strlen(heard(fd)), 40 + 9);
}

static void test_interrupted(void **state)
{
	int fd = connected(NULL);

	(void)state;
	recv_error = EINTR;
	send_error = EAGAIN;
	say(fd, "{}\n");
	assert_string_equal(heard(fd), "{\"p\":\"\"}\n");
}

static void test_one_request_only(void **state)
{
	int fd = connected(NULL);

	(void)state;
	say(fd, "{}\n{}\n");
	heard(fd);
	assert_int_equal(asked, 1);
}

/* ---- clients that misbehave ---- */

static void refuses(const char *request, const char *code)
{
	int fd = connected(NULL);
	const char *text;

	say(fd, request);
	text = heard(fd);
	assert_non_null(strstr(text, "\"zfolio\":1"));
	if (!strstr(text, code))
		fail_msg("%s: expected %s", text, code);
	assert_int_equal(server_nr_clients(server), 0);
}

static void test_malformed(void **state)
{
	(void)state;
	refuses("\n", "\"EINVAL\"");
	refuses("{\n", "\"EINVAL\"");
	refuses("[]\n", "expected a JSON object");
	refuses("{} {}\n", "\"EINVAL\"");
	refuses("{\"a\":1,\"a\":2}\n", "\"EINVAL\"");
	refuses("\xff\xfe\n", "\"EINVAL\"");
	assert_int_equal(asked, 0);
}

static void test_oversized(void **state)
{
	char text[SERVER_REQUEST_MAX + 1];
	int fd;

	(void)state;
	memset(text, ' ', sizeof(text));
	text[SERVER_REQUEST_MAX] = '\0';
	refuses(text, "\"EMSGSIZE\"");
	assert_int_equal(asked, 0);

	/* The longest that is taken. */
	text[SERVER_REQUEST_MAX - 3] = '{';
	text[SERVER_REQUEST_MAX - 2] = '}';
	text[SERVER_REQUEST_MAX - 1] = '\n';
	fd = connected(NULL);
	say(fd, text);
	assert_string_equal(heard(fd), "{\"p\":\"\"}\n");
}

static void test_oversized_reply(void **state)
{
	(void)state;
	reply_bytes = SERVER_REPLY_MAX;
	refuses("{}\n", "\"EMSGSIZE\"");
}

static void test_too_many_replies(void **state)
{
	int deaf[3];

	(void)state;
	reply_bytes = SERVER_PENDING_MAX / 3;
	for (size_t i = 0; i < 3; i++) {
		deaf[i] = connected(NULL);
		if (i == 2)
			break;
		say(deaf[i], "{}\n");
		turn(1000);
	}
	reply_bytes += 1 << 20;
	say(deaf[2], "{}\n");
	assert_non_null(strstr(heard(deaf[2]), "\"EBUSY\""));
	close(deaf[0]);
	close(deaf[1]);
	turn(1000);
	/* Room again. */
	reply_bytes = 10;
	deaf[0] = connected(NULL);
	say(deaf[0], "{}\n");
	assert_int_equal(strlen(heard(deaf[0])), 10 + 9);
}

static void test_hang_up(void **state)
{
	int fd = connected(NULL);

	(void)state;
	say(fd, "{\"a\"");
	turn(0);
	close(fd);
	turn(1000);
	assert_int_equal(server_nr_clients(server), 0);

	/* Without waiting for a reply that does not fit the socket. */
	reply_bytes = 4 << 20;
	fd = connected(NULL);
	say(fd, "{}\n");
	turn(1000);
	assert_int_equal(server_nr_clients(server), 1);
	close(fd);
	turn(1000);
	assert_int_equal(server_nr_clients(server), 0);
	assert_int_equal(asked, 1);
}

static void test_errors(void **state)
{
	int fd = connected(NULL);

	(void)state;
	recv_error = ENOMEM;
	say(fd, "{}\n");
	assert_string_equal(heard(fd), "");

	fd = connected(NULL);
	send_error = EPIPE;
	say(fd, "{}\n");
	assert_string_equal(heard(fd), "");

	no_memory = true;
	fd = connected(NULL);
	say(fd, "{}\n");
	assert_string_equal(heard(fd), "");
	assert_int_equal(server_nr_clients(server), 0);
}

static void test_slow(void **state)
{
	int silent = connected(NULL), deaf, other;

	(void)state;
	reply_bytes = 4 << 20;
	deaf = connected(NULL);
	say(deaf, "{}\n");
	turn(1000);
	assert_int_equal(server_nr_clients(server), 2);

	/* Others are answered meanwhile. */
	reply_bytes = 0;
	other = connected(NULL);
	say(other, "{}\n");
	assert_string_equal(heard(other), "{\"p\":\"\"}\n");

	turn(SERVER_TIMEOUT_USEC + ZF_USEC_PER_SEC);
	assert_int_equal(server_nr_clients(server), 0);
	close(silent);
	close(deaf);
}

/* ---- who may ---- */

static void test_credentials(void **state)
{
	int fd, r;

	(void)state;
	peer_uid = 1000;
	fd = connected(&r);
	assert_int_equal(r, -EACCES);
	assert_non_null(strstr(heard(fd), "\"EACCES\""));

	peer_group = 42;
	server_set_group(server, 42);
	fd = connected(NULL);
	say(fd, "{}\n");
	assert_string_equal(heard(fd), "{\"p\":\"\"}\n");
	assert_false(asked_may_change);

	/* The primary group counts as well. */
	server_set_group(server, 99);
	close(connected(NULL));
	server_set_group(server, 43);
	fd = connected(&r);
	assert_int_equal(r, -EACCES);
	close(fd);

	getsockopt_error = ENOPROTOOPT;
	fd = connected(&r);
	assert_int_equal(r, -ENOPROTOOPT);
	close(fd);
}

static void test_limits(void **state)
{
	int fds[SERVER_CLIENTS_MAX + 1], nr = 0, r;

	(void)state;
	server_set_group(server, 99);
	peer_uid = 1000;
	while (nr < SERVER_CLIENTS_MAX_USER)
		fds[nr++] = connected(NULL);
	fds[nr] = connected(&r);
	assert_int_equal(r, -EBUSY);
	assert_non_null(strstr(heard(fds[nr]), "too many connections"));

	/* Root has room until the table is full. */
	peer_uid = 0;
	while (nr < SERVER_CLIENTS_MAX)
		fds[nr++] = connected(NULL);
	fds[nr] = connected(&r);
	assert_int_equal(r, -EBUSY);
	close(fds[nr]);
	for (int i = 0; i < nr; i++) {
		assert_true(is_open(fds[i]));
		close(fds[i]);
	}
	turn(1000);
	assert_int_equal(server_nr_clients(server), 0);
}

/* ---- the socket ---- */

static int reach(const struct tree *t)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path),
		 "%s/" SERVER_DIR "/" SERVER_SOCKET, t->dir);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int error = -errno;

		close(fd);
		return error;
	}
	return fd;
}

static void test_socket(void **state)
{
	const struct tree *t = *state;
	struct server *second;
	int fd;

	tree_write(t, "run/x", "");
	assert_int_equal(server_listen(server, t->path), 0);
	fd = reach(t);
	assert_true(fd >= 0);
	say(fd, "{}\n");
	turn(10000);
	assert_string_equal(heard(fd), "{\"p\":\"\"}\n");

	assert_int_equal(server_new(event, answer, &asked, &second), 0);
	assert_int_equal(server_listen(second, t->path), -EADDRINUSE);
	server_free(second);
	/* That one has not taken the socket away. */
	fd = reach(t);
	assert_true(fd >= 0);
	close(fd);

	server_free(server);
	assert_int_equal(reach(t), -ENOENT);
	assert_int_equal(server_new(event, answer, &asked, &server), 0);
	/* One that a crash has left. */
	assert_int_equal(server_listen(server, t->path), 0);
	zf_closep(&(int){ reach(t) });
}

static void test_socket_left_behind(void **state)
{
	const struct tree *t = *state;
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	tree_write(t, SERVER_DIR "/x", "");
	snprintf(address.sun_path, sizeof(address.sun_path),
		 "%s/" SERVER_DIR "/" SERVER_SOCKET, t->dir);
	assert_int_equal(bind(fd, (struct sockaddr *)&address,
			      sizeof(address)), 0);
	close(fd);
	assert_int_equal(reach(t), -ECONNREFUSED);
	assert_int_equal(server_listen(server, t->path), 0);
	fd = reach(t);
	assert_true(fd >= 0);
	close(fd);
}

static void test_no_room_for_socket(void **state)
{
	const struct tree *t = *state;
	_cleanup_free_ char *dir = tree_name(t, SERVER_DIR);

	tree_write(t, "run/x", "");
	nftw(dir, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
	tree_write(t, SERVER_DIR, "a file");
	assert_int_equal(server_listen(server, t->path), -ENOTDIR);
	assert_int_equal(unlink(dir), 0);
}

/* More connections than the rate allows wait, and are answered then. */
static void test_rate(void **state)
{
	const struct tree *t = *state;
	const int nr = SERVER_ACCEPTS + 3;

	assert_int_equal(server_listen(server, t->path), 0);
	for (int i = 0; i < nr; i++) {
		int fd = reach(t);

		assert_true(fd >= 0);
		say(fd, "{}\n");
		turn(0);
		close(fd);
	}
	assert_true(asked <= SERVER_ACCEPTS);
	turn(SERVER_ACCEPTS_USEC + ZF_USEC_PER_SEC);
	assert_int_equal(asked, nr);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_exchange), T(test_in_pieces), T(test_interrupted),
		T(test_one_request_only), T(test_malformed), T(test_oversized),
		T(test_oversized_reply), T(test_too_many_replies),
		T(test_hang_up), T(test_errors),
		T(test_slow), T(test_credentials), T(test_limits),
		T(test_socket), T(test_socket_left_behind),
		T(test_no_room_for_socket), T(test_rate),
	};

	return cmocka_run_group_tests(tests, tree_setup, tree_teardown);
}
