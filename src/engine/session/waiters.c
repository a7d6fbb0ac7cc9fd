// SPDX-License-Identifier: MIT
//
// Nothing that a process waits for depends on a disk: what ctp-run has to write of others comes later.
// (A program that started ctp-run itself is the exception: it finds its trace complete when it ends.)
#include "engine/session/waiters.h"

#include "ctp/seq.h"
#include "engine/session/finish.h"
#include "engine/session/follow.h"
#include "engine/session/process_inspect.h"

static void serve_meanwhile(void *session)
{
	waiters_serve(session);
}

void waiters_begin(struct session *s)
{
	s->recorder.meanwhile = serve_meanwhile;
	s->recorder.meanwhile_arg = s;
}

static void answer_finals(struct session *s)
{
	size_t n = s->n_processes; // a process that begins meanwhile has its turn later
	for (size_t i = 0; i < n && i < s->n_processes; i++) {
		struct process *p = s->processes[i];
		if (p->ended || p->final_done || ctp_load32(&p->region->ext->final_asked) != CTP_FINAL_ASKED)
			continue;
		process_inspect_final(p);
		if (s->standalone)
			finish_write(s);
		process_inspect_release(p);
		follow_answer(s);
	}
}

void waiters_serve(struct session *s)
{
	if (s->serving)
		return;
	s->serving = true;
	follow_answer(s);
	answer_finals(s);
	s->serving = false;
}
