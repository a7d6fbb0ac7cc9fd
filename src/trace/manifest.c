// SPDX-License-Identifier: MIT
//
// Reads ctp/trace.json. Only the keys that ctp-analyze needs are kept. A key with a
// value of another type counts as missing.
#include "trace/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define MANIFEST_MOST (256u << 20)

static uint64_t get_u64(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));
	return v > 0 ? (uint64_t)v : 0;
}

// The snapshot that `o` tells of. 0 or -ENOMEM.
static int read_snapshot(const json_t *o, uint64_t *ns, char **reason)
{
	const json_t *snapshot = json_object_get(o, "snapshot");
	const char *word = json_string_value(json_object_get(snapshot, "reason"));
	*ns = get_u64(snapshot, "ns");
	return word && !(*reason = strdup(word)) ? -ENOMEM : 0;
}

// A copy of the text that the key has. 0 or -ENOMEM; a key that is not there leaves NULL.
static int read_text(char **to, const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s && !(*to = strdup(s)) ? -ENOMEM : 0;
}

static int read_identity(struct manifest *m, const json_t *root)
{
	const json_t *labels = json_object_get(root, "labels");
	if (json_is_object(labels) && !(m->labels = json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS)))
		return -ENOMEM;
	m->part = (unsigned)get_u64(root, "part");
	m->wall_ns0 = get_u64(json_object_get(root, "clock"), "wall_ns0");
	return read_text(&m->uuid, root, "uuid") || read_text(&m->tool, root, "tool") ||
			       read_text(&m->host, root, "host") || read_text(&m->boot_id, root, "boot_id") ||
			       read_text(&m->started, root, "started") ?
		     -ENOMEM :
		     0;
}

static int read_images(struct manifest *m, const json_t *a)
{
	size_t n = json_array_size(a);
	m->images = calloc(n ? n : 1, sizeof(*m->images));
	if (!m->images)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const json_t *o = json_array_get(a, i);
		uint64_t index = get_u64(o, "index"), process = get_u64(o, "process");
		if (index > 1000000 || process > UINT32_MAX)
			return -EPROTO;
		struct manifest_image *im = &m->images[m->nimages++];
		*im = (struct manifest_image){
			.index = (unsigned)index,
			.process = (unsigned)process,
			.pid = get_u64(o, "pid"),
			.attached_ns = get_u64(o, "attached_ns"),
			.term_forwarded_ns = get_u64(o, "term_forwarded_ns"),
		};
		const char *exe = json_string_value(json_object_get(o, "exe"));
		if (read_snapshot(o, &im->snapshot_ns, &im->snapshot_reason) ||
		    (exe && !(im->exe = strdup(exe))))
			return -ENOMEM;
	}
	return 0;
}

static int read_strings(char ***to, size_t *used, const json_t *a)
{
	size_t n = json_array_size(a);
	char **v = *to = calloc(n ? n : 1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const char *s = json_string_value(json_array_get(a, i));
		if (s && !(v[(*used)++] = strdup(s)))
			return -ENOMEM;
	}
	return 0;
}

static int ended_signal(const json_t *ended)
{
	const char *how = json_string_value(json_object_get(ended, "how"));
	if (how && !strcmp(how, "signal"))
		return (int)get_u64(ended, "code");
	return how && !strcmp(how, "exit") ? 0 : -1;
}

// Its words with blanks between, for people.
static char *joined(const json_t *words)
{
	size_t i, bytes = 1;
	const json_t *word;
	json_array_foreach(words, i, word) bytes += json_string_length(word) + 1;
	char *out = json_array_size(words) ? calloc(1, bytes) : NULL, *at = out;
	json_array_foreach(words, i, word) if (at && json_is_string(word))
		at += sprintf(at, "%s%s", at > out ? " " : "", json_string_value(word));
	return out;
}

