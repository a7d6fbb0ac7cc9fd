// SPDX-License-Identifier: MIT
//
// Coroutines that are suspended at one place often serve one purpose, and often not. They can be
// told apart, or put together over several places, by who created them, by the name that the
// program gave them, or by the function in which they began. Findings do not change: one for
// each pair of sites.
#include "analyze/report/group_by.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/idmap.h"

static uint64_t hash(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return h;
}

// A thread's own stack has no id before it first switches: then it is known by the thread.
static uint64_t creator_of(const struct image *m, const struct ctp_state *s)
{
	for (size_t i = 0; !s->creator && !(s->flags & CTP_STATE_FOREIGN) && i < m->threads.n; i++)
		if (table_index(&m->threads, i) == s->made >> 48)
			return ((const struct ctp_thread *)table_row(&m->threads, i))->native;
	return s->creator;
}

uint64_t group_by_key(const struct report *r, const struct image *m, const struct ctp_state *s, uint64_t site)
{
	char name[256];
	switch (r->group_by) {
	case GROUP_BY_CREATOR:
		return creator_of(m, s);
	case GROUP_BY_NAME:
		return image_name(m, s->id, name) ? hash(name) : 0;
	case GROUP_BY_ENTRY:
		return hash(report_name(r, m, s, name, sizeof(name))); // what a library's first function runs
	case GROUP_BY_SITE:
		break;
	}
	return site;
}

const char *group_by_label(const struct report *r, const struct image *m, const struct ctp_state *s,
			   char *buf, size_t bytes)
{
	char text[256];
	*buf = 0;
	switch (r->group_by) {
	case GROUP_BY_CREATOR:
		snprintf(buf, bytes, "created by %s", report_who(r, m, creator_of(m, s), text, sizeof(text)));
		break;
	case GROUP_BY_NAME:
		if (image_name(m, s->id, text))
			snprintf(buf, bytes, "\"%s\"", text);
		else
			snprintf(buf, bytes, "without a name");
		break;
	case GROUP_BY_ENTRY:
		report_name(r, m, s, buf, bytes);
		break;
	case GROUP_BY_SITE:
		break;
	}
	return buf;
}

static int by_size(const void *a, const void *b)
{
	const struct group_by_part *x = a, *y = b;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return (x->first->id > y->first->id) - (x->first->id < y->first->id);
}

int group_by_parts(const struct report *r, const struct finding *f, struct group_by_part **out, size_t *n)
{
	struct group_by_part *v = NULL;
	struct idmap seen = {0};
	size_t used = 0, capacity = 0;
	int e = 0;
	for (size_t i = 0; !e && r->group_by != GROUP_BY_SITE && i < f->n; i++) {
		const struct verdict_case *c = f->cases[i];
		const struct ctp_state *s = c->about.state;
		uint64_t key = s ? group_by_key(r, c->about.image, s, 0) : 0;
		key = (key ^ (uint64_t)c->about.image->index << 48) + 1;
		uint32_t at = s ? idmap_get(&seen, key) : IDMAP_NONE;
		if (!s || at != IDMAP_NONE) {
			if (s)
				v[at].n++;
			continue;
		}
		e = GROW(v, used, capacity);
		if (!e)
			e = idmap_set(&seen, key, (uint32_t)used);
		if (!e)
			v[used++] = (struct group_by_part){c, key, 1};
	}
	idmap_deinit(&seen);
	if (e) {
		free(v);
		return e;
	}
	if (used)
		qsort(v, used, sizeof(*v), by_size);
	*out = v;
	*n = used;
	return 0;
}
