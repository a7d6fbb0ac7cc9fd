// SPDX-License-Identifier: MIT
//
// The kernel keeps a thread's name only while the thread lives, and a hung program is mostly killed
// before its trace is read. So the name is copied into the thread's slot when the thread is
// discovered, at each inspection by the witness, and before the tables are copied.
#include "engine/target/thread_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "engine/target/proc.h"

void thread_names_note(const struct ctp_region *r, pid_t pid, uint32_t slot)
{
	struct ctp_thread *t = &r->threads[slot];
	char file[48], *name = NULL;
	size_t bytes = 0, n;
	snprintf(file, sizeof(file), "task/%u/comm", t->tid);
	if (ctp_load32(&t->life) != CTP_THREAD_LIVE || proc_slurp(pid, file, &name, &bytes))
		return;
	n = strcspn(name, "\n");
	for (size_t i = 0; n && i < sizeof(t->name); i++)
		t->name[i] = i < n && i + 1 < sizeof(t->name) ? name[i] : 0;
	free(name);
}

void thread_names_note_all(const struct ctp_region *r, pid_t pid)
{
	uint32_t n = ctp_load32(&r->ext->thread_high);
	for (uint32_t i = 0; i < n && i < r->threads_max; i++)
		thread_names_note(r, pid, i);
}
