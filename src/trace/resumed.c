// SPDX-License-Identifier: MIT
//
// A record of a switch names the leaver's stack, and its number of state
// changes as of then. If it has made more since, it was resumed from there.
#include "trace/resumed.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ctp/record.h"
#include "trace/stream.h"

static int by_stack(const void *a, const void *b)
{
	const struct resumed *x = a, *y = b;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static void look_at(const struct image *m, const struct ctp_event *e, struct resumed *v, size_t n)
{
	if (e->kind != CTP_EV_SWITCH)
		return;
	struct resumed key = { .stack = e->stack }, *is = bsearch(&key, v, n, sizeof(*v), by_stack);
	if (!is || is->seen || !key.stack)
		return;
	const struct ctp_state *s = image_entity(m, e->a);
	is->seen = s && s->entity == CTP_COROUTINE && ((s->changes ^ e->a_n) & CTP_SHORT_MASK);
	for (struct resumed *k = v; k < v + n; k++) // coroutines that stand at the same place
		k->seen |= is->seen && k->stack == key.stack;
}

static int one_stream(const struct image *m, const char *path, struct resumed *v, size_t n)
{
	struct stream_reader *reader;
	const struct stream_packet *p;
	const void *records;
	size_t got;
	int r = stream_open(&reader, path);
	if (r)
		return r;
	while ((r = stream_next(reader, &p, &records, &got)) > 0)
		for (size_t i = 0; p->stream_id == STREAM_THREADS && i < got; i++)
			look_at(m, (const struct ctp_event *)records + i, v, n);
	stream_close(reader);
	return r;
}

int resumed_read(const struct world *w, const struct image *m, struct resumed *v, size_t n)
{
	int r = 0;
	if (w->nimages != 1) // ids and stacks of several would be mixed up
		return 0;
	qsort(v, n, sizeof(*v), by_stack);
	for (size_t i = 0; !r && n && i < w->nstreams; i++)
		if (strcmp(file_base(w->streams[i].path), "v1"))
			r = one_stream(m, w->streams[i].path, v, n);
	return r;
}
