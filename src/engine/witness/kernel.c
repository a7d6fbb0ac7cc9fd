// SPDX-License-Identifier: MIT
//
// P3: can the kernel still deliver? (P0 and P2 are asked on the way: bypassed.c, one_wait.c.) A registration
// belongs to the closed description if inode and device agree, unless it can be shown to hold another one. A
// socket's inode is its description. A pipe's two ends share one inode, as do all anonymous inodes: there,
// the number under which the registration's file is open now must be of another, known origin.
#include "engine/witness/kernel.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "ctp/late.h"
#include "ctp/polled.h"
#include "ctp/wait_inference.h"
#include "ctp/words.h"
#include "engine/inspect/hidden_fds.h"
#include "engine/witness/bypassed.h"
#include "engine/witness/closed_set.h"
#include "engine/witness/one_wait.h"
#include "engine/suspects/stuck_wait.h"

// Opened by a call that makes a new description: it cannot be a hidden dup.
static bool opened_anew(unsigned call)
{
	switch (call) {
	case CTP_CALL_OPEN:
	case CTP_CALL_SOCKET:
	case CTP_CALL_SOCKETPAIR:
	case CTP_CALL_ACCEPT:
	case CTP_CALL_PIPE:
	case CTP_CALL_EVENTFD:
	case CTP_CALL_TIMERFD:
	case CTP_CALL_EPOLL_CREATE:
	case CTP_CALL_FOPEN:
	case CTP_CALL_OPENDIR:
	case CTP_CALL_POPEN:
		return true;
	}
	return false;
}

enum belongs { OTHERS, MAYBE, ITS };

// What file a row holds is asked once a look: of thousands of suspects, and the kernel looks through the set
// each time.
static void ask_file(const struct inspection *l, struct registration *reg)
{
	struct ctp_fd f;
	reg->file = REGISTRATION_UNKNOWN;
	if (inspect_late(l))
		return;
	bool known = inspect_fd(l->r, (uint64_t)(uint32_t)reg->tfd, &f) && f.life == CTP_FD_OPEN;
	int same = known ? registrations_is_open_as(l->pid, reg, reg->tfd) : 0;
	reg->file = same == 1 ? REGISTRATION_NUMBERS :
		    same == 0 ? REGISTRATION_ANOTHERS :
				REGISTRATION_UNKNOWN;
	reg->desc = known ? f.desc : 0;
	reg->anew = known && opened_anew(f.opened_how);
}

// Does the row hold the description that suspect `s` waits for?
static enum belongs registration_of(const struct inspection *l, const struct suspect *s,
				    struct registration *reg)
{
	const struct ctp_cand *c = &s->c;
	if (!c->ino && !c->dev)
		return reg->tfd == c->fd ? MAYBE : OTHERS;
	if (reg->ino != c->ino || reg->dev != registrations_dev(c->dev))
		return OTHERS;
	if (S_ISSOCK(c->mode))
		return ITS;
	if (reg->file == REGISTRATION_NOT_ASKED)
		ask_file(l, reg);
	if (reg->file == REGISTRATION_NUMBERS && reg->desc == c->was.desc)
		return ITS;
	if (reg->file == REGISTRATION_NUMBERS && reg->desc && c->was.desc && reg->anew)
		return OTHERS;
	return reg->tfd == c->fd && reg->file == REGISTRATION_ANOTHERS ? ITS : MAYBE;
}

// Which arguments of a system call are descriptors whose files the kernel keeps while it sleeps there (bit i:
// argument i).
static const struct {
	int nr;
	unsigned args;
} HOLDING[] = {
	{SYS_read, 1},           {SYS_write, 1},
	{SYS_readv, 1},          {SYS_writev, 1},
	{SYS_pread64, 1},        {SYS_pwrite64, 1},
	{SYS_preadv, 1},         {SYS_pwritev, 1},
	{SYS_preadv2, 1},        {SYS_pwritev2, 1},
	{SYS_accept, 1},         {SYS_accept4, 1},
	{SYS_connect, 1},        {SYS_recvfrom, 1},
	{SYS_recvmsg, 1},        {SYS_recvmmsg, 1},
	{SYS_sendto, 1},         {SYS_sendmsg, 1},
	{SYS_sendmmsg, 1},       {SYS_sendfile, 3},
	{SYS_splice, 5},         {SYS_tee, 3},
	{SYS_vmsplice, 1},       {SYS_copy_file_range, 5},
	{SYS_fsync, 1},          {SYS_fdatasync, 1},
	{SYS_ioctl, 1},          {SYS_fcntl, 1},
	{SYS_flock, 1},          {SYS_fallocate, 1},
	{SYS_ftruncate, 1},      {SYS_getdents64, 1},
	{SYS_mq_timedsend, 1},   {SYS_mq_timedreceive, 1},
	{SYS_io_uring_enter, 1}, {SYS_sync_file_range, 1},
	{SYS_shutdown, 1},       {SYS_syncfs, 1},
};

