// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "json.h"
#include "requests.h"
#include "server.h"

/* Takes @object. */
static int reply_with(const char *name, json_t *object, json_t **ret_reply)
{
	json_t *reply = json_pack("{s:i, s:o}", "zfolio", SERVER_VERSION, name,
				  object);

	if (!reply)
		return -ENOMEM;
	*ret_reply = reply;
	return 0;
}

/* Takes @error. */
static int refuse(json_t *error, json_t **ret_reply)
{
	if (!error)
		return -ENOMEM;
	*ret_reply = error;
	return 0;
}

/* The first key of @object that is not among @known, or NULL. */
static const char *unknown_key(const json_t *object, const char *const *known)
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (!known[i])
			return key;
	}
	return NULL;
}

static int no_cgroup(const char *path, json_t **ret_reply)
{
	if (!path)
		return refuse(server_error(-EINVAL,
			"cgroup: expected the path of a cgroup"), ret_reply);
	return refuse(server_error(-ENOENT,
		"%.256s: no such cgroup with the memory controller", path),
		ret_reply);
}

static int answer_get(const struct requests *requests, const json_t *request,
		      json_t **ret_reply)
{
	static const char *const known[] = { "zfolio", "get", "cgroup", NULL };
	const struct subject *subject = &requests->subject;
	const char *what = json_string_value(json_object_get(request, "get"));
	const char *path = json_string_value(json_object_get(request, "cgroup"));
	const char *key = unknown_key(request, known);
	const struct node *node;
	json_t *object = NULL;
	int r;

	if (key)
		return refuse(server_error(-EINVAL,
			"%.64s: expected get and cgroup only", key), ret_reply);
	if (!what)
		what = "";
	if (!strcmp(what, "status")) {
		r = report_status(subject, &object);
	} else if (!strcmp(what, "features")) {
		r = report_features(subject, &object);
	} else if (!strcmp(what, "explain")) {
		node = path ? report_find(subject, path) : NULL;
		if (!node)
			return no_cgroup(path, ret_reply);
		r = report_explain(subject, node, &object);
	} else {
		return refuse(server_error(-EINVAL,
			"get: expected status, features or explain"),
			ret_reply);
	}
	return r < 0 ? r : reply_with(what, object, ret_reply);
}

static int answer_set(const struct requests *requests, const json_t *set,
		      bool may_change, json_t **ret_reply)
{
	static const char *const known[] = {
		"cgroup", "key", "value", "for", NULL
	};
	const char *path = json_string_value(json_object_get(set, "cgroup"));
	const char *key = json_string_value(json_object_get(set, "key"));
	const char *value = json_string_value(json_object_get(set, "value"));
	const json_t *time = json_object_get(set, "for");
	const char *other = unknown_key(set, known);
	_cleanup_free_ char *error = NULL;
	uint64_t usec = UINT64_MAX;
	struct node *node;
	int r;

	if (!may_change)
		return refuse(server_error(-EACCES,
			"only root may set anything"), ret_reply);
	if (!requests->set)
		return refuse(server_error(-EOPNOTSUPP,
			"zfoliod does not run: nothing can be set"), ret_reply);
	if (other || !key || !value)
		return refuse(server_error(-EINVAL,
			"set: expected strings cgroup, key and value, and for"),
			ret_reply);
	if (time && (json_read_number(time, &usec) < 0 || !usec))
		return refuse(server_error(-EINVAL,
			"for: expected microseconds above 0"), ret_reply);
	node = path ? report_find(&requests->subject, path) : NULL;
	if (!node)
		return no_cgroup(path, ret_reply);
	r = requests->set(requests->data, node, key, value, usec, &error);
	if (r == -ENOMEM)
		return r;
	if (r == -ENOENT)
		return refuse(server_error(r, "%.64s: not set for this cgroup",
					   key), ret_reply);
	if (r == -ENOSPC)
		return refuse(server_error(r,
			"%d values are set already: put them into the configuration",
			OVERRIDES_MAX), ret_reply);
	if (r < 0)
		return refuse(server_error(r, "%.512s", error ? error :
						       strerror(-r)), ret_reply);
	return reply_with("set", json_deep_copy(set), ret_reply);
}

int requests_answer(const struct requests *requests, const json_t *request,
		    bool may_change, json_t **ret_reply)
{
	static const char *const known[] = { "zfolio", "set", NULL };
	const json_t *set = json_object_get(request, "set");

	if (json_integer_value(json_object_get(request, "zfolio")) !=
	    SERVER_VERSION)
		return refuse(server_error(-EPROTO,
			"zfolio: expected version %d", SERVER_VERSION),
			ret_reply);
	if (!set)
		return answer_get(requests, request, ret_reply);
	if (!json_is_object(set) || unknown_key(request, known))
		return refuse(server_error(-EINVAL,
			"set: expected an object, and nothing beside it"),
			ret_reply);
	return answer_set(requests, set, may_change, ret_reply);
}
