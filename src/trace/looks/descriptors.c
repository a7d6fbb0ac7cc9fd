// SPDX-License-Identifier: MIT
//
// Reads descriptors.jsonl. A name that says only the kind of file and a number of the
// kernel's ("anon_inode:[eventpoll]") counts as no name. A line without a name is kept where it says what is
// unread, or that a timer is disarmed.
#include "trace/looks/descriptors.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/text.h"

static bool is_number(const char *name)
{
	static const char *const kinds[] = {"socket:[", "pipe:[", "anon_inode:"};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(name, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

static int line(void *ctx, const json_t *o)
{
	struct descriptors *d = ctx;
	const char *name = json_string_value(json_object_get(o, "name"));
	const json_t *unread = json_object_get(o, "unread");
	bool named = name && !is_number(name), asked = json_is_integer(unread);
	bool disarmed = json_is_true(json_object_get(o, "disarmed"));
	if (!named && !asked && !disarmed)
		return 0;
	int r = GROW(d->v, d->n, d->room);
	char *own = named && !r ? strdup(name) : NULL;
	if (r || (named && !own))
		return r ? r : -ENOMEM;
	if (own)
		text_clean(own);
	d->v[d->n++] = (struct descriptor){
		.fd = json_integer_value(json_object_get(o, "fd")),
		.gen = (uint32_t)json_integer_value(json_object_get(o, "gen")),
		.name = own,
		.asked = asked,
		.ready = json_is_true(json_object_get(o, "ready")),
		.unread = json_integer_value(unread),
		.disarmed = disarmed,
		.ns = (uint64_t)json_integer_value(json_object_get(o, "ns")),
		.ready_ns = (uint64_t)json_integer_value(json_object_get(o, "ready_ns")),
	};
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const struct descriptor *x = a, *y = b;
	return x->fd < y->fd ? -1 : x->fd > y->fd;
}

int descriptors_read(struct descriptors *d, int folder, const char *name)
{
	int r = json_each_line(folder, name, line, d, &d->bad_lines);
	if (d->n)
		qsort(d->v, d->n, sizeof(*d->v), by_number);
	return r;
}

void descriptors_deinit(struct descriptors *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].name);
	free(d->v);
	*d = (struct descriptors){0};
}

const struct descriptor *descriptors_find(const struct descriptors *d, int64_t fd, uint32_t gen)
{
	const struct descriptor key = {.fd = fd};
	const struct descriptor *is = d->n ? bsearch(&key, d->v, d->n, sizeof(key), by_number) : NULL;
	return is && is->gen == gen ? is : NULL;
}

const char *descriptors_name(const struct descriptors *d, int64_t fd, uint32_t gen)
{
	const struct descriptor *is = descriptors_find(d, fd, gen);
	return is ? is->name : NULL;
}
