// SPDX-License-Identifier: MIT
//
// CTP006, fd number reused under a waiter: a coroutine waited for one generation of a number, and read,
// wrote or was woken for a later one that it has not opened. A reconnect by somebody else looks the
// same, so another coroutine must wait for the new generation, in the same direction.
#include <inttypes.h>
#include <sys/epoll.h>

#include "analyze/case/incidents.h"
#include "ctp/words.h"

static bool waits(const struct ctp_state *s, const struct ctp_incident *i)
{
	for (unsigned n = 0; s->life == CTP_SUSPENDED && n < image_nwaits(s); n++)
		if (s->waits[n].fd == i->fd && s->waits[n].gen == i->gen)
			return true;
	return false;
}

// The coroutine whose the new generation is: it waited for it then, or does now.
static uint64_t owner(const struct image *m, const struct ctp_incident *i)
{
	const struct ctp_fd *fd = image_fd(m, i->fd);
	uint64_t id = i->value[2];
	if (!id && fd && fd->life == CTP_FD_OPEN && fd->gen == i->gen)
		id = fd->waiter[i->value[3] == EPOLLOUT] & CTP_ID_MASK;
	const struct ctp_state *s = id != i->who ? incidents_coroutine(m, id) : NULL;
	return s && (i->value[2] || waits(s, i)) ? id : 0;
}

// It opened it itself, waits for it itself, and is alive: nobody meant it for another.
static bool differs(const struct image *m, const struct ctp_incident *i, uint64_t id)
{
	const struct ctp_state *s = incidents_coroutine(m, id);
	return id == i->value[1] && (s->life == CTP_SUSPENDED || s->life == CTP_RUNNING);
}

// An event that was taken before the close, and delivered by number after it.
static int delivered(const struct pass *pass, const struct world *w, const struct image *m,
		     const struct ctp_incident *i, struct results *out)
{
	struct verdict_case c;
	case_of_incident(&c, pass, w, m, i, "closed by");
	c.actor.ticks = 0; // the timeline has it
	c.proof.items[PROOF_P1] = (struct obligation){0};
	c.proof.verdict = VERDICT_SUSPECT;
	c.claim = "may have been woken by an event of the descriptor that had its number before";
	c.label = "woken";
	c.doing = results_text(out,
			       "for fd %d#%u, of which no event had come; "
			       "the same turn of the loop had taken one of fd %d#%" PRIu64 "%s",
			       i->fd, i->gen, i->fd, i->value[0], incidents_times(i, out));
	c.message = results_text(out,
				 "it waits for fd %d#%u, and was resumed "
				 "in the turn that had taken an event of fd %d#%" PRIu64,
				 i->fd, i->gen, i->fd, i->value[0]);
	incidents_opener(&c, m, out);
	case_event(&c, i->other_time, i->other,
		   results_text(out, "%s(%d)", words_call(i->call) ? words_call(i->call) : "close", i->fd));
	case_event(&c, i->time, i->who, "is resumed");
	c.refuted = "something else resumed it in that turn, on purpose";
	c.fix = "when a descriptor is closed in the middle of a batch, pass over what is left in it for that descriptor: clear the "
		"data of its rows, or compare a generation";
	return image_entity(m, i->who) ? results_add(out, &c) : 0;
}

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_incident *i, struct results *out)
{
	struct verdict_case c;
	uint64_t whose = owner(m, i);
	bool woken = i->flags & CTP_BAD_WOKEN;
	if (i->flags & CTP_BAD_STALE)
		return delivered(pass, w, m, i, out);
	if (!whose || !image_entity(m, i->who))
		return 0;
	case_of_incident(&c, pass, w, m, i, "closed by");
	c.actor.ticks = 0;                                // the timeline has it
	c.proof.items[PROOF_P1] = (struct obligation){0}; // whether it is suspended now is nothing to it
	c.proof.verdict = differs(m, i, whose) && case_complete(w, m) ? VERDICT_LIKELY : VERDICT_SUSPECT;
	c.label = woken ? "woken" : i->value[3] == EPOLLOUT ? "writes" : "reads";
	c.doing = results_text(out,
			       "%sfd %d#%u, which coroutine %" PRIu64 " waits for; coroutine %" PRIu64
			       " had waited for fd %d#%" PRIu64 "%s",
			       woken ? "by an event of " : "", i->fd, i->gen, whose, i->who, i->fd,
			       i->value[0], incidents_times(i, out));
	c.message = results_text(
		out, "it waited for fd %d#%" PRIu64 ", and %s fd %d#%u, which is coroutine %" PRIu64 "'s",
		i->fd, i->value[0],
		woken                   ? "was woken by" :
		i->value[3] == EPOLLOUT ? "wrote to" :
					  "read from",
		i->fd, i->gen, whose);
	incidents_opener(&c, m, out);
	case_event(&c, i->other_time, i->other,
		   results_text(out, "%s(%d)", words_call(i->call) ? words_call(i->call) : "close", i->fd));
	case_event(&c, i->time, i->who,
		   woken                   ? "is woken by its event" :
		   i->value[3] == EPOLLOUT ? "writes to it" :
					     "reads it");
	c.refuted = results_text(out,
				 "coroutines %" PRIu64 " and %" PRIu64 " share the new descriptor on purpose",
				 i->who, whose);
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return incidents_each(pass, w, RULE_REUSED, consider, out);
}

const struct pass pass_reused = {
	.rule = rules_id[RULE_REUSED],
	.title = "fd number reused under a waiter",
	.run = run,
	.waits = true,
	.claim = "now uses a descriptor that is not its own",
	.suspect = "uses a number that now means another descriptor",
	.fix = "close a descriptor only when no coroutine waits for it (shutdown first, let the waiter see the end and close), and "
	       "identify connections by an object of their own, not by the number",
	.explain =
		"A coroutine waits for descriptor 7. Other code closes 7, the next accept or open gets the number 7,\n"
		"and the coroutine, when it is resumed, reads what was sent to another connection.\n"
		"\n"
		"    void handler(struct conn *c)      // suspended in here, c->fd is 7\n"
		"    {\n"
		"        while (wait_readable(c->fd))\n"
		"            read(c->fd, buf, n);      // 7 is a new client's by now\n"
		"    }\n"
		"    void reaper(struct conn *c) { close(c->fd); }   // and accept() returns 7\n"
		"\n"
		"LIKELY   another coroutine opened the new descriptor and waits for it itself\n"
		"SUSPECT  another coroutine waits for it; for which of the two it was opened is not known\n"
		"\n"
		"Repair: wake the waiter before the close, or mark the connection dead and let its own coroutine\n"
		"close it.\n"
		"\n"
		"Not reported: a coroutine that reconnects, or whose connection another coroutine makes anew; dup2\n"
		"onto the number; two coroutines for the two directions of one socket.\n",
};
