// SPDX-License-Identifier: MIT
//
// CTP026, fork with a live epoll set: a child that lives and has not called exec has an epoll set
// of its parent open, with registrations. What one of the two adds or removes, it does for both;
// what one closes stays registered; an event goes to whoever waits first. Never more than LIKELY:
// a child may inherit the set and never touch it. A set that neither has touched since is a fact.
#include "analyze/case/pass.h"

#include <inttypes.h>

#include "analyze/case/incidents.h"
#include "ctp/words.h"

#define TICK_NS 20000000u // a child's beginning is known to a hundredth of a second, about

// The site at which the process was forked: the narrowest span of time that holds its beginning.
static const struct ctp_incident *site_of(const struct world *w, const struct image *m, uint64_t began_ns)
{
	const struct ctp_incident *best = NULL;
	for (size_t i = 0; i < m->incidents.n; i++) {
		const struct ctp_incident *c = image_incident(m, i);
		if (c->rule != RULE_FORKED || world_ns(w, c->other_time) > began_ns + TICK_NS ||
		    world_ns(w, c->last) + TICK_NS < began_ns)
			continue;
		if (!best || c->last - c->other_time < best->last - best->other_time)
			best = c;
	}
	return best;
}

// Did the child itself register something in the set it inherited? Known with --follow-forks.
static bool child_registers(const struct world *w, const struct set_shared *shared)
{
	for (size_t k = 0; k < w->nimages; k++) {
		const struct image *child = &w->images[k];
		if (child->pid != shared->pid || !child->has_tables || child->replaced)
			continue;
		for (size_t i = 0; i < child->fds.n; i++) {
			const struct ctp_fd *f = table_row(&child->fds, i);
			if (f->reg_time && f->reg_epfd == shared->fd && f->reg_epgen == 1)
				return true;
		}
	}
	return false;
}

static void decide(struct obligations *o, const struct world *w, const struct image *m,
		   const struct set_shared *s, struct results *out)
{
	bool complete = case_complete(w, m), uses = s->waits || child_registers(w, s);
	o->items[PROOF_P0] = case_completeness(complete);
	o->items[PROOF_P3] = (struct obligation){
		HOLDS_TRUE, results_text(out,
					 "process %" PRIu64 " has epoll fd %" PRId64
					 " open as well, as its fd %" PRId64 ", with %" PRId64 " rows%s",
					 s->pid, s->epfd, s->fd, s->rows,
					 s->waits ? ", and sleeps in a wait of it" :
					 uses     ? ", and registers in it" :
						    "")};
	o->verdict = uses ? VERDICT_LIKELY : VERDICT_SUSPECT;
}

// `state`: who waits through the set; NULL: the forker is named instead. Where it was forked is
// where the fault lies, so that all who wait through the set are one finding, wherever each waits.
static int report(const struct pass *pass, const struct world *w, const struct image *m,
		  const struct set_shared *s, const struct ctp_incident *fork, const struct ctp_state *state,
		  struct results *out)
{
	struct verdict_case c;
	const struct ctp_fd *set = image_fd(m, (int32_t)s->epfd);
	struct ctp_incident about = *fork;
	about.fd = (int32_t)s->epfd;
	about.gen = (uint32_t)s->epgen;
	case_of_incident(&c, pass, w, m, &about, NULL);
	decide(&c.proof, w, m, s, out);
	c.label = "forked";
	c.doing = results_text(out, "by %s%s", incidents_who(m, fork->who, out),
			       state ? results_text(out,
						    ", while %s waits through "
						    "epoll fd %" PRId64 "#%" PRId64,
						    incidents_who(m, state->id, out), s->epfd, s->epgen) :
				       "");
	if (state) {
		c.id = state->id;
		c.about.state = state;
	}
	c.message = results_text(out,
				 "process %" PRIu64 ", a child, has epoll fd %" PRId64 "#%" PRId64
				 " open too, and its %" PRId64 " registrations%s",
				 s->pid, s->epfd, s->epgen, s->rows,
				 s->waits ? ", and takes its events" : "");
	c.refuted = "the child ends, or closes the set, before either of the two changes what is registered";
	if (set && set->gen == s->epgen) {
		c.fd_kind = set->kind;
		c.opener = (struct case_party){.did = "opened",
					       .call = words_call(set->opened_how),
					       .id = set->opener,
					       .ticks = set->opened,
					       .stack = set->opener_stack};
	}
	if (set)
		case_event(&c, set->opened, set->opener,
			   results_text(out, "%s opens epoll fd %" PRId64 "#%" PRId64,
					words_call(set->opened_how), s->epfd, s->epgen));
	case_event(&c, fork->last, fork->who, results_text(out, "forks process %" PRIu64, s->pid));
	return results_add(out, &c);
}

