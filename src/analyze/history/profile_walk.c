// SPDX-License-Identifier: MIT
//
// Each transition ends an interval: a slice of the outgoing coroutine, or a wait of the incoming one. If
// records were lost within it, it is lost.
#include "analyze/history/profile_own.h"

#include <errno.h>

// An end has no number of its own, which would tell whether moves before it were lost.
static bool unsure(const struct profile *p, const struct transition *m)
{
	return m->kind != CTP_EV_SWITCH && m->kind != CTP_EV_STATION &&
	       (p->world->lost > 0 || p->world->manifest.paused_records > 0);
}

// Since its last move records of it were lost.
static void lost(struct profile *p, const struct transition *m, const struct ctp_merge_entity *e,
		 uint64_t end)
{
	struct profile_site s = profile_about(p, m->image, e, PROFILE_LOST, 0, 0);
	uint64_t ns = e->since_ns ? profile_passed(e->since_ns, m->ns, end) : 0;
	if (!ns)
		return;
	profile_add(p, &s, PROFILE_RUNNING, ns);
	if (!e->native)
		profile_add(p, &s, PROFILE_SUSPENDED, ns);
}

// A slice has ended, by a switch or for good. `mine` is what of it the loop slept.
static void suspends(struct profile *p, const struct transition *m, uint64_t end)
{
	struct ctp_merge_entity *e = m->from;
	struct profile_site s = profile_about(p, m->image, e, PROFILE_STACK, m->stack, m->pc);
	uint64_t ns = profile_passed(e->since_ns, m->ns, end), slept = e->mine < ns ? e->mine : ns;
	e->mine = 0;
	if (m->ns <= end && m->kind != CTP_EV_FINISH && !p->event)
		profile_add(p, &s, PROFILE_COUNT, 1);
	if (m->from_gap || unsure(p, m)) {
		lost(p, m, e, end);
	} else if (e->since_ns && !e->suspended && e->since_ns < end) {
		profile_add(p, &s, PROFILE_RUNNING, ns - slept);
		s = profile_about(p, m->image, e, PROFILE_IDLE, 0, 0);
		if (slept)
			profile_add(p, &s, PROFILE_RUNNING, slept);
	}
}

// An event of the program's own: where who signals it was resumed is the nearest that is known.
static void signalled(struct profile *p, const struct transition *m)
{
	static const struct ctp_merge_entity thread = {.native = true};
	const struct ctp_merge_entity *e = m->from ? m->from : &thread;
	struct profile_site s =
		profile_about(p, m->image, e, m->from ? PROFILE_STACK : PROFILE_STILL, e->stack, e->addr);
	if (m->event->class == p->event)
		profile_add(p, &s, PROFILE_COUNT, 1);
}

// A wait has ended; also for good.
static void resumes(struct profile *p, const struct transition *m, const struct ctp_merge_entity *e, bool gap,
		    uint64_t end)
{
	struct profile_site s = profile_about(p, m->image, e, PROFILE_STACK, e->stack, e->addr);
	if (gap) {
		lost(p, m, e, end);
		return;
	}
	if (!e->suspended || e->native || !e->since_ns || e->since_ns >= end)
		return;
	profile_add(p, &s, PROFILE_SUSPENDED, profile_passed(e->since_ns, m->ns, end));
	if (e->ready_ns && e->ready_ns < end)
		profile_add(p, &s, PROFILE_LATENCY, profile_passed(e->ready_ns, m->ns, end));
}

// What the tables say of it is not so any more, and has been counted here.
static void moved(struct profile *p, const struct ctp_merge_entity *e)
{
	if (e && idmap_set(&p->moved_after, e->id, 0))
		p->r = -ENOMEM;
}

void profile_turned(struct profile *p, uint64_t by, uint64_t ns)
{
	struct profile_loop *l = profile_loop_of(p, by);
	if (l && l->turned_ns < ns)
		l->turned_ns = ns;
}

// Of a loop that has not switched since the history begins, nothing but its sleeps may be known.
static void slept(struct profile *p, const struct transition *m, uint64_t end)
{
	uint64_t from = world_ns(p->world, m->merged->event.time - m->value),
		 since = m->from ? m->from->since_ns : 0;
	struct profile_loop *l = m->from ? NULL : profile_loop_of(p, m->a);
	uint64_t ns = profile_passed(from > since ? from : since, m->ns, end);
	if (m->from) {
		m->from->mine += ns;
	} else if (l) {
		l->slept_ns += ns;
		l->begun_ns = from < l->begun_ns ? from : l->begun_ns;
	}
}

int profile_take(void *arg, const struct transition *m)
{
	struct profile *p = arg;
	uint64_t end = profile_until(p, m->image);
	switch (m->kind) {
	case CTP_EV_SWITCH:
	case CTP_EV_STATION:
		if (m->from)
			suspends(p, m, end);
		if (m->to)
			resumes(p, m, m->to, m->to_gap, end);
		break;
	case CTP_EV_FINISH:
		if (m->from)
			suspends(p, m, end);
		break;
	case CTP_EV_DESTROY:
		if (m->from)
			resumes(p, m, m->from, unsure(p, m), end);
		break;
	case CTP_EV_USER:
		signalled(p, m);
		return p->r;
	case CTP_EV_READY:
		profile_turned(p, m->b, m->ns);
		return p->r;
	case CTP_EV_SLEPT:
		profile_turned(p, m->a, m->ns);
		slept(p, m, end);
		return p->r;
	default:
		return p->r;
	}
	if (m->ns > end) {
		moved(p, m->from);
		moved(p, m->to);
	}
	return p->r;
}