static int manifest_fill(struct manifest *m, const json_t *root)
{
	const char *format = json_string_value(json_object_get(root, "format"));
	if (!format || strcmp(format, "ctp-trace"))
		return -EPROTO;
	m->complete = json_is_true(json_object_get(root, "complete"));
	m->layout = (uint32_t)get_u64(root, "layout");
	const json_t *compressed = json_object_get(root, "compressed");
	m->compressed = json_is_true(compressed) ? 1 : (uint32_t)json_integer_value(compressed);
	m->command = joined(json_object_get(root, "command"));
	const json_t *clock = json_object_get(root, "clock");
	const char *kind = json_string_value(json_object_get(clock, "kind"));
	m->ticks0 = get_u64(clock, "ticks0");
	m->ns0 = get_u64(clock, "ns0");
	m->ticks1 = get_u64(clock, "ticks1");
	m->ns1 = get_u64(clock, "ns1");
	m->ticks_are_ns = !kind || strcmp(kind, "tsc") || m->ticks1 <= m->ticks0 || m->ns1 <= m->ns0;
	if (read_snapshot(root, &m->snapshot_ns, &m->snapshot_reason) || read_identity(m, root))
		return -ENOMEM;
	m->term_forwarded_ns = get_u64(root, "term_forwarded_ns");
	m->ended_signal = ended_signal(json_object_get(root, "ended"));
	m->dropped_packets = get_u64(root, "dropped_packets");
	m->dropped_records = get_u64(root, "dropped_records");
	m->v1_lost = get_u64(root, "v1_lost");
	m->paused_records = get_u64(json_object_get(root, "pauses"), "records");
	m->v1_unplaced = get_u64(root, "v1_unplaced");
	m->flight = json_is_object(json_object_get(root, "flight"));
	int r = read_images(m, json_object_get(root, "images"));
	r = r ? r : read_strings(&m->argv, &m->nargv, json_object_get(root, "command"));
	r = r ? r : read_strings(&m->coverage, &m->ncoverage, json_object_get(root, "coverage"));
	return r ? r : read_strings(&m->unseen, &m->nunseen, json_object_get(root, "unseen"));
}

json_t *manifest_load(int folder, int *why)
{
	char *text = NULL;
	size_t bytes;
	int fd = file_open(folder, "trace.json", O_NOFOLLOW);
	int r = fd < 0 ? fd : file_text(fd, MANIFEST_MOST, &text, &bytes);
	json_t *root = r ? NULL : json_loadb(text, bytes, 0, NULL);
	if (fd >= 0)
		close(fd);
	free(text);
	*why = r ? r : root ? 0 : -EPROTO;
	return root;
}

int manifest_read(struct manifest *m, int folder)
{
	int why;
	json_t *root = manifest_load(folder, &why);
	if (!root)
		return why;
	struct manifest got = {0};
	int r = manifest_fill(&got, root);
	json_decref(root);
	if (r)
		manifest_deinit(&got);
	else
		*m = got;
	return r;
}

void manifest_deinit(struct manifest *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->ncoverage; i++)
		free(m->coverage[i]);
	free(m->coverage);
	for (size_t i = 0; i < m->nunseen; i++)
		free(m->unseen[i]);
	free(m->unseen);
	for (size_t i = 0; i < m->nimages; i++) {
		free(m->images[i].snapshot_reason);
		free(m->images[i].exe);
	}
	free(m->images);
	for (size_t i = 0; i < m->nargv; i++)
		free(m->argv[i]);
	free(m->argv);
	free(m->tool);
	free(m->uuid);
	free(m->labels);
	free(m->host);
	free(m->boot_id);
	free(m->started);
	free(m->command);
	free(m->snapshot_reason);
	memset(m, 0, sizeof(*m));
}

uint64_t manifest_ns(const struct manifest *m, uint64_t ticks)
{
	if (!ticks || m->ticks_are_ns)
		return ticks;
	__int128 ns = (__int128)ticks - m->ticks0;
	ns = ns * (m->ns1 - m->ns0) / (m->ticks1 - m->ticks0) + m->ns0;
	return ns < 1 ? 1 : ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
}
