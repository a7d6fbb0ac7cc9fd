// SPDX-License-Identifier: MIT
//
// CTP031, signal never comes: a coroutine waits on a signalfd, and the kernel will put none of its signals
// there, as no thread blocks them, or as SIGCHLD is ignored. SUSPECT at most: it may be that nobody is
// going to send one, as where a program without children has a coroutine that would take their ends.
#include <inttypes.h>

#include "analyze/case/stuck.h"

static enum verdict conclude(const struct suspect *s, const struct obligations *o)
{
	(void)s;
	return stuck_conclude(o, false) == VERDICT_NONE ? VERDICT_NONE : VERDICT_SUSPECT;
}

static void describe(struct verdict_case *c, const struct ctp_fd *fd, struct results *out)
{
	if (fd)
		case_event(c, fd->reg_time, fd->reg_by,
			   results_text(out, "registers signalfd %d#%u", c->fd, c->gen));
	c->refuted = results_text(out,
				  "the program blocks the signal later, or stops ignoring it, or resumes "
				  "coroutine %" PRIu64 " by hand",
				  c->id);
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	static const struct stuck_terms terms = {conclude, describe};
	return stuck_run(pass, w, out, &terms);
}

const struct pass pass_signal = {
	.rule = rules_id[RULE_SIGNAL],
	.title = "signal never comes",
	.run = run,
	.waits = true,
	.claim = "waits on a signalfd that none of its signals can reach",
	.likely = "waits on a signalfd that none of its signals can reach",
	.suspect = "waits on a signalfd that none of its signals can reach",
	.fix = "block the signals of a signalfd in every thread before the first is made, and do not ignore SIGCHLD",
	.explain =
		"A coroutine waits on a signalfd, and the kernel delivers the signals in another way, or not at all.\n"
		"\n"
		"    signal(SIGCHLD, SIG_IGN);                // \"no zombies\"\n"
		"    ...\n"
		"    sigaddset(&set, SIGCHLD);                // and sigprocmask(SIG_BLOCK, &set) is forgotten\n"
		"    sfd = signalfd(-1, &set, SFD_NONBLOCK);\n"
		"    while (read(sfd, &si, sizeof(si)) < 0 && errno == EAGAIN)\n"
		"        swapcontext(&self->ctx, &loop);      // never woken\n"
		"\n"
		"A signal stays for a signalfd only while it is blocked: one that no thread blocks goes to its\n"
		"handler, or has its default effect. While SIGCHLD is ignored, the end of a child sends no signal\n"
		"at all, and leaves nothing for waitpid. A program inherits what its parent ignored.\n"
		"\n"
		"SUSPECT  all signals of the signalfd are such; perhaps nobody is going to send one\n"
		"\n"
		"Repair: sigprocmask(SIG_BLOCK) in main, before threads are made, which inherit it; and\n"
		"signal(SIGCHLD, SIG_DFL) where ends of children are wanted.\n"
		"\n"
		"Not reported: a signalfd of which one signal can come; a signal that is ignored and blocked, which\n"
		"comes all the same (except SIGCHLD); a thread that blocks it while another does not.\n",
};
