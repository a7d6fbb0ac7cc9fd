// SPDX-License-Identifier: MIT
//
// Locks that a coroutine held when it was suspended. A lock that is unlocked by another
// coroutine than the one that locked it is handed over by design (a scheduler's own, which the
// next context releases): such a lock is never reported again. Any other is an incident
// (CTP019) that says whether the lock was released since, and whether somebody had to wait for
// it. The table has a few hundred locks, by address, and no lock of its own; a lock that finds
// no place is not reported.
#include "preload/fds/held.h"

#include "ctp/rules.h"
#include "preload/coroutine/incident.h"

enum { HELD = 512, PROBES = 8 };

struct held {
	uint64_t lock; // taken by compare-and-swap
	uint64_t who;  // coroutine; 0: nobody now
	struct ctp_incident *incident;
	bool handed, waited;
};

// What an incident of CTP019 keeps in value[] (spec/cTP.md).
enum { VALUE_TIME, VALUE_LOCK, VALUE_WAITED, VALUE_RELEASED };

uint32_t held_count;
static struct held table[HELD];

static struct held *slot_of(const void *lock, unsigned probe)
{
	uint64_t h = (uint64_t)lock * 0x9e3779b97f4a7c15ULL >> 40;
	return &table[(h + probe) % HELD];
}

static struct held *find(const void *lock)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct held *h = slot_of(lock, i);
		uint64_t is = ctp_load64(&h->lock);
		if (is == (uint64_t)lock)
			return h;
		if (!is)
			break;
	}
	return NULL;
}

// Its entry, or one that nobody needs any more.
static struct held *take(const void *lock)
{
	struct held *h = find(lock);
	for (unsigned i = 0; !h && i < PROBES; i++) {
		struct held *at = slot_of(lock, i);
		uint64_t is = ctp_load64(&at->lock);
		if ((is && (ctp_load64(&at->who) || at->handed)) || !ctp_cas64(&at->lock, is, (uint64_t)lock))
			continue;
		at->handed = at->waited = false;
		h = at;
	}
	return h;
}

void held_suspend(struct thread_ctx *g, const struct ctp_state *s)
{
	for (unsigned i = 0; i < g->nlocks && s->entity == CTP_COROUTINE; i++) {
		struct held *h = take(g->locks[i]);
		if (!h || h->handed)
			continue;
		struct ctp_incident n = {
			.rule = RULE_HELD, .fd = -1, .who = s->id, .stack = s->stack, .call = CTP_BLOCK_LOCK};
		n.flags = g->nwaits || g->eagain ? CTP_HELD_WAITS : 0;
		n.value[VALUE_TIME] = s->since;
		n.value[VALUE_LOCK] = (uint64_t)g->locks[i];
		n.value[VALUE_WAITED] = h->waited;
		ctp_store_ptr(&h->incident, incident_note(g, &n));
		uint64_t was = ctp_load64(&h->who);
		while (!ctp_cas64(&h->who, was, s->id))
			was = ctp_load64(&h->who);
		if (!was)
			ctp_add32(&held_count, 1);
	}
}

void held_release(const void *lock, uint64_t who)
{
	struct held *h = find(lock);
	uint64_t by = h ? ctp_load64(&h->who) : 0;
	if (!by || !ctp_cas64(&h->who, by, 0))
		return;
	ctp_add32(&held_count, UINT32_MAX);
	struct ctp_incident *i = ctp_load_ptr(&h->incident);
	if (by != who)
		h->handed = true;
	if (i && ctp_load64(&i->value[VALUE_LOCK]) == (uint64_t)lock)
		ctp_store64(&i->value[VALUE_RELEASED], by == who ? 1 : 2);
}

struct held *held_find(const void *lock, uint64_t *who)
{
	struct held *h = find(lock);
	*who = h ? ctp_load64(&h->who) : 0;
	return *who && !h->handed ? h : NULL;
}

void held_waited(struct held *h, uint64_t who)
{
	struct ctp_incident *i = ctp_load_ptr(&h->incident);
	if (h->handed || !i || i->who != who)
		return;
	h->waited = true;
	ctp_store64(&i->value[VALUE_WAITED], 1);
}
