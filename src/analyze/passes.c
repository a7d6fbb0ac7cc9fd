// SPDX-License-Identifier: MIT
//
// The table of passes: a row here and a body are all that a new one needs.
#include <string.h>

#include "analyze/pass.h"

const struct pass passes[] = {
	{ .rule = "CTP001", .title = "lost wakeup", .run = pass_lost_wakeup,
	  .claim = "can no longer be woken",
	  .fix = "wake the waiter first: shutdown(fd, SHUT_RDWR), let it run and see EOF in a later "
		 "turn, close when it has returned",
	  .explain =
	  "A coroutine waits for a descriptor, and somebody else closes that descriptor. The kernel\n"
	  "drops the registration with it and tells nobody: no event comes, not even an error, and\n"
	  "the coroutine sleeps for ever, with its stack and all that it holds.\n"
	  "\n"
	  "PROVEN   it is suspended, the kernel holds nothing that could wake it, and nothing that\n"
	  "         can still run can get at it (its stack is unreachable, or the process is quiet)\n"
	  "LIKELY   all of that but the last step: the report names what still leads to it\n"
	  "SUSPECT  the program had no chance yet, or has resumed such a waiter by hand before\n"
	  "INCONCLUSIVE  the tables have a gap, or the run ended too early to tell\n"
	  "\n"
	  "Fix: wake the waiter before the close. shutdown(fd, SHUT_RDWR) makes its descriptor\n"
	  "readable; let it run, see the end of the stream, and close then.\n" },
	{ .rule = "CTP002", .title = "registration removed", .run = pass_removed,
	  .claim = "waits for a descriptor that nobody polls any more",
	  .fix = "resume the waiter when its registration is removed, or register the descriptor again",
	  .explain =
	  "A coroutine waits for a descriptor, and somebody else takes the descriptor out of the\n"
	  "epoll set (EPOLL_CTL_DEL) without closing it, registering it again or resuming the\n"
	  "coroutine. Its events are no longer delivered to anybody.\n"
	  "\n"
	  "Not reported if an event had come before the removal, or if the coroutine removed it itself.\n" },
	{ .rule = "CTP003", .title = "parked", .run = pass_parked, .is_fact = true,
	  .explain =
	  "Coroutines that are suspended without a known wait. Pools, queues and mutexes look like\n"
	  "this in every healthy program: they are counted, not accused.\n" },
	{ .rule = "CTP030", .title = "coverage incomplete", .run = pass_coverage, .is_fact = true,
	  .explain =
	  "Something went past the hooks or did not fit into the tables, so not everything was seen.\n"
	  "Verdicts that would need it are weakened.\n" },
};
const size_t npasses = sizeof(passes) / sizeof(*passes);

const struct pass *pass_find(const char *rule)
{
	for (size_t i = 0; i < npasses; i++)
		if (!strcmp(passes[i].rule, rule))
			return &passes[i];
	return NULL;
}
