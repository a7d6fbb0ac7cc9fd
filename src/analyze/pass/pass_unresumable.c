// SPDX-License-Identifier: MIT
//
// CTP029: a C++20 coroutine is suspended, and nothing can resume it. The engine found its frame, and searched
// what leads there; where a descriptor was closed whose registration led to it, that is said, too.
#include "analyze/case/stackless_case.h"

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	int e = 0;
	for (size_t k = 0; !e && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		for (size_t i = 0; !e && stackless_counts(m) && i < m->stackless.n; i++) {
			const struct stackless_seen *s = &m->stackless.v[i];
			struct verdict_case c;
			if (s->initial)
				continue;
			stackless_case(&c, pass, w, m, s, out);
			c.message =
				s->answer == STACKLESS_LOST ?
					"its handle is kept nowhere in the program" :
				s->answer == STACKLESS_NUMBERED ?
					"its handle is kept under the number of a descriptor that was closed" :
				s->answer == STACKLESS_OWNED ?
					"only coroutines that wait for it lead to it" :
					"its descriptor was closed, and only its owner still leads to it";
			e = results_add(out, &c);
		}
	}
	return e;
}

const struct pass pass_unresumable = {
	.rule = rules_id[RULE_UNRESUMABLE],
	.title = "stackless coroutine can never be resumed",
	.claim = "can never be resumed",
	.likely = "will not be resumed, unless its owner does so by hand",
	.suspect = "may never be resumed",
	.waits = true,
	.run = run,
	.fix = "resume the coroutine before the last copy of its handle goes: where a descriptor is closed, hand its waiter "
	       "an error first; where a waiter is dropped, destroy its coroutine",
	.explain =
		"A C++20 coroutine is suspended, and the last copy of its handle is gone.\n"
		"\n"
		"    task<int> read_byte(int fd) {\n"
		"            co_await readable(fd);           the handle is kept in epoll's data alone\n"
		"            ...\n"
		"    }\n"
		"    reap(conn) {\n"
		"            close(conn->fd);                 the kernel forgets the handle\n"
		"    }\n"
		"\n"
		"A C++20 coroutine is a block of memory, its frame. Code can resume it only by the frame's address.\n"
		"This one is suspended, and no word in memory, in a register or in the kernel's tables holds that\n"
		"address any more: it never goes on, and what it owns is never released.\n"
		"\n"
		"PROVEN   nothing leads to it; and to one that was suspended at the same place something did, or the\n"
		"         whole program sleeps for good\n"
		"LIKELY   only coroutines that await it lead to it; or, after its descriptor was closed, only its\n"
		"         owner; or nothing did, but none of its kind was ever found, a later look\n"
		"         could not tell, or a process that it forked lives\n"
		"SUSPECT  its handle is kept in one place, beside a number that its frame holds, too; a descriptor of\n"
		"         that number, registered with the number as data, was closed since, and is in no set again;\n"
		"         or bytes that the process may have sent to itself wait in a socket: they may hold it;\n"
		"         or only words lead to it that a std::deque or std::vector has left behind; or the program\n"
		"         ran on before all words in disguise were looked for, and how its kind is kept is not known\n"
		"\n"
		"Repair: resume the coroutine before the last copy of its handle is dropped. Before a descriptor is\n"
		"closed, hand its waiter an error; when a waiter is dropped, destroy its coroutine.\n"
		"\n"
		"Not reported: a generator that is kept in an object; a coroutine in a queue; one that is kept at its\n"
		"final suspension; one that is awaited and whose own wait is alive. If the program has an allocator\n"
		"of its own, or uses io_uring, ctp cannot tell.\n",
};