static bool call_holds(const struct proc_task *t, int fd)
{
	for (size_t i = 0; i < sizeof(HOLDING) / sizeof(*HOLDING); i++)
		for (unsigned k = 0; t->nr == HOLDING[i].nr && k < 3; k++)
			if ((HOLDING[i].args >> k & 1) && (int)t->args[k] == fd)
				return true;
	return false;
}

// Has sat in a call on F since before the close: the kernel keeps the file, and its rows, meanwhile.
static bool in_io_of(const struct inspection *l, const struct suspect *s, const struct proc_task *t)
{
	if (t->slot >= 0) {
		const struct ctp_thread *c = &l->threads[t->slot];
		if (c->wait_call == CTP_IN_IO && c->wait_fd == s->c.fd && (c->wait_seq & 1))
			return c->wait_since <= s->c.time;
	}
	return call_holds(t, s->c.fd);
}

// For what must an open F stand in a set to be heard of? No byte comes by a row whose events are 0, or
// others. 0: for anything, as its file is what counts.
static uint32_t polled_for(const struct suspect *s)
{
	return stuck_wait_is(s) && s->c.fd >= 0 ? stuck_wait_needed(s) & (CTP_POLLED_IN | CTP_POLLED_OUT) : 0;
}

// Stands F in the set, by the marks of the entry?
static bool marked(const struct suspect *s, const struct ctp_thread *c)
{
	uint32_t needed = polled_for(s);
	if (s->wrong_mask)
		return false; // the marks do not tell what it stands there for
	if (!needed)
		return ctp_polled_has(c, &s->c.was) == 1;
	return ((needed & CTP_POLLED_IN) && s->c.was.polled == c->wait_since) ||
	       ((needed & CTP_POLLED_OUT) && s->c.was.polled_out == c->wait_since);
}

static bool in_set(const struct suspect *s, const struct polled *set)
{
	uint32_t needed = polled_for(s);
	return needed ? polled_has_for(set, s->c.fd, needed) : polled_has(set, s->c.fd);
}

// Sleeps in poll or select, for F perhaps: 1 it does, 0 not, -1 not known. One that
// was entered before the close has the file still; after it the number is another's.
static int polls_for(const struct inspection *l, const struct suspect *s, size_t task)
{
	const struct proc_task *t = &l->tasks.v[task];
	const struct ctp_thread *c = t->hooked ? &l->threads[t->slot] : NULL;
	if (polled_call(t->nr) == POLLED_NONE)
		return 0;
	if (c && c->wait_since > s->c.time)
		return 0;
	if (c && marked(s, c))
		return 1;
	if (in_set(s, &l->polled[task]))
		return 1;
	return (c ? l->polled[task].known : l->polled[task].read) ? 0 : -1;
}

bool kernel_threads_hold(struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	for (size_t i = 0; i < l->tasks.n; i++) {
		const struct proc_task *t = &l->tasks.v[i];
		if (in_io_of(l, s, t)) {
			inspect_say(a, HOLDS_FALSE,
				    "thread %d is still in a call on fd %d#%u, which keeps it open", t->tid,
				    s->c.fd, s->c.gen);
			return true;
		}
		int p = polls_for(l, s, i);
		if (p) {
			inspect_say(a, p == 1 ? HOLDS_FALSE : HOLDS_OPEN,
				    "thread %d sleeps in poll or select, perhaps on fd %d#%u", t->tid,
				    s->c.fd, s->c.gen);
			return true;
		}
		if ((t->nr == PROC_NO_SYSCALL || t->nr == SYS_restart_syscall) && !proc_task_dead(t)) {
			inspect_say(a, HOLDS_OPEN, "it cannot be seen what thread %d sleeps in", t->tid);
			return true;
		}
	}
	return false;
}

