// SPDX-License-Identifier: MIT
//
// The record of a switch has the outgoing coroutine's stack and the number of its state
// change. A later change of that coroutine shows that it was resumed from there.
#include "trace/resumed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ctp/record.h"
#include "trace/stream/stream.h"

#define STACKS_SHORT (1u << CTP_SHORT_STACK_BITS)

struct looking {
	const struct image *image;
	struct resumed *v;
	size_t n, unseen;
	uint64_t done, total; // bytes
	uint8_t *wanted;      // a bit for each stack that a short record can name
};

static bool is_wanted(const struct looking *l, uint64_t stack)
{
	return l->wanted[stack / 8] >> stack % 8 & 1;
}

static int by_stack(const void *a, const void *b)
{
	const struct resumed *x = a, *y = b;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void inspect_record(struct looking *l, const struct ctp_event *e)
{
	struct resumed key = {.stack = e->stack};
	struct resumed *is =
		l->n && e->kind == CTP_EV_SWITCH ? bsearch(&key, l->v, l->n, sizeof(key), by_stack) : NULL;
	if (!is || is->seen || !key.stack)
		return;
	const struct ctp_state *s = image_entity(l->image, e->a);
	is->seen = s && s->entity == CTP_COROUTINE && ((s->changes ^ e->a_n) & CTP_SHORT_MASK);
	l->unseen -= is->seen;
	if (is->seen && e->stack < STACKS_SHORT)
		l->wanted[e->stack / 8] &= (uint8_t) ~(1u << e->stack % 8);
}

// Events are made of few: most records are of a stack that nobody asks for.
static void inspect_slots(struct looking *l, struct ctp_cursor *c, const struct ctp_record *r, size_t n)
{
	for (size_t i = 0; i < n;) {
		struct ctp_event e;
		if (ctp_kind_is_short(ctp_record_kind(r + i)) &&
		    !is_wanted(l, r[i].w1 >> CTP_SHORT_BITS & (STACKS_SHORT - 1))) {
			ctp_cursor_pass(c, r + i++);
			continue;
		}
		unsigned took = ctp_record_read(c, r + i, n - i, &e);
		if (took)
			inspect_record(l, &e);
		i += took ? took : 1;
	}
}

static int one_stream(const struct world *w, struct looking *l, const struct world_stream *s)
{
	struct stream_reader *reader;
	const struct stream_packet *p;
	struct ctp_cursor *cursor;
	const void *slots;
	size_t n;
	int r = world_stream_open(&reader, w, s);
	if (r)
		return r;
	while (l->unseen && (r = stream_slots(reader, &p, &slots, &n, &cursor)) > 0) {
		if (p->stream_id == STREAM_THREADS)
			inspect_slots(l, cursor, slots, n);
		world_progress(w, l->done += n * sizeof(struct ctp_record), l->total);
	}
	stream_close(reader);
	return r < 0 ? r : 0;
}

static void want(struct looking *l, const struct world *w)
{
	qsort(l->v, l->n, sizeof(*l->v), by_stack);
	for (size_t i = 0; i < l->n; i++) {
		uint32_t stack = l->v[i].stack;
		bool unseen = stack && !l->v[i].seen;
		l->unseen += unseen;
		if (unseen && stack < STACKS_SHORT)
			l->wanted[stack / 8] |= (uint8_t)(1u << stack % 8);
	}
	for (size_t i = 0; i < w->nstreams; i++)
		l->total += w->streams[i].whole_bytes;
}

int resumed_read(const struct world *w, const struct image *m, struct resumed *v, size_t n)
{
	struct looking l = {m, v, n};
	int r = 0;
	if (w->nimages != 1) // ids and stacks of several would be mixed up
		return 0;
	l.wanted = calloc(STACKS_SHORT / 8, 1);
	if (!l.wanted)
		return -ENOMEM;
	want(&l, w);
	for (size_t i = 0; !r && l.unseen && i < w->nstreams; i++)
		if (strcmp(file_base(w->streams[i].path), "v1") && !file_refused(w->streams[i].error))
			r = one_stream(w, &l, &w->streams[i]);
	free(l.wanted);
	return r;
}
