// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <ini.h>

#include <zfolio/glob.h>

#include "conf_files.h"
#include "conf_keys.h"
#include "config.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* ---- sections ---- */

struct section {
	enum conf_kind kind;
	char *pattern;
	uint64_t set;			/* which of the values (conf_keys.h) */
	union {
		struct settings daemon;
		struct device_policy device;
		struct policy cgroup;
	} values;
};

struct config {
	struct settings settings;
	struct section *sections;	/* the least specific one first */
	size_t nr_sections;
	const struct overrides *overrides;	/* or NULL */
};

void config_free(struct config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->nr_sections; i++)
		free(config->sections[i].pattern);
	free(config->sections);
	free(config);
}

static void apply(const struct section *section, void *values)
{
	conf_keys_copy(section->set, &section->values, values);
}

static void apply_matching(const struct config *config, enum conf_kind kind,
			   const char *name, void *values)
{
	for (size_t i = 0; i < config->nr_sections; i++) {
		const struct section *section = &config->sections[i];

		if (section->kind == kind &&
		    zf_glob_match(section->pattern, name))
			apply(section, values);
	}
}

const struct settings *config_settings(const struct config *config)
{
	return &config->settings;
}

struct policy config_policy(const struct config *config, const char *cgroup)
{
	struct policy policy = policy_default;

	apply_matching(config, KIND_CGROUP, cgroup, &policy);
	if (config->overrides)
		overrides_apply(config->overrides, cgroup, &policy);
	return policy;
}

void config_set_overrides(struct config *config,
			  const struct overrides *overrides)
{
	config->overrides = overrides;
}

struct device_policy config_device(const struct config *config,
				   const char *name)
{
	struct device_policy device = device_policy_default;

	/* A file's whole name, written as paths are in patterns. */
	apply_matching(config, KIND_DEVICE, name + (*name == '/'), &device);
	return device;
}

/* Stable: of equally specific sections the last one read stays last. */
static void sort_sections(struct config *config)
{
	for (size_t i = 1; i < config->nr_sections; i++) {
		struct section section = config->sections[i];
		size_t j = i;

		for (; j && zf_glob_compare(config->sections[j - 1].pattern,
					    section.pattern) > 0; j--)
			config->sections[j] = config->sections[j - 1];
		config->sections[j] = section;
	}
}

/* ---- reading a file ---- */

/*
 * libinih splits the lines. It keeps only the first 49 bytes of a section's
 * name, ends it at the first "]" and does not tell the line's number; a glob
 * may be longer and may hold brackets. So the reader below, which libinih calls
 * for each line, counts them, takes sections itself and hands an empty one on.
 */
struct reader {
	const char *next;		/* rest of the text */
	int line;
	struct config *config;
	struct section *section;	/* NULL before the first one */
	int error_line;
	char *error;			/* the first one */
	int r;
};

__attribute__((format(printf, 3, 4)))
static void fail(struct reader *reader, int r, const char *format, ...)
{
	va_list args;

	if (reader->r < 0)
		return;
	reader->r = r;
	reader->error_line = reader->line;
	va_start(args, format);
	if (vasprintf(&reader->error, format, args) < 0)
		reader->error = NULL;
	va_end(args);
}

