// SPDX-License-Identifier: MIT
//
// CTP024, double close and use after close: a call returned EBADF for a number that had been open
// and was closed before. It did no harm only because the number had not been reused yet. Loops
// that close every number are excluded: the library counts the numbers in a row, and the table
// shows which of them were open.
#include <inttypes.h>

#include "analyze/case/incidents.h"
#include "ctp/words.h"

#define IN_A_ROW 3

static bool closed_there(const struct image *m, const struct ctp_incident *i, int32_t number)
{
	const struct ctp_fd *fd = number < 0 ? NULL : image_fd(m, number);
	return fd && fd->closed_gen && fd->closer == i->who && fd->closer_stack &&
	       fd->closer_stack == i->stack;
}

// Numbers next to it were closed at this very place, before or behind it.
static bool of_loop(const struct image *m, const struct ctp_incident *i)
{
	uint64_t n = i->value[0] ? i->value[0] : 1;
	for (int32_t fd = i->fd + 1; n < IN_A_ROW && closed_there(m, i, fd); fd++)
		n++;
	for (int32_t fd = i->fd - 1; n < IN_A_ROW && closed_there(m, i, fd); fd--)
		n++;
	return n >= IN_A_ROW;
}

static const char *call_of(const struct ctp_incident *i, struct results *f)
{
	const char *name = words_call(i->call);
	if (i->flags & CTP_BAD_CLOSE)
		return results_text(f, "%s(%d)", name ? name : "close", i->fd);
	return i->flags & CTP_BAD_EPOLL ?
		       results_text(f, "epoll_ctl of fd %d", i->fd) :
		       results_text(f, "%s of fd %d", i->value[2] & 4 ? "write" : "read", i->fd);
}

static int consider(const struct pass *pass, const struct world *w, const struct image *m,
		    const struct ctp_incident *i, struct results *out)
{
	struct verdict_case c;
	bool again = i->flags & CTP_BAD_CLOSE, who = incidents_coroutine(m, i->who),
	     other = incidents_coroutine(m, i->other);
	if ((!who && !other) || (again && of_loop(m, i)))
		return 0;
	case_of_incident(&c, pass, w, m, i, "closed by");
	const char *call = call_of(i, out), *first = words_call((unsigned)i->value[1]);
	if (!who) { // the coroutine concerned is the one whose descriptor it was
		c.id = i->other;
		c.about.state = incidents_coroutine(m, i->other);
	}
	c.proof.verdict = i->who != i->other && case_complete(w, m) ? VERDICT_LIKELY : VERDICT_SUSPECT;
	c.label = again ? "again" : "used";
	c.doing = results_text(out, "by %s: %s failed with EBADF%s", incidents_who(m, i->who, out), call,
			       incidents_times(i, out));
	c.claim = !who  ? (again ? "closed a descriptor, which was then closed again elsewhere" :
				   "closed a descriptor, which was used elsewhere after that") :
		  again ? "closed a descriptor that was closed already" :
			  "used a descriptor that was closed already";
	c.message = results_text(out, "%s by %s on fd %d#%u, closed before by %s", call,
				 incidents_who(m, i->who, out), i->fd, i->gen,
				 incidents_who(m, i->other, out));
	incidents_opener(&c, m, out);
	case_event(&c, i->other_time, i->other, results_text(out, "%s(%d)", first ? first : "close", i->fd));
	case_event(&c, i->time, i->who, results_text(out, "%s: EBADF", call));
	c.refuted = again ? "it closes numbers that it knows to be closed, and nothing is opened in between" :
			    "it is meant to learn from EBADF that the descriptor was closed";
	return results_add(out, &c);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	return incidents_each(pass, w, RULE_BADFD, consider, out);
}

const struct pass pass_badfd = {
	.rule = rules_id[RULE_BADFD],
	.title = "double close, use after close",
	.run = run,
	.claim = "closed a descriptor that was closed already",
	.fix = "let one owner close the descriptor, and set its number to -1 then; close it when its last user has ended, not where an error is seen first",
	.explain =
		"A number is closed twice, or used after its close. The second call fails with EBADF, often unseen.\n"
		"After another open in between, it closes or reads a descriptor that is not its own.\n"
		"\n"
		"    void reaper(struct conn *c) { close(c->fd); }\n"
		"\n"
		"    void handler(struct conn *c)\n"
		"    {\n"
		"        while (read_some(c) > 0)\n"
		"            ;\n"
		"        close(c->fd);          // the reaper was here before: EBADF, this time\n"
		"    }\n"
		"\n"
		"LIKELY   two coroutines, or a coroutine and a thread's own stack, make the close and the second call\n"
		"SUSPECT  the same one makes both, or something was missed in this run\n"
		"\n"
		"Repair: let one owner close. Take the number out (int fd = c->fd; c->fd = -1;) before closing it;\n"
		"others call shutdown(). Do not repeat close() after EINTR: the descriptor is closed.\n"
		"\n"
		"Not reported: numbers that were never open; loops over all numbers; EPOLL_CTL_DEL after a close; a\n"
		"waiter that the closer of its descriptor resumes, and that learns of the close from EBADF.\n",
};
