// SPDX-License-Identifier: MIT
//
// Searches the program's objects for handles of Boost.Context.
#include "preload/coroutine/fcontext.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include "preload/coroutine/handle_cache.h"
#include "preload/coroutine/stack_index.h"
#include "preload/guest/exit.h"

enum { OBJECT_WORDS = 64 };

bool fcontext_any;

struct ctp_state *fcontext_search(uint64_t data)
{
	uint64_t words[OBJECT_WORDS];
	struct iovec to = {words, sizeof(words)}, from = {(void *)data, sizeof(words)};
	struct ctp_state *one = NULL;
	long n = guest_syscall(SYS_process_vm_readv, ctp_tracer->pid, (long)&to, 1, (long)&from, 1, 0);
	for (long i = 0; i < n / 8; i++) {
		struct ctp_state *s = handle_cache_find(words[i]); // the fast path tells the map nothing
		if (!fcontext_waits_at(s, words[i]))
			s = stack_index_slot(words[i]);
		if (!fcontext_waits_at(s, words[i]) || s->entity != CTP_COROUTINE || s == one)
			continue;
		if (one)
			return NULL;
		one = s;
	}
	return one;
}

struct ctp_state *fcontext_late(struct thread_ctx *g, uint64_t handle, const struct ctp_state *there)
{
	struct ctp_state *s = stack_index_slot(handle);
	bool late = s && (s->life == CTP_RUNNING || s->life == CTP_FINISHED ||
			  (s->life == CTP_DESTROYED && s->how == CTP_HOW_RELEASED));
	if (!late || s == g->current || (there && there != s && there->life < CTP_FINISHED))
		return NULL;
	g->late.who = s;
	g->late.sp = s->regs[CTP_REG_SP];
	g->late.slot = handle;
	return s;
}