/* @text is what stands in the brackets: "daemon", "cgroup GLOB", ... */
static void start_section(struct reader *reader, const char *text, size_t len)
{
	static const struct {
		const char *word;
		enum conf_kind kind;
		bool has_pattern;
	} words[] = {
		{ "daemon", KIND_DAEMON, false },
		{ "device", KIND_DEVICE, true },
		{ "cgroup", KIND_CGROUP, true },
	};
	struct config *config = reader->config;
	struct section section = { .kind = KIND_NONE };
	struct section *larger;
	const char *pattern;
	size_t word_len;

	pattern = memchr(text, ' ', len);
	word_len = pattern ? (size_t)(pattern - text) : len;
	while (pattern && pattern < text + len && *pattern == ' ')
		pattern++;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strlen(words[i].word) == word_len &&
		    !strncmp(words[i].word, text, word_len) &&
		    words[i].has_pattern == !!pattern)
			section.kind = words[i].kind;
	}
	if (section.kind == KIND_NONE) {
		fail(reader, -EINVAL,
		     "[%.*s]: expected [daemon], [device NAME] or [cgroup GLOB]",
		     (int)len, text);
		return;
	}
	section.pattern = pattern ? strndup(pattern, text + len - pattern) :
				    strdup("");
	if (!section.pattern) {
		fail(reader, -ENOMEM, "out of memory");
		return;
	}
	if (zf_glob_check(section.pattern) < 0) {
		fail(reader, -EINVAL,
		     "[%.*s]: expected a path without a slash at its ends or twice in a row, where ** is a whole level",
		     (int)len, text);
		free(section.pattern);
		return;
	}
	larger = realloc(config->sections,
			 (config->nr_sections + 1) * sizeof(*larger));
	if (!larger) {
		fail(reader, -ENOMEM, "out of memory");
		free(section.pattern);
		return;
	}
	config->sections = larger;
	reader->section = &config->sections[config->nr_sections++];
	*reader->section = section;
}

/* Of "[name] ; comment" the name, to the last bracket before the comment. */
static void read_header(struct reader *reader, const char *line, size_t len)
{
	const char *comment = memmem(line, len, " ;", 2);
	const char *close;

	if (comment)
		len = comment - line;
	close = memrchr(line, ']', len);
	if (!close) {
		fail(reader, -EINVAL, "%.*s: expected ] at the end", (int)len,
		     line);
		return;
	}
	start_section(reader, line + 1, close - line - 1);
}

