/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * server.h - the control socket: who may connect, and how requests come in and
 *	      replies go out
 *
 * A connection is one exchange: the client writes one JSON object and a newline,
 * the server one of its own, and closes. What they say is requests.h's affair.
 *
 * Nobody can hold the daemon up. Nothing blocks; a connection ends after
 * SERVER_TIMEOUT_USEC however far it is; a request is at most
 * SERVER_REQUEST_MAX bytes, a reply at most SERVER_REPLY_MAX, and all that wait
 * to be read at most SERVER_PENDING_MAX; there are at most SERVER_CLIENTS_MAX connections, SERVER_CLIENTS_MAX_USER of one user
 * other than root, and SERVER_ACCEPTS new ones in SERVER_ACCEPTS_USEC.
 *
 * Root may ask and change, members of the configured group may ask; the kernel
 * says who has connected (SO_PEERCRED, SO_PEERGROUPS). The socket's file mode is
 * no help here: a daemon without capabilities can not give it to the group.
 */
#ifndef ZFOLIOD_SERVER_H
#define ZFOLIOD_SERVER_H

#include <stdbool.h>
#include <sys/un.h>

#include <jansson.h>
#include <systemd/sd-event.h>

#include <zfolio/path.h>

#include "policy.h"

/* Below the system's root. */
#define SERVER_DIR "run/zfolio"
#define SERVER_SOCKET "control"

#define SERVER_REQUEST_MAX 8192
/* Some 10,000 cgroups with something in swap. */
#define SERVER_REPLY_MAX ((size_t)16 << 20)
/* Of replies that have not been read, all together. */
#define SERVER_PENDING_MAX ((size_t)32 << 20)
#define SERVER_TIMEOUT_USEC (5 * ZF_USEC_PER_SEC)
#define SERVER_CLIENTS_MAX 16
#define SERVER_CLIENTS_MAX_USER 4
/* A reply takes some milliseconds: at most a few per cent of a core. */
#define SERVER_ACCEPTS 20
#define SERVER_ACCEPTS_USEC (2 * ZF_USEC_PER_SEC)

/**
 * server_answer - make the reply to a request
 * @data:	as given to server_new()
 * @request:	an object
 * @may_change:	whether it comes from root
 * @ret_reply:	an object; the server drops its reference
 *
 * Return: 0 or -ENOMEM: then the connection ends without a reply.
 */
typedef int (*server_answer)(void *data, const json_t *request,
			     bool may_change, json_t **ret_reply);

struct server;

/**
 * server_new() - a server without a socket yet
 * @event:	loop that it lives in
 * @answer:	makes replies
 * @data:	for @answer
 * @ret_server:	to be given back with server_free(), before @event is
 */
int server_new(sd_event *event, server_answer answer, void *data,
	       struct server **ret_server);

/* Ends all connections and removes the socket. */
void server_free(struct server *server);
ZF_DEFINE_CLEANUP(struct server, server_free, server_free)

/**
 * server_listen() - make the socket
 * @server:	server
 * @sys:	context of "/" or a captured tree; must outlive the server
 *
 * The directory is made when it is not there. A socket that an earlier run has
 * left is replaced.
 *
 * Return: 0, -EADDRINUSE when another daemon answers there, or an error of a
 * system call.
 */
int server_listen(struct server *server, const struct zf_path *sys);

/* Whose members may ask, from the next connection on; GROUP_NONE: root alone. */
void server_set_group(struct server *server, uint64_t group);

/**
 * server_adopt() - take a connection
 * @server:	server
 * @fd:		connected stream socket; closed by the server in any case
 *
 * Return: 0, -EACCES for somebody who may not ask, -EBUSY beyond the limits
 * (both were told so, as far as they listen), or another error.
 */
int server_adopt(struct server *server, int fd);

/*
 * The address of the socket in a directory that is held: its handle stands for
 * its name, which may be longer than an address has room for.
 */
void server_address(int dir, struct sockaddr_un *ret_address);

/* How many connections there are. */
size_t server_nr_clients(const struct server *server);

/* {"zfolio": 1, "error": {"code": "EACCES", "message": "..."}}, or NULL. */
__attribute__((format(printf, 2, 3)))
json_t *server_error(int error, const char *format, ...);

/* The version in requests and replies. */
#define SERVER_VERSION 1

#endif
