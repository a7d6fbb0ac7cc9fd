// SPDX-License-Identifier: MIT
//
// Incidents: events that cannot be undone, kept in the region's table (ctp.h), one entry for
// each rule, entity and stack. They are rare, as callers have already checked that something
// is wrong. There is no lock: an entry is taken by compare-and-swap. Two threads with the same
// key may both find it empty and leave two entries, which the reader adds up.
#include "preload/coroutine/incident.h"

#include "preload/coroutine/coroutine.h"
#include "preload/guest/coredump_advise.h"

static uint64_t hash(const struct ctp_incident *i)
{
	uint64_t h = (i->who << 24 ^ i->stack) * 0x9e3779b97f4a7c15ULL ^ i->rule;
	return (h ^ h >> 29) * 0xbf58476d1ce4e5b9ULL >> 20;
}

static bool same(const struct ctp_incident *a, const struct ctp_incident *b)
{
	return a->rule == b->rule && a->who == b->who && a->stack == b->stack;
}

static void again(struct ctp_incident *e, const struct ctp_incident *i)
{
	ctp_add64(&e->count, 1);
	ctp_store64(&e->last, i->time);
	if (i->value[0] > ctp_load64(&e->value[0]))
		for (int k = 3; k >= 0; k--)
			ctp_store64(&e->value[k], i->value[k]);
}

static bool may_add(struct ctp_ext *ext, unsigned rule)
{
	return rule < sizeof(ext->incidents) / sizeof(ext->incidents[0]) &&
	       ext->incidents[rule] < CTP_INCIDENTS_EACH;
}

struct ctp_incident *incident_note(struct thread_ctx *g, struct ctp_incident *i)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint64_t at = hash(i);
	if (!coroutine_any() || ctp_tracer->v1)
		return NULL;
	i->time = i->last = guest_now();
	i->count = 1;
	i->thread = g->slot;
	i->ready = CTP_CAND_FILLING;
	coredump_advise_grow(COREDUMP_INCIDENTS, r->incidents_max);
	for (unsigned k = 0; k < CTP_INCIDENT_PROBES; k++) {
		struct ctp_incident *e = &r->incidents[(at + k) & (r->incidents_max - 1)];
		uint32_t ready = ctp_load32(&e->ready); // partner: the store below
		if (ready == CTP_CAND_READY && same(e, i)) {
			again(e, i);
			return e;
		}
		if (ready != CTP_CAND_EMPTY || !may_add(r->ext, i->rule))
			continue;
		if (!ctp_cas32(&e->ready, CTP_CAND_EMPTY, CTP_CAND_FILLING))
			continue;
		r->ext->incidents[i->rule]++; // about: it only keeps one rule from taking the table
		*e = *i;
		ctp_store32(&e->ready, CTP_CAND_READY);
		emit_wake();
		return e;
	}
	ctp_add32(&r->ext->incidents_lost, 1);
	return NULL;
}