/* libinih's reader, as fgets(): the next line into @buffer, NULL at the end. */
static char *read_line(char *buffer, int size, void *stream)
{
	struct reader *reader = stream;
	const char *line = reader->next;
	size_t len;

	if (!*line || reader->r < 0)
		return NULL;
	reader->line++;
	len = strcspn(line, "\n");
	reader->next = line + len + (line[len] == '\n');
	/* Blanks at the start would make it the continuation of a value. */
	while (len && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	if (len && *line == '[') {
		read_header(reader, line, len);
		return strcpy(buffer, "[]\n");
	}
	if (len && (*line == '#' || *line == ';'))
		return strcpy(buffer, "\n");
	if (len + 2 > (size_t)size) {
		fail(reader, -EINVAL, "expected a line of at most %d bytes",
		     size - 2);
		return NULL;
	}
	memcpy(buffer, line, len);
	strcpy(buffer + len, "\n");
	return buffer;
}

/* libinih's handler of a pair; 0 says that it is wrong. */
static int read_pair(void *user, const char *section_name, const char *name,
		     const char *value)
{
	struct reader *reader = user;
	static const char *const words[] = {
		[KIND_DAEMON] = "daemon",
		[KIND_DEVICE] = "device ",
		[KIND_CGROUP] = "cgroup ",
	};
	struct section *section = reader->section;
	const char *expected;
	int r;

	/* Taken by read_header(). */
	(void)section_name;
	if (reader->r < 0)
		return 0;
	if (!section) {
		fail(reader, -EINVAL,
		     "%s: expected [daemon], [device NAME] or [cgroup GLOB] before the first key",
		     name);
		return 0;
	}
	r = conf_key_set(section->kind, name, value, &section->values,
			 &section->set, &expected);
	if (r == -ENOENT)
		fail(reader, -EINVAL, "[%s%s] %s: no key of this section",
		     words[section->kind], section->pattern, name);
	else if (r < 0)
		fail(reader, -EINVAL, "[%s%s] %s: \"%s\": expected %s",
		     words[section->kind], section->pattern, name, value,
		     expected);
	return r >= 0;
}

/* @shown is the file's whole name, for messages. */
static int read_file(struct config *config, const struct zf_path *root,
		     const char *name, const char *shown, char **ret_error)
{
	_cleanup_free_ char *text = NULL;
	struct reader reader = { .config = config };
	size_t len;
	int r;

	r = zf_path_read(root, name, &text, &len);
	if (r < 0) {
		if (asprintf(ret_error, "%s: %s", shown, strerror(-r)) < 0)
			return -ENOMEM;
		return r;
	}
	reader.next = text;
	r = ini_parse_stream(read_line, &reader, read_pair, &reader);
	if (r > 0 && (reader.r >= 0 || r < reader.error_line)) {
		reader.r = 0;
		free(reader.error);
		reader.line = r;
		fail(&reader, -EINVAL, "expected KEY = VALUE or [SECTION]");
	}
	if (reader.r >= 0 && strlen(text) != len) {
		reader.line++;
		fail(&reader, -EINVAL, "expected text, found a NUL byte");
	}
	if (reader.r < 0) {
		if (!reader.error ||
		    asprintf(ret_error, "%s:%d: %s", shown, reader.error_line,
			     reader.error) < 0)
			reader.r = -ENOMEM;
		free(reader.error);
	}
	return reader.r;
}

/* ---- values that must fit each other ---- */

static int check_policy(const struct section *section,
			const struct policy *policy, char **ret_error)
{
	const char *wrong = policy_check(policy);

	if (!wrong)
		return 0;
	if (asprintf(ret_error, "[cgroup %s] %s", section->pattern, wrong) < 0)
		return -ENOMEM;
	return -EINVAL;
}

/*
 * Which cgroups there will be is not known. Each section is checked with what
 * it inherits when its pattern is taken for a path, which finds the sections
 * that are wider than it.
 */
static int finish(struct config *config, char **ret_error)
{
	int r;

	sort_sections(config);
	config->settings = settings_default;
	for (size_t i = 0; i < config->nr_sections; i++) {
		const struct section *section = &config->sections[i];
		struct policy policy;

		if (section->kind == KIND_DAEMON)
			apply(section, &config->settings);
		if (section->kind != KIND_CGROUP)
			continue;
		policy = config_policy(config, section->pattern);
		r = check_policy(section, &policy, ret_error);
		if (r < 0)
			return r;
	}
	if (config->settings.pool_low > config->settings.pool_high) {
		*ret_error = strdup("[daemon] pool_low: expected at most pool_high");
		return *ret_error ? -EINVAL : -ENOMEM;
	}
	return 0;
}

/* ---- main API ---- */

int config_load(const struct zf_path *root, struct config **ret_config,
		char **ret_error)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_(conf_files_done) struct conf_files files = { 0 };
	int r;

	config = calloc(1, sizeof(*config));
	if (!config)
		return -ENOMEM;
	r = conf_files_find(root, &files);
	for (size_t i = 0; r >= 0 && i < files.nr; i++) {
		_cleanup_free_ char *shown = NULL;

		if (asprintf(&shown, "/%s", files.names[i]) < 0) {
			shown = NULL;
			return -ENOMEM;
		}
		r = read_file(config, root, files.names[i], shown, ret_error);
	}
	if (r >= 0)
		r = finish(config, ret_error);
	if (r < 0)
		return r;
	*ret_config = zf_take_ptr(config);
	return 0;
}

int config_load_file(const char *name, struct config **ret_config,
		     char **ret_error)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_(zf_path_freep) struct zf_path *dir = NULL;
	_cleanup_free_ char *dir_copy = strdup(name);
	_cleanup_free_ char *base_copy = strdup(name);
	int r;

	config = calloc(1, sizeof(*config));
	if (!config || !dir_copy || !base_copy)
		return -ENOMEM;
	r = zf_path_open(dirname(dir_copy), &dir);
	if (r < 0) {
		if (asprintf(ret_error, "%s: %s", name, strerror(-r)) < 0)
			return -ENOMEM;
		return r;
	}
	r = read_file(config, dir, basename(base_copy), name, ret_error);
	if (r >= 0)
		r = finish(config, ret_error);
	if (r < 0)
		return r;
	*ret_config = zf_take_ptr(config);
	return 0;
}
