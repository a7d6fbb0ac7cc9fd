// SPDX-License-Identifier: MIT
//
// PROVEN: nothing in the process leads to the coroutine's frame, nothing went past what was seen, and others
// that were suspended at the same place were found, or the whole program sleeps for good. LIKELY: what leads
// to it are coroutines that themselves wait for it, or its owner alone after its descriptor was closed; or
// nothing leads to it, but none of its kind was ever found, a later look could not ask again, a forked
// process lives, or nothing had led to another one, which went on. SUSPECT: its handle is kept under the
// number of a closed descriptor, words lead to it that a container has left behind, bytes that the process
// may have sent to itself wait in a socket, or the program left no time to look for pointers in disguise to
// one of whose kind none was found. An open io_uring context hides what the kernel holds: INCONCLUSIVE.
#include "analyze/case/stackless_case.h"

#include <inttypes.h>

#include "ctp/words.h"

bool stackless_counts(const struct image *m)
{
	return m->has_tables && !m->replaced && m->stackless.looked;
}

static const char *why_unknown(const struct stackless_seen *s)
{
	static const char *const texts[] = {
		[STACKLESS_NEVER] =
			"no coroutine that was suspended there, this one included, was ever found: it may be "
			"kept in a form that is not searched for",
		[STACKLESS_LEFT] =
			"others that were suspended there were found, but by words that may be left of "
			"before: it may be kept in a form that is not searched for",
		[STACKLESS_ARMED] =
			"nothing led to one that was suspended there while its descriptor was open "
			"and registered: it may be kept in a form that is not searched for",
		[STACKLESS_ENDS] =
			"words lead to the end of the block before it, which is as good as its own "
			"begin",
		[STACKLESS_UNUSED] =
			"a word leads to it where a std::deque or std::vector, or what looks like one, has no "
			"element now"};
	return texts[s->why];
}

// Nothing could run that would look for it in a form that is not searched for.
static bool is_quiet(const struct stackless_looks *l, const struct stackless_seen *s)
{
	return s->unknown && l->quiet && s->why != STACKLESS_ENDS && s->why != STACKLESS_UNUSED;
}

// Why it proves nothing that nothing was found; NULL: it does.
static const char *why_open(const struct stackless_looks *l, const struct stackless_seen *s)
{
	return l->control                    ? l->control :
	       l->way                        ? l->way :
	       s->unknown && !is_quiet(l, s) ? why_unknown(s) :
					       l->doubt;
}

static void decide(struct obligations *p, const struct world *w, const struct image *m,
		   const struct stackless_seen *s, struct results *out)
{
	const struct stackless_looks *l = &m->stackless;
	const char *doubt = why_open(l, s);
	bool left = s->unknown && (s->why == STACKLESS_UNUSED || l->half);
	bool lost = s->answer == STACKLESS_LOST, complete = !l->rings && !(m->ext.gaps & CTP_GAP_URING);
	p->items[PROOF_P0] = (struct obligation){
		complete ? HOLDS_TRUE : HOLDS_OPEN,
		complete ? "no io_uring or AIO context is open" :
			   "an io_uring or AIO context is open: the kernel may hold a pointer"};
	p->items[PROOF_P1] =
		(struct obligation){HOLDS_TRUE, s->initial ? "its frame says that it was never started" :
							     "its frame says that it is suspended"};
	const char *searched = results_text(out, "no pointer to its frame found (%.1f MB searched)%s%s%s",
					    (double)l->scanned_bytes / 1e6, doubt ? "; " : "",
					    doubt && doubt == l->doubt ? "a later look could not tell: " : "",
					    doubt ? doubt : "");
	p->items[PROOF_P6A] = (struct obligation){
		!lost ? HOLDS_FALSE :
		doubt ? HOLDS_OPEN :
			HOLDS_TRUE,
		lost ? searched :
		s->answer == STACKLESS_OWNED ?
		       "only what waits for it leads to it" :
		s->answer == STACKLESS_NUMBERED ?
		       "one word leads to it, beside the number of the closed descriptor" :
		       "one word leads to it: its owner's"};
	if (l->quiet)
		p->items[PROOF_P6B] = (struct obligation){HOLDS_TRUE, PROOF_QUIET};
	p->closure = lost && is_quiet(l, s) ? "quiet" : lost ? "unreachable" : NULL;
	(void)w;
	p->verdict = !complete                       ? VERDICT_INCONCLUSIVE :
		     s->answer == STACKLESS_NUMBERED ? VERDICT_SUSPECT :
		     l->sent || left                 ? VERDICT_SUSPECT :
		     lost && !doubt                  ? VERDICT_PROVEN :
						       VERDICT_LIKELY;
}

static void note_close(struct verdict_case *c, const struct stackless_seen *s, struct results *out)
{
	const struct stackless_close *k = &s->close;
	c->fd = k->fd;
	c->gen = k->gen;
	c->fd_kind = k->kind;
	c->actor = (struct case_party){.did = "closed by",
				       .call = words_call(k->how),
				       .id = k->closer,
				       .ticks = k->closed,
				       .stack = k->closer_stack};
	c->opener = (struct case_party){.did = "opened by",
					.call = words_call(k->opened_how),
					.id = k->opener,
					.ticks = k->opened,
					.stack = k->opener_stack};
	const char *opens = words_call(k->opened_how), *closes = words_call(k->how);
	case_event(c, k->opened, k->opener,
		   results_text(out, "%s opens fd %d#%u", opens ? opens : "a call", k->fd, k->gen));
	case_event(c, k->closed, k->closer, results_text(out, "%s(%d)", closes ? closes : "close", k->fd));
}

void stackless_case(struct verdict_case *c, const struct pass *pass, const struct world *w,
		    const struct image *m, const struct stackless_seen *s, struct results *out)
{
	*c = (struct verdict_case){
		.pass = pass,
		.about = {.world = w, .image = m, .witness = &s->ways},
		.id = s->id,
		.stack = s->stack,
		.maker = {.id = s->creator, .ticks = s->created, .stack = s->creator_stack},
		.label = "waiting",
		.doing = s->initial ? "to be started, as a C++20 coroutine" :
				      "as a C++20 coroutine, at a co_await",
		.fd = -1,
		.stackless = true};
	decide(&c->proof, w, m, s, out);
	if (s->created)
		case_event(c, s->created, s->creator, "creates it");
	if (s->closed)
		note_close(c, s, out);
	c->refuted =
		s->answer == STACKLESS_NUMBERED ?
			"the coroutine waits for something else, or the program finds it by that number and resumes it" :
		s->answer == STACKLESS_LOST && is_quiet(&m->stackless, s) ?
			"a pointer to its frame is in disguise, and the program, once stopped and continued, resumes "
			"it on EINTR" :
		s->answer == STACKLESS_LOST ?
			"a pointer to its frame lies outside the process, or in disguise" :
			"the program resumes what waits for it, and that one polls it or resumes it by hand";
}
