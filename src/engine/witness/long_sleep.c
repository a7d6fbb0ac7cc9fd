// SPDX-License-Identifier: MIT
//
// How long a thread has been in the wait of its loop follows from the looks that found it in the same one
// (wait_seq): never too long.
#include "engine/witness/long_sleep.h"

#include <stdlib.h>
#include <string.h>

#include "ctp/polled.h"
#include "ctp/seq.h"

enum { TIMES = 10 };

static bool make_room(struct long_sleep *s, uint32_t n)
{
	if (n <= s->n)
		return true;
	struct long_sleep_thread *more = realloc(s->v, n * sizeof(*more));
	if (!more)
		return false;
	memset(more + s->n, 0, (n - s->n) * sizeof(*more));
	s->v = more;
	s->n = n;
	return true;
}

static void note(struct long_sleep_thread *m, const struct ctp_thread *t, uint64_t now_ns)
{
	uint64_t seq = ctp_load64(&t->wait_seq);
	uint32_t uses = ctp_load32(&t->uses) + 1;
	if (m->uses != uses)
		*m = (struct long_sleep_thread){.uses = uses};
	else if (m->wait_seq == seq && m->since_ns)
		return;
	if (m->since_ns && now_ns - m->since_ns > m->longest_ns)
		m->longest_ns = now_ns - m->since_ns;
	m->wait_seq = seq;
	m->since_ns = ctp_loop_waits(t) ? now_ns : 0;
}

void long_sleep_note(struct long_sleep *s, const struct ctp_region *r, uint64_t now_ns)
{
	uint32_t n = ctp_load32(&r->ext->thread_high);
	n = n > r->threads_max ? r->threads_max : n;
	if (!make_room(s, n))
		return;
	for (uint32_t i = 0; i < n; i++)
		if (ctp_load32(&r->threads[i].life) == CTP_THREAD_LIVE)
			note(&s->v[i], &r->threads[i], now_ns);
}

void long_sleep_deinit(struct long_sleep *s)
{
	free(s->v);
	*s = (struct long_sleep){0};
}

bool long_sleep_now(const struct long_sleep *s, const struct ctp_region *r, uint64_t now_ns)
{
	uint32_t n = ctp_load32(&r->ext->thread_high), threads = 0;
	for (uint32_t i = 0; i < n && i < r->threads_max; i++) {
		const struct ctp_thread *t = &r->threads[i];
		if (ctp_load32(&t->life) != CTP_THREAD_LIVE || (!t->polls && !t->sets && !t->switches))
			continue;
		const struct long_sleep_thread *m = i < s->n ? &s->v[i] : NULL;
		if (!m || m->uses != t->uses + 1 || !m->since_ns || m->wait_seq != ctp_load64(&t->wait_seq) ||
		    now_ns - m->since_ns < LONG_SLEEP_AT_LEAST_NS ||
		    now_ns - m->since_ns < TIMES * m->longest_ns)
			return false;
		threads++;
	}
	return threads > 0;
}
