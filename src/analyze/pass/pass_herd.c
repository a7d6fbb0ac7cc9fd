// SPDX-License-Identifier: MIT
//
// CTP023, thundering herd: one event resumes several coroutines, and at most one of them gets
// something. The library posts an entry for each coroutine from the fourth on; there is one
// finding per descriptor, by the largest herd.
#include <inttypes.h>

#include "analyze/case/incidents.h"

// Once may be a broadcast.
#define HERDS_LEAST 2

static bool larger(const struct ctp_incident *a, const struct ctp_incident *b)
{
	return a->value[0] != b->value[0] ? a->value[0] > b->value[0] : a->who < b->who;
}

static bool is_largest(const struct image *m, const struct ctp_incident *i, uint64_t *herds)
{
	*herds = i->value[0] & 0xffff;
	for (size_t n = 0; n < m->incidents.n; n++) {
		const struct ctp_incident *o = image_incident(m, n);
		if (o->rule != i->rule || o->fd != i->fd || o->gen != i->gen)
			continue;
		if (o != i && larger(o, i))
			return false;
		*herds = (o->value[0] & 0xffff) > *herds ? o->value[0] & 0xffff : *herds;
	}
	return true;
}

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_incident *i, struct results *out)
{
	struct verdict_case c;
	uint64_t herds;
	if (!is_largest(m, i, &herds) || herds < HERDS_LEAST)
		return 0;
	case_of_incident(&c, pass, w, m, i, NULL);
	c.proof.verdict = VERDICT_SUSPECT;
	c.label = "woken";
	c.doing = results_text(out, "with %" PRIu64 " others for fd %d#%u, in vain; %s got something",
			       (i->value[0] >> 16) - 1, i->fd, i->gen, i->value[1] ? "one" : "nobody");
	c.message = results_text(
		out,
		"%" PRIu64 " coroutines were woken in vain by what served %s on fd %d#%u, at least %" PRIu64
		" times",
		i->value[0] >> 16, i->value[1] ? "one" : "nobody", i->fd, i->gen, herds);
	incidents_opener(&c, m, out);
	case_event(&c, i->time, i->who, "is woken in vain, as others before it");
	c.refuted = "all of them are meant to be woken: a broadcast";
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return incidents_each(pass, w, RULE_HERD, consider, out);
}

const struct pass pass_herd = {
	.rule = rules_id[RULE_HERD],
	.title = "thundering herd",
	.run = run,
	.claim = "is woken with many others for an event that only one can use",
	.fix = "wake one: a queue of waiters of which each event takes the first, EPOLLEXCLUSIVE where each thread has an epoll set, "
	       "or one acceptor that hands out what it gets",
	.explain =
		"Many coroutines wait for one descriptor, one event wakes them all, one of them gets the connection\n"
		"and all others suspend again: k wakeups, switches and system calls for one request.\n"
		"\n"
		"    void on_readable(int fd)             // the loop\n"
		"    {\n"
		"        for (struct co *c = waiters[fd]; c; c = c->next)\n"
		"            resume(c);                   // each calls accept(): one gets it, the rest EAGAIN\n"
		"    }\n"
		"\n"
		"The same with an epoll set for each thread and the listener in each of them.\n"
		"\n"
		"SUSPECT  at most; reported if four or more coroutines were woken in vain, at least twice\n"
		"\n"
		"Repair: resume the first and keep the rest; EPOLLEXCLUSIVE or SO_REUSEPORT; one acceptor.\n"
		"\n"
		"Not reported: several readers that each get something; a reader and a writer of one socket; a\n"
		"broadcast that happened once.\n",
};
