// SPDX-License-Identifier: MIT
//
// The manifest is replaced as a whole (rename), so a reader sees either the first one or the
// last one. Its first key identifies a directory as a ctp trace.
#include "engine/record/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "ctp/ctp.h"
#include "codec/pack.h"

// Names need not be UTF-8, JSON must be.
static json_t *text(const char *s)
{
	json_t *j = json_string(s);
	char *plain = j ? NULL : strdup(s);
	for (char *p = plain; p && *p; p++)
		if (*p & 0x80)
			*p = '?';
	if (plain)
		j = json_string(plain);
	free(plain);
	return j;
}

static json_t *number(uint64_t v)
{
	return json_integer((json_int_t)v);
}

static json_t *number_or_null(uint64_t v)
{
	return v ? number(v) : json_null();
}

static json_t *event(uint64_t ns, const char *key, const char *word)
{
	json_t *j = json_object();
	if (!ns) {
		json_decref(j);
		return json_null();
	}
	json_object_set_new(j, "ns", number(ns));
	json_object_set_new(j, key, json_string(word));
	return j;
}

static json_t *images(const struct manifest *m)
{
	json_t *list = json_array();
	for (unsigned i = 0; i < m->n_images; i++) {
		const struct manifest_image *im = &m->images[i];
		json_t *j = json_object();
		json_object_set_new(j, "index", number(im->index));
		json_object_set_new(j, "process", number(im->process));
		json_object_set_new(j, "pid", number((uint64_t)im->pid));
		json_object_set_new(j, "parent", number((uint64_t)im->parent));
		json_object_set_new(j, "exe", text(im->exe));
		json_object_set_new(j, "attached_ns", number_or_null(im->attached_ns));
		json_object_set_new(j, "guest", json_boolean(im->guest));
		if (im->process) {
			json_object_set_new(j, "snapshot",
					    event(im->snapshot_ns, "reason", im->snapshot_reason));
			json_object_set_new(j, "term_forwarded_ns", number_or_null(im->term_forwarded_ns));
		}
		json_array_append_new(list, j);
	}
	return list;
}

static json_t *clock_json(const struct clock_pairs *c)
{
	json_t *j = json_object();
	json_object_set_new(j, "kind", json_string(c->tsc ? "tsc" : "monotonic"));
	json_object_set_new(j, "ticks0", number(c->ticks0));
	json_object_set_new(j, "ns0", number(c->ns0));
	json_object_set_new(j, "ticks1", number(c->ticks1));
	json_object_set_new(j, "ns1", number(c->ns1));
	json_object_set_new(j, "wall_ns0", number(c->real0));
	return j;
}

// What tells this run from all others.
static void add_identity(json_t *j, const struct manifest *m)
{
	const struct identity *id = m->identity;
	char uuid[IDENTITY_UUID_TEXT], time[IDENTITY_TIME_TEXT];
	identity_uuid_text(id, uuid);
	identity_time_text(id, time);
	json_object_set_new(j, "uuid", json_string(uuid));
	if (m->part)
		json_object_set_new(j, "part", number(m->part));
	json_object_set_new(j, "host", text(id->host));
	json_object_set_new(j, "boot_id", text(id->boot_id));
	json_object_set_new(j, "started", json_string(time));
}

static json_t *flight(const struct manifest *m)
{
	json_t *j = json_object();
	json_object_set_new(j, "bytes", number(m->flight_bytes));
	json_object_set_new(j, "kept", number(m->flight_kept));
	json_object_set_new(j, "not_kept", number(m->flight_not_kept));
	return j;
}

static json_t *build(const struct manifest *m)
{
	char line[1024];
	json_t *j = json_object(), *list = json_array();
	for (char **p = m->command; p && *p && (m->record_args || p == m->command); p++)
		json_array_append_new(list, text(*p));
	json_object_set_new(j, "format", json_string("ctp-trace"));
	json_object_set_new(j, "version", number(1));
	json_object_set_new(j, "layout", number(CTP_EXT_VERSION));
	json_object_set_new(j, "tool", json_string("ctp-run " CTP_TOOL_VERSION));
	if (m->compressed)
		json_object_set_new(j, "compressed", number(PACK_WAY));
	json_object_set_new(j, "complete", json_boolean(m->complete));
	add_identity(j, m);
	json_object_set_new(j, "command", list);
	json_object_set_new(j, "exe", text(m->n_images ? m->images[0].exe : ""));
	json_object_set_new(j, "pid", number((uint64_t)m->pid));
	json_object_set_new(j, "clock", clock_json(m->clock));
	json_object_set_new(j, "snapshot", event(m->snapshot_ns, "reason", m->snapshot_reason));
	json_t *ended = event(m->ended_ns, "how", m->ended_how);
	if (m->ended_ns)
		json_object_set_new(ended, "code", json_integer(m->ended_code));
	json_object_set_new(j, "ended", ended);
	json_object_set_new(j, "images", images(m));
	json_object_set_new(j, "term_forwarded_ns", number_or_null(m->term_forwarded_ns));
	json_object_set_new(j, "dropped_packets", number(m->dropped_packets));
	json_object_set_new(j, "dropped_records", number(m->dropped_records));
	json_object_set_new(j, "v1_lost", number(m->v1_lost));
	if (m->v1_unplaced)
		json_object_set_new(j, "v1_unplaced", number(m->v1_unplaced));
	if (m->pauses)
		json_object_set_new(
			j, "pauses",
			json_pack("{s:I, s:I, s:I}", "times", (json_int_t)m->pauses, "ns",
				  (json_int_t)m->paused_ns, "records", (json_int_t)m->paused_records));
	if (m->flight_bytes)
		json_object_set_new(j, "flight", flight(m));
	list = json_array();
	for (unsigned i = 0; i < m->n_coverage; i++)
		json_array_append_new(list, text(m->coverage[i]));
	if (m->modules->n) {
		module_scan_text(m->modules, line, sizeof(line));
		json_array_append_new(list, text(line));
	}
	json_object_set_new(j, "coverage", list);
	list = json_array();
	for (size_t i = 0; i < m->modules->n; i++)
		if (module_scan_hidden(m->modules, i, line, sizeof(line)))
			json_array_append_new(list, text(line));
	json_object_set_new(j, "unseen", list);
	return j;
}

int manifest_write(const struct manifest *m, int dir)
{
	json_t *j = build(m);
	char *s = json_dumps(j, JSON_COMPACT);
	json_decref(j);
	if (!s)
		return -ENOMEM;
	size_t n = strlen(s);
	s[n++] = '\n'; // in the place of the NUL
	int r = 0, fd = openat(dir, "ctp/trace.json.tmp",
			       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	ssize_t done = fd < 0 ? -1 : write(fd, s, n);
	if (done != (ssize_t)n)
		r = done < 0 ? -errno : -ENOSPC;
	free(s);
	if (fd >= 0 && close(fd) < 0 && !r)
		r = -errno;
	if (!r && renameat(dir, "ctp/trace.json.tmp", dir, "ctp/trace.json") < 0)
		r = -errno;
	return r;
}
