// SPDX-License-Identifier: MIT
//
// What ctp-run inspected is judged once more, for the condition that keeps it from being a finding: first
// those that end the matter, then those that could not be told. Of what it did not inspect the tables tell.
#include "analyze/report/undecided.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/epoll.h>

#include "analyze/case/obligations.h"
#include "ctp/late.h"
#include "ctp/rules.h"

static const struct ctp_wait *wait_of(const struct ctp_state *s, const struct witness *w)
{
	for (unsigned i = 0; i < image_nwaits(s); i++)
		if (s->waits[i].fd == w->fd && s->waits[i].gen == w->gen)
			return &s->waits[i];
	return NULL;
}

// False: it is about something that the tables do not have.
static bool judge(struct obligations *o, const struct report *r, const struct image *m,
		  const struct ctp_state *s, const struct witness *w)
{
	struct suspect x = {.world = r->world, .image = m, .state = s, .wait = wait_of(s, w), .witness = w};
	if (w->fd < 0 || w->fd > INT32_MAX)
		return false;
	if (!w->ended) {
		obligations_stuck(o, &x);
		return true;
	}
	x.cand = w->rule == RULE_REMOVED ? image_del_of(m, (int32_t)w->fd, (uint32_t)w->gen) :
					   image_end_of(m, (int32_t)w->fd, (uint32_t)w->gen);
	if (x.cand)
		obligations_decide(o, &x);
	return x.cand != NULL;
}

static const char *missing(const struct obligations *o)
{
	static const enum proof order[] = {PROOF_P7, PROOF_P1, PROOF_P3, PROOF_P2,
					   PROOF_P4, PROOF_P5, PROOF_P0};
	for (int open = 0; open < 2; open++)
		for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
			if (o->items[order[i]].holds == (open ? HOLDS_OPEN : HOLDS_FALSE) &&
			    o->items[order[i]].text && *o->items[order[i]].text)
				return o->items[order[i]].text;
	return NULL;
}

static bool by_witness(const struct report *r, const struct image *m, const struct ctp_state *s, char *buf,
		       size_t bytes)
{
	for (uint32_t i = idmap_get(&m->witness.last, s->id); i != IDMAP_NONE && i < m->witness.n;
	     i = m->witness.items[i].older) {
		struct obligations o;
		const char *text = judge(&o, r, m, s, &m->witness.items[i]) ? missing(&o) : NULL;
		if (text) {
			snprintf(buf, bytes, "%s", text);
			return true;
		}
	}
	return false;
}

static void by_tables(const struct image *m, const struct ctp_state *s, const struct ctp_wait *wait,
		      char *buf, size_t bytes)
{
	const struct ctp_fd *f = image_fd(m, wait->fd);
	bool came = f && f->event_time >= ctp_state_latest(s);
	const char *why = "is open, and it was not seen whether anything can resume its waiter";
	if (!f || f->life != CTP_FD_OPEN || f->gen != wait->gen)
		why = "has ended, and it was not seen what became of its waiter";
	else if (f->reg_epfd < 0 && image_polled_by(m, f) == IMAGE_POLLED_OUT)
		why = came ? "is registered nowhere since its event came" :
			     "is registered nowhere, and was not seen to be ready";
	else if (came && (f->reg_events & EPOLLONESHOT))
		why = "is registered, and disarmed since its event came";
	else if (f->reg_epfd >= 0 && !(f->reg_events & wait->events & CTP_REG_EVENTS))
		why = "is registered, but not for what is waited for";
	snprintf(buf, bytes, "fd %d#%u %s", wait->fd, wait->gen, why);
}

static bool unheard(const struct report *r, const struct image *m, const struct ctp_state *s, char *buf,
		    size_t bytes)
{
	const struct descriptor *d = image_unheard(m, &r->world->manifest, s);
	if (d)
		snprintf(buf, bytes, "fd %" PRId64 "#%u can be read, and no event told so", d->fd, d->gen);
	return d != NULL;
}

const char *undecided_why(const struct report *r, const struct image *m, const struct ctp_state *s, char *buf,
			  size_t bytes)
{
	unsigned n = image_nwaits(s), i = 0;
	if (image_taken(m, s)) {
		snprintf(buf, bytes, "another has read what it waits for");
		return buf;
	}
	if (unheard(r, m, s, buf, bytes) || by_witness(r, m, s, buf, bytes))
		return buf;
	while (i + 1 < n && image_wait_is_live(m, &s->waits[i]))
		i++;
	if (n)
		by_tables(m, s, &s->waits[i], buf, bytes);
	else
		snprintf(buf, bytes, "it was not seen what it waits for");
	return buf;
}
