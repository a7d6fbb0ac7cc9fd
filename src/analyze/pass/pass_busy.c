// SPDX-License-Identifier: MIT
//
// CTP022, busy wakeups: events of a descriptor resumed a coroutine again and again, and each time
// the descriptor had nothing for it. The library counts them.
#include <inttypes.h>

#include "analyze/case/incidents.h"
#include "base/text.h"
#include "ctp/words.h"

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_incident *i, struct results *out)
{
	struct verdict_case c;
	char span[32], registered[96], wanted[96];
	uint64_t from = world_ns(w, i->last), took;
	case_of_incident(&c, pass, w, m, i, NULL);
	took = from - world_ns(w, i->last - i->value[1]);
	text_duration(span, sizeof(span), took);
	words_events((uint32_t)i->value[2], registered, sizeof(registered));
	words_events((uint32_t)i->value[3], wanted, sizeof(wanted));
	c.proof.verdict = VERDICT_SUSPECT;
	c.label = "woken";
	c.doing = results_text(out,
			       "%" PRIu64 " times in a row for fd %d#%u (%s), and EAGAIN each time, in %s",
			       i->value[0], i->fd, i->gen, words_kind(c.fd_kind), span);
	c.message = results_text(
		out, "%" PRIu64 " times in a row EAGAIN on fd %d#%u, registered for %s, tried for %s",
		i->value[0], i->fd, i->gen, registered, wanted);
	incidents_opener(&c, m, out);
	case_event(&c, i->time, i->who, "was woken in vain 100 times in a row");
	c.refuted =
		"events come and go faster than it runs, or another coroutine takes the data that they announce";
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return incidents_each(pass, w, RULE_BUSY, consider, out);
}

const struct pass pass_busy = {
	.rule = rules_id[RULE_BUSY],
	.title = "busy wakeups",
	.run = run,
	.unwell = true,
	.claim = "is woken again and again for nothing",
	.fix = "register only what the coroutine waits for: EPOLLOUT while there is something to write, EPOLLIN while it reads; "
	       "take the registration back (or use EPOLLONESHOT) when it waits for something else",
	.explain =
		"A coroutine is resumed by an event of its descriptor, reads or writes, gets EAGAIN, and suspends;\n"
		"the next event comes at once. A core is busy, and no work is done.\n"
		"\n"
		"    ev.events = EPOLLIN | EPOLLOUT;        // writable nearly always\n"
		"    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);\n"
		"    while (read(fd, buf, n) < 0 && errno == EAGAIN)\n"
		"        yield();                           // resumed by EPOLLOUT, a million times a second\n"
		"\n"
		"Other causes: a level-triggered registration that is never removed, EPOLLHUP or EPOLLERR that the\n"
		"program ignores, an eventfd that is never read.\n"
		"\n"
		"SUSPECT  at most: ctp sees that the wakeups are useless, but not whether that matters\n"
		"\n"
		"Repair: register only for the direction that is used; read what is there, or remove the\n"
		"registration.\n"
		"\n"
		"Not reported: a poll by yield without an event; single spurious wakeups of edge-triggered\n"
		"registrations; several acceptors of one listener (CTP023); a reader and a writer of one descriptor.\n",
};
