// SPDX-License-Identifier: MIT
//
// CTP028, set abandoned: the coroutine's descriptor is open and registered, the registration is armed, and
// events wait in the epoll set; but no thread sleeps in the set, nor in one in which it is registered, and
// those that poll have had their chance to come to it. Only ctp-run can see that. At most LIKELY: the program
// may poll the set again. A loop may look at it every few seconds, by a timer of its own: LIKELY needs memory
// without a pointer to the coroutine as well, or a program in which nothing can happen any more.
#include <inttypes.h>

#include "analyze/case/stuck.h"

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	enum verdict is = stuck_conclude(o, stuck_holds(o, PROOF_P2));
	if (o->weak) // its last try had to wait: whether it stands there for that is not sure
		return s->wait && stuck_holds(o, PROOF_P0) && stuck_holds(o, PROOF_P5) ? VERDICT_SUSPECT :
											 VERDICT_NONE;
	if (is != VERDICT_PROVEN && is != VERDICT_LIKELY)
		return is;
	return stuck_holds(o, PROOF_P6A) || stuck_holds(o, PROOF_P6B) ? VERDICT_LIKELY : VERDICT_SUSPECT;
}

static void describe(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	if (fd)
		case_event(c, fd->reg_time, fd->reg_by,
			   results_text(out, "registers fd %d#%u in epoll fd %d#%u", c->fd, c->gen,
					fd->reg_epfd, fd->reg_epgen));
	c->refuted = results_text(
		out, "a thread polls the set again, or the program resumes coroutine %" PRIu64 " by hand",
		c->id);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {conclude, describe};
	return stuck_run(pass, w, out, &terms);
}

const struct pass pass_abandoned = {
	.rule = rules_id[RULE_ABANDONED],
	.title = "set abandoned",
	.run = run,
	.waits = true,
	.claim = "waits in an epoll set that no thread polls any more",
	.likely = "waits in an epoll set that no thread polls any more",
	.suspect = "may wait in an epoll set that no thread polls any more",
	.fix = "move the registrations before the last thread leaves the set, or let another thread poll it",
	.explain =
		"A coroutine's registration exists and is armed, but in a set that no thread polls.\n"
		"\n"
		"    void reload(void)\n"
		"    {\n"
		"        ep = epoll_create1(0);               // and the loop polls this one from now on\n"
		"        watch(ep, listener);                 // the connections stay in the old set\n"
		"    }\n"
		"\n"
		"The kernel queues their events there, and no thread takes them. The same happens with the set of a\n"
		"worker thread that has ended, and with a nested set whose own registration was removed.\n"
		"\n"
		"LIKELY   events wait in the set, no thread sleeps in it or in one that has it, and every thread that\n"
		"         polls sleeps without a timeout, or has made three complete turns since; and memory was\n"
		"         searched in vain for a pointer to the coroutine, or nothing can happen any more\n"
		"SUSPECT  memory was not searched, or leads to it: a loop may look at the set every few seconds. Or\n"
		"         it tried in vain to read or write, but whether it stands there for that is not known; or a\n"
		"         thread sleeps with a timeout of a second or more, or naps outside its sets, and nobody has\n"
		"         come to the events in two seconds\n"
		"\n"
		"Repair: move every registration to the new set (EPOLL_CTL_DEL, then EPOLL_CTL_ADD) before the last\n"
		"thread leaves the old one, and then close the old set: ctp reports what was forgotten as CTP025.\n"
		"\n"
		"Not reported: sets that one loop polls in turn; a set that another process or thread polls; a set\n"
		"without a waiting event.\n",
};