static bool waits_through(const struct image *m, const struct ctp_state *state, const struct set_shared *s)
{
	if (!image_suspended(m, state) || !state->runs || image_ran_since(m, state))
		return false;
	for (unsigned i = 0; i < image_nwaits(state); i++) {
		const struct ctp_wait *w = &state->waits[i];
		const struct ctp_fd *f = image_fd(m, w->fd);
		if ((w->how & CTP_WAIT_REGISTERED) ?
			    w->epfd == s->epfd && w->epgen == s->epgen :
			    f && f->gen == w->gen && f->reg_epfd == s->epfd && f->reg_epgen == s->epgen)
			return true;
	}
	return false;
}

// Has the parent registered in the set since the fork? Then it has done so for the child as well.
static bool used_since(const struct image *m, const struct set_shared *s, const struct ctp_incident *fork)
{
	for (size_t i = 0; i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if (f->reg_epfd == s->epfd && f->reg_epgen == s->epgen && f->reg_time > fork->last)
			return true;
	}
	return false;
}

// A child that merely has a set that nobody has touched since hurts nobody yet.
static int one_child(const struct pass *pass, const struct world *w, const struct image *m,
		     const struct set_shared *s, struct results *out)
{
	const struct ctp_incident *fork = site_of(w, m, s->began_ns);
	bool any = false, uses = s->waits || child_registers(w, s);
	int r = 0;
	bool told = fork && (uses || used_since(m, s, fork));
	for (size_t i = 0; told && !r && i < m->stations.n; i++)
		if (waits_through(m, image_state(m, i), s)) {
			any = true;
			r = report(pass, w, m, s, fork, image_state(m, i), out);
		}
	if (r || any)
		return r;
	if (fork && fork->who && uses)
		return report(pass, w, m, s, fork, NULL, out);
	return results_fact(out, pass->rule, 1,
			    "process %" PRIu64 ", a child, has epoll fd %" PRId64 " open too, with %" PRId64
			    " rows",
			    s->pid, s->epfd, s->rows);
}

// A child that sleeps in the set says more than one that merely has it.
static bool said(const struct set_looks *l, size_t i)
{
	for (size_t k = 0; k < l->nshared; k++)
		if (l->shared[k].epfd == l->shared[i].epfd &&
		    (l->shared[k].waits > l->shared[i].waits ||
		     (l->shared[k].waits == l->shared[i].waits && k < i)))
			return true;
	return false;
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	int r = 0;
	for (size_t k = 0; !r && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || m->replaced || !w->has_last_tables)
			continue;
		for (size_t i = 0; !r && i < m->set_looks.nshared; i++)
			if (!said(&m->set_looks, i))
				r = one_child(pass, w, m, &m->set_looks.shared[i], out);
	}
	return r;
}

const struct pass pass_forked = {
	.rule = rules_id[RULE_FORKED],
	.title = "fork with a live epoll set",
	.run = run,
	.unwell = true,
	.claim = "shares its epoll set with a child",
	.fix = "close the set in the child at once (pthread_atfork, or in its first lines) and make a new one there, "
	       "or make the set after the fork",
	.explain =
		"A process forks, and its child goes on with the parent's epoll set.\n"
		"\n"
		"    ep = epoll_create1(EPOLL_CLOEXEC);\n"
		"    epoll_ctl(ep, EPOLL_CTL_ADD, conn, &ev);\n"
		"    if (fork() == 0)\n"
		"            run_worker();            without close(ep)\n"
		"    loop(ep);\n"
		"\n"
		"The child gets no copy of the set: both processes share one. An event that the child takes never\n"
		"reaches the parent's coroutine; a registration that the child removes is gone for both; a\n"
		"descriptor that the parent closes stays registered while the child has it open (CTP007).\n"
		"\n"
		"SUSPECT  a child lives on without exec and has the set open, and the parent registers in it\n"
		"LIKELY   as SUSPECT, and the child waits on that set, or (with --follow-forks) registers in it\n"
		"\n"
		"Repair: in the child, call close(ep) first, and make a new set for what the child needs.\n"
		"\n"
		"Not reported: fork and exec, posix_spawn, popen, system; a child that closes the set or ends.\n",
};