void kernel_say_masked(struct suspect *s, int epfd, uint32_t events)
{
	char names[96] = "no events";
	if (events & (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI))
		words_events(events, names, sizeof(names));
	inspect_say(&s->a[PROOF_P3], HOLDS_TRUE,
		    "the row of fd %d#%u in epoll fd %d has %s: nothing of what it waits for", s->c.fd,
		    s->c.gen, epfd, names);
}

// It was masked, not taken out: the row that is left, with this mask, has nothing of what C waits for. (A
// hang-up of the peer would wake it: that is not the event that it waits for.)
static bool is_masked(const struct suspect *s, const struct registration *reg, enum belongs b)
{
	return s->c.call == CTP_CALL_EPOLL_MOD && b == ITS && !(reg->events & stuck_wait_needed(s));
}

static void judge_p3(struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	const struct registration *masked = NULL;
	if (!l->registrations.complete) {
		inspect_say(a, HOLDS_OPEN,
			    l->registrations.denied ?
				    "the kernel does not show the program's descriptors" :
			    l->registrations.too_many ?
				    "too many registrations to read them all while the program runs" :
				    "not all epoll registrations could be read");
		return;
	}
	if (!s->c.ino && !s->c.dev) {
		inspect_say(a, HOLDS_OPEN, "it is not known which file fd %d#%u was", s->c.fd, s->c.gen);
		return;
	}
	for (size_t i = 0; i < l->registrations.n; i++) {
		struct registration *reg = &l->registrations.v[i];
		enum belongs b = registration_of(l, s, reg);
		if (b == OTHERS)
			continue;
		if (is_masked(s, reg, b)) {
			masked = reg;
			continue;
		}
		inspect_say(
			a, b == ITS ? HOLDS_FALSE : HOLDS_OPEN,
			b == ITS ?
				"fd %d#%u is still registered, as fd %d in epoll fd %d: its description lives on" :
				"fd %d#%u may still be registered, as fd %d in epoll fd %d",
			s->c.fd, s->c.gen, reg->tfd, reg->epfd);
		return;
	}
	if (kernel_threads_hold(l, s))
		return;
	if (*l->hidden) {
		inspect_say(a, HOLDS_OPEN, "%.180s: it may be registered there", l->hidden);
		return;
	}
	int epfd = s->wait >= 0 && s->s.waits[s->wait].epfd >= 0 ? s->s.waits[s->wait].epfd :
								   s->c.was.reg_epfd;
	if (masked)
		kernel_say_masked(s, masked->epfd, masked->events);
	else if (epfd < 0 && (s->c.was.polled || s->c.was.polled_out))
		inspect_say(a, HOLDS_TRUE, "fd %d#%u is in no set that a thread polls, and in no epoll set",
			    s->c.fd, s->c.gen);
	else if (epfd >= 0)
		inspect_say(a, HOLDS_TRUE,
			    "no row for %d#%u in epoll fd %d, nor in any other (rows: %zu, sets: %zu)",
			    s->c.fd, s->c.gen, epfd, l->registrations.n, l->registrations.nsets);
	else
		inspect_say(a, HOLDS_TRUE, "no row for %d#%u in any epoll set (rows: %zu, sets: %zu)",
			    s->c.fd, s->c.gen, l->registrations.n, l->registrations.nsets);
}

static int by_id(const void *a, const void *b)
{
	const struct suspect *x = *(struct suspect *const *)a, *y = *(struct suspect *const *)b;
	return x->s.id < y->s.id ? -1 : x->s.id > y->s.id;
}

void kernel_judge(struct inspection *l)
{
	hidden_fds_find(l);
	bypassed_judge(l);
	for (size_t i = 0; i < l->n; i++) {
		if (stuck_wait_is(l->who[i]))
			continue;
		if (inspect_late(l)) {
			inspect_say(&l->who[i]->a[PROOF_P2], HOLDS_OPEN,
				    "there was no time to look at every coroutine");
			inspect_say(&l->who[i]->a[PROOF_P3], HOLDS_OPEN,
				    "there was no time to look at every coroutine");
			continue;
		}
		if (l->who[i]->rule == RULE_SET_CLOSED) {
			closed_set_judge(l, l->who[i]);
			continue;
		}
		one_wait_judge(l, l->who[i]);
		judge_p3(l, l->who[i]);
	}
	qsort(l->who, l->n, sizeof(struct suspect *), by_id);
	one_wait_others(l);
}
