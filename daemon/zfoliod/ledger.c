// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "ledger.h"

#define LEDGER_VERSION 1
#define TEMPORARY LEDGER_FILE ".new"

struct ledger {
	struct zf_path *dir;
	struct entry *entries;		/* by id and knob */
	size_t nr;
};

void ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return;
	for (size_t i = 0; i < ledger->nr; i++)
		free(ledger->entries[i].path);
	free(ledger->entries);
	zf_path_free(ledger->dir);
	free(ledger);
}

struct entry *ledger_entries(struct ledger *ledger, size_t *ret_nr)
{
	*ret_nr = ledger->nr;
	return ledger->entries;
}

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (int)x->knob - (int)y->knob;
}

struct entry *ledger_find(struct ledger *ledger, uint64_t id, enum knob knob)
{
	const struct entry key = { .id = id, .knob = knob };

	return ledger->nr ? bsearch(&key, ledger->entries, ledger->nr,
				    sizeof(key), compare_entries) : NULL;
}

/* ---- the file ---- */

/* A path with bytes that are no UTF-8 is written as an array of its bytes. */
static json_t *path_to_json(const char *path)
{
	json_t *array, *string = json_string(path);

	if (string)
		return string;
	array = json_array();
	for (const unsigned char *p = (const void *)path; array && *p; p++) {
		if (json_array_append_new(array, json_integer(*p)) < 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static char *path_from_json(const json_t *json)
{
	size_t len = json_array_size(json);
	char *path;

	if (json_is_string(json))
		return strdup(json_string_value(json));
	if (!len)
		return NULL;
	path = calloc(1, len + 1);
	for (size_t i = 0; path && i < len; i++)
		path[i] = json_integer_value(json_array_get(json, i));
	return path;
}

static int entry_from_json(const json_t *json, struct entry *ret_entry)
{
	const char *knob = json_string_value(json_object_get(json, "knob"));
	struct entry entry = { 0 };

	for (unsigned int i = 0; knob && i < NR_KNOBS; i++) {
		if (!strcmp(knob, knob_files[i]))
			entry.knob = i;
	}
	if (!knob || strcmp(knob, knob_files[entry.knob]) ||
	    json_read_number(json_object_get(json, "id"), &entry.id) < 0 ||
	    json_read_number(json_object_get(json, "found"), &entry.found) < 0 ||
	    json_read_number(json_object_get(json, "set"), &entry.set) < 0)
		return -EINVAL;
	entry.path = path_from_json(json_object_get(json, "path"));
	if (!entry.path)
		return -EINVAL;
	*ret_entry = entry;
	return 0;
}

static int load(struct ledger *ledger)
{
	json_auto_t *json = NULL;
	_cleanup_free_ char *text = NULL;
	const json_t *changed;
	json_error_t error;
	size_t len, nr;
	int r;

	r = zf_path_read(ledger->dir, LEDGER_FILE, &text, &len);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	json = json_loadb(text, len, 0, &error);
	changed = json_object_get(json, "changed");
	if (json_integer_value(json_object_get(json, "zfolio_state")) !=
	    LEDGER_VERSION || !json_is_array(changed))
		return -EINVAL;
	nr = json_array_size(changed);
	ledger->entries = calloc(nr + 1, sizeof(*ledger->entries));
	if (!ledger->entries)
		return -ENOMEM;
	for (; ledger->nr < nr; ledger->nr++) {
		r = entry_from_json(json_array_get(changed, ledger->nr),
				    &ledger->entries[ledger->nr]);
		if (r < 0)
			return r;
	}
	qsort(ledger->entries, nr, sizeof(*ledger->entries), compare_entries);
	return 0;
}

static json_t *entry_to_json(const struct entry *entry)
{
	return json_pack("{s:o, s:o, s:s, s:o, s:o}",
			 "id", json_number(entry->id),
			 "path", path_to_json(entry->path),
			 "knob", knob_files[entry->knob],
			 "found", json_number(entry->found),
			 "set", json_number(entry->set));
}

static int write_all(int fd, const char *text)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= n;
	}
	return 0;
}

/* A new file takes the place of the old one, or the old one stays. */
static int save(const struct ledger *ledger)
{
	json_auto_t *json = NULL;
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -EBADF;
	int dir = zf_path_fd(ledger->dir);
	json_t *changed = json_array();
	int r;

	json = json_pack("{s:i, s:o}", "zfolio_state", LEDGER_VERSION,
			 "changed", changed);
	if (!json)
		return -ENOMEM;
	for (size_t i = 0; i < ledger->nr; i++) {
		if (json_array_append_new(changed,
					  entry_to_json(&ledger->entries[i])) < 0)
			return -ENOMEM;
	}
	text = json_dumps(json, JSON_COMPACT);
	if (!text)
		return -ENOMEM;
	fd = openat(dir, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return -errno;
	/* /run is memory: there is nothing to wait for before the rename. */
	r = write_all(fd, text);
	if (r >= 0 && renameat(dir, TEMPORARY, dir, LEDGER_FILE) < 0)
		r = -errno;
	if (r < 0)
		unlinkat(dir, TEMPORARY, 0);
	return r;
}

/* ---- main API ---- */

int ledger_open(const struct zf_path *sys, struct ledger **ret_ledger)
{
	_cleanup_(ledger_freep) struct ledger *ledger = NULL;
	int r;

	ledger = calloc(1, sizeof(*ledger));
	if (!ledger)
		return -ENOMEM;
	if (mkdirat(zf_path_fd(sys), LEDGER_DIR, 0755) < 0 && errno != EEXIST)
		return -errno;
	r = zf_path_open_at(sys, LEDGER_DIR, &ledger->dir);
	if (r < 0)
		return r;
	r = load(ledger);
	if (r < 0)
		return r;
	*ret_ledger = zf_take_ptr(ledger);
	return 0;
}

static void remove_at(struct ledger *ledger, size_t index)
{
	free(ledger->entries[index].path);
	memmove(&ledger->entries[index], &ledger->entries[index + 1],
		(ledger->nr - index - 1) * sizeof(*ledger->entries));
	ledger->nr--;
}

static int insert(struct ledger *ledger, const struct entry *entry,
		  size_t *ret_index)
{
	struct entry *larger;
	size_t i = ledger->nr;

	larger = realloc(ledger->entries, (ledger->nr + 1) * sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	ledger->entries = larger;
	for (; i && compare_entries(&larger[i - 1], entry) > 0; i--)
		larger[i] = larger[i - 1];
	larger[i] = *entry;
	ledger->nr++;
	*ret_index = i;
	return 0;
}

int ledger_set(struct ledger *ledger, uint64_t id, const char *path,
	       enum knob knob, uint64_t found, uint64_t set)
{
	struct entry *entry = ledger_find(ledger, id, knob);
	struct entry new = { .id = id, .knob = knob, .found = found, .set = set };
	uint64_t before;
	size_t index;
	int r;

	if (entry) {
		before = entry->set;
		entry->set = set;
		r = save(ledger);
		if (r < 0)
			entry->set = before;
		return r;
	}
	new.path = strdup(path);
	if (!new.path)
		return -ENOMEM;
	r = insert(ledger, &new, &index);
	if (r < 0) {
		free(new.path);
		return r;
	}
	r = save(ledger);
	if (r < 0)
		remove_at(ledger, index);
	return r;
}

void ledger_drop(struct ledger *ledger, struct entry *entry)
{
	remove_at(ledger, entry - ledger->entries);
	/* At worst the entry comes back after a crash, and its value as well. */
	save(ledger);
}

void ledger_clear(struct ledger *ledger)
{
	while (ledger->nr)
		remove_at(ledger, ledger->nr - 1);
	unlinkat(zf_path_fd(ledger->dir), LEDGER_FILE, 0);
}
