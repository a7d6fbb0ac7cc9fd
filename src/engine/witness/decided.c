// SPDX-License-Identifier: MIT
//
// ctp-analyze has the last word, with the last tables. What it might see otherwise is not decided here: a
// program that is ending, or may be draining; one that has resumed such a waiter by hand, or gave the stack
// of a suspended coroutine to another; a coroutine that stands in a pool; and the rules whose verdict depends
// on the history, or on what is paused on purpose.
#include "engine/witness/decided.h"

#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/wait_inference.h"
#include "engine/suspects/stuck_wait.h"

// May a signal that it took just now be its end? By then ctp-analyze would know.
static bool asked_lately(const struct ctp_ext *e)
{
	uint64_t asked = ctp_load64(&e->asked_last), ticks = ctp_load64(&e->clock_ticks1);
	double each = (double)(ctp_load64(&e->clock_ns1) - e->clock_ns0) / (double)(ticks - e->clock_ticks0);
	return asked && (ticks <= asked || !((double)(ticks - asked) * each >= CTP_END_NS));
}

bool decided_ending(const struct ctp_region *r)
{
	const struct ctp_ext *e = r->ext;
	return ctp_load64(&e->exit_begun) || ctp_load64(&e->signal_taken) || asked_lately(e);
}

static bool may_be_ending(const struct ctp_region *r)
{
	return decided_ending(r) || ctp_load64(&r->ext->listener_closed);
}

// Has any thread resumed a waiter of an ended descriptor by hand, or reused a suspended stack?
static bool resumes_or_discards(const struct ctp_region *r)
{
	uint32_t n = ctp_load32(&r->ext->thread_high);
	for (uint32_t i = 0; i < n && i < r->threads_max; i++)
		if (ctp_load64(&r->threads[i].hand) || ctp_load64(&r->threads[i].reused))
			return true;
	return false;
}

static bool is_told(const struct suspect *s)
{
	switch (s->rule) {
	case RULE_LOST_WAKEUP:
		return s->c.closer != s->s.id;
	case RULE_SET_CLOSED:
		return true;
	case RULE_ONESHOT:
	case RULE_DELIVERED:
		return s->firm && !stuck_wait_full(s);
	case RULE_TIMER:
		return s->firm && ctp_timer_own(&s->c.was, s->s.id) && !ctp_timer_used(&s->c.was, s->s.id);
	}
	return false;
}

static bool holds(const struct suspect *s, enum proof p)
{
	return s->a[p].holds == HOLDS_TRUE;
}

// Of a program that ctp-run attached to, the past is not known; all the rest may be.
static bool complete(const struct ctp_region *r, const struct suspect *s)
{
	return holds(s, PROOF_P0) || (s->rule == RULE_LOST_WAKEUP && s->a[PROOF_P0].holds == HOLDS_OPEN &&
				      (ctp_load32(&r->ext->gaps) & CTP_GAP_ATTACHED));
}

// Its own stack, of known bounds, to which nothing leads. That all is quiet needs more than is known here.
static bool unreachable(const struct suspect *s)
{
	const struct ctp_state *c = &s->s;
	uint64_t sp = c->regs[CTP_REG_SP];
	return s->proven && holds(s, PROOF_P6A) && !(c->flags & CTP_STATE_SHARED_STACK) && c->lo < c->hi &&
	       (!sp || (sp >= c->lo && sp <= c->hi));
}

enum decided decided_of(const struct ctp_region *r, const struct suspect *s)
{
	if (s->gone || s->pooled || s->put_off || s->unchecked || s->beside.is || ctp_in_pool(&s->s) ||
	    !s->s.runs || (s->s.flags & CTP_STATE_STACK_FREED) || !is_told(s) || may_be_ending(r) ||
	    resumes_or_discards(r))
		return DECIDED_NOT;
	if (!complete(r, s) || !holds(s, PROOF_P2) || !holds(s, PROOF_P3) || !holds(s, PROOF_P4))
		return DECIDED_NOT;
	if (unreachable(s) && (s->rule == RULE_LOST_WAKEUP || s->rule == RULE_SET_CLOSED))
		return DECIDED_PROVEN;
	return holds(s, PROOF_P5) ? DECIDED_LIKELY : DECIDED_NOT;
}
