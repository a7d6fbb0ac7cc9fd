// SPDX-License-Identifier: MIT
//
// P0: did anything bypass the tables? A gap that the library marked, a set or a row that it did not see made,
// a thread that waits in epoll by a call of its own.
#include "engine/witness/bypassed.h"

#include "engine/target/registrations.h"

static const struct {
	uint32_t bit;
	const char *text;
} GAPS[] = {
	{CTP_GAP_STATIONS, "some coroutines did not fit into the table"},
	{CTP_GAP_CANDS, "some closed descriptors did not fit into the table"},
	{CTP_GAP_FDS, "a descriptor number was too large for the table"},
	{CTP_GAP_THREADS, "some threads did not fit into the table"},
	{CTP_GAP_BLIND, "a signal handler switched coroutines inside a hook, unseen"},
	{CTP_GAP_URING, "io_uring or AIO is in use: a request keeps a closed file alive"},
	{CTP_GAP_OWN_FDS, "a thread has, or had, descriptors of its own: one number is several files"},
};

static bool thread_hidden(const struct inspection *l, const struct proc_task *t)
{
	if (!inspect_in_epoll(t))
		return false;
	if (t->slot < 0)
		return true;
	const struct ctp_thread *c = &l->threads[t->slot];
	return !(c->wait_seq & 1) || c->wait_call != CTP_IN_EPOLL || c->wait_fd != (int)t->args[0];
}

// A row that the tables do not know: its number was never seen, or is open and said to be registered nowhere.
static bool unknown_to_tables(const struct inspection *l, const struct registration *reg)
{
	struct ctp_fd f;
	if (!inspect_fd(l->r, (uint64_t)(uint32_t)reg->tfd, &f) || f.life == CTP_FD_UNKNOWN)
		return true;
	if (f.life != CTP_FD_OPEN || f.reg_epfd >= 0 || (f.flags & CTP_FD_MANYREGS))
		return false;
	return registrations_is_open_as(l->pid, reg, reg->tfd) != 0;
}

// In a process that ctp-run attached to, what the tables do not know may be from before, and a pointer to a
// function that was taken before, or an object loaded later, goes past the hooks: the question stays open.
static void judge_p0_attached(struct inspection *l, const struct inspect_answer *a)
{
	inspect_say_all(l, PROOF_P0, HOLDS_OPEN,
			a->holds == HOLDS_TRUE ?
				"ctp-run attached while the program ran: what it did not see is not known" :
				a->text);
}

void bypassed_judge(struct inspection *l)
{
	struct inspect_answer a;
	uint32_t gaps = ctp_load32(&l->r->ext->gaps);
	inspect_say(&a, HOLDS_TRUE,
		    "the tables are complete: no wait and no registration that they do not know");
	for (size_t i = 0; i < sizeof(GAPS) / sizeof(*GAPS); i++)
		if (gaps & GAPS[i].bit)
			inspect_say(&a, HOLDS_FALSE, "%s", GAPS[i].text);
	if (l->registrations.uring)
		inspect_say(&a, HOLDS_FALSE,
			    "io_uring or AIO is in use: a request keeps a closed file alive");
	if (a.holds == HOLDS_TRUE && !l->registrations.complete)
		inspect_say(&a, HOLDS_OPEN, "not all epoll registrations could be read");
	for (size_t i = 0; a.holds == HOLDS_TRUE && i < l->registrations.nsets; i++) {
		struct ctp_fd f;
		if (!inspect_fd(l->r, (uint64_t)l->registrations.sets[i], &f) || f.life != CTP_FD_OPEN ||
		    f.kind != CTP_FD_EPOLL)
			inspect_say(&a, HOLDS_FALSE,
				    "epoll descriptor %d was made by a call that ctp did not see",
				    l->registrations.sets[i]);
	}
	for (size_t i = 0; a.holds == HOLDS_TRUE && i < l->tasks.n; i++)
		if (thread_hidden(l, &l->tasks.v[i]))
			inspect_say(&a, HOLDS_FALSE,
				    "thread %d waits in epoll by a call that ctp did not see",
				    l->tasks.v[i].tid);
	for (size_t i = 0; a.holds == HOLDS_TRUE && i < l->registrations.n; i++) {
		if (i % 1024 == 1023 && inspect_late(l))
			inspect_say(&a, HOLDS_OPEN, "there was no time to look at every registration");
		else if (unknown_to_tables(l, &l->registrations.v[i]))
			inspect_say(&a, HOLDS_FALSE,
				    "fd %d was registered in epoll fd %d by a call that ctp did not see",
				    l->registrations.v[i].tfd, l->registrations.v[i].epfd);
	}
	if ((gaps & CTP_GAP_ATTACHED) && !l->registrations.uring)
		judge_p0_attached(l, &a);
	else
		inspect_say_all(l, PROOF_P0, a.holds, a.text);
}
