// SPDX-License-Identifier: MIT
//
// P0, P2 and P3: did anything bypass the tables, is the wait for F the coroutine's one known wait, and
// can the kernel still deliver? A registration belongs to the closed description if inode and device
// agree, unless it can be shown to hold another one. A socket's inode is its description. A pipe's
// two ends share one inode, as do all anonymous inodes: there, the number under which the
// registration's file is open now must be of another, known origin.
#include "engine/witness/kernel.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/search.h"
#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "ctp/polled.h"
#include "ctp/wait_inference.h"
#include "ctp/words.h"
#include "engine/inspect/hidden_fds.h"
#include "engine/witness/beside.h"
#include "engine/witness/closed_set.h"
#include "engine/witness/stuck_wait.h"

// ------------------------------------------------------------------------ P0

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

static void judge_p0(struct inspection *l)
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

// ------------------------------------------------------------------------ P3

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

// ------------------------------------------------------------------------ P2

static const struct ctp_wait *wait_of(const struct suspect *s)
{
	return s->wait >= 0 ? &s->s.waits[s->wait] : NULL;
}

// It has had something of F, and did not say that it wants more.
static bool may_be_done(const struct suspect *s)
{
	return ctp_may_be_done(&s->c.was, &s->s, wait_of(s));
}

// How the registration of F leads to C; NULL if it is not known to. Partner: leads() in obligations.c.
static const char *link_of(const struct suspect *s)
{
	static const char *const texts[] = {
		[CTP_LINK_OWN] = "it registered the descriptor itself before it suspended",
		[CTP_LINK_SET] =
			"it stood in a set that was polled after it suspended, and events of it resumed it before",
		[CTP_LINK_DATA] = "the registration's data points into its memory",
		[CTP_LINK_EVENTS] = "events of the descriptor resumed it before",
		[CTP_LINK_CONTEXT] = "the registration's data points to what holds its context",
	};
	const struct ctp_fd *f = &s->c.was;
	const struct ctp_link_seen seen = {
		.registered = f->reg_epfd >= 0,
		.polled = f->polled > ctp_state_latest(&s->s) || f->polled_out > ctp_state_latest(&s->s),
		.points_in = inspect_references(s, f->reg_data),
	};
	enum ctp_link link = ctp_wait_link(f, &s->s, wait_of(s), &seen);
	return link == CTP_LINK_NONE || (link != CTP_LINK_OWN && may_be_done(s)) ? NULL : texts[link];
}

// Another live row that leads to C.
static const struct registration *other_registration(const struct inspection *l, const struct suspect *s)
{
	bool has = s->c.was.reg_epfd >= 0;
	uint64_t data = s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REGISTERED) ?
				s->s.waits[s->wait].data :
				s->c.was.reg_data;
	has |= s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REGISTERED);
	for (size_t i = 0; i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		if (s->c.call == CTP_CALL_EPOLL_MOD && reg->tfd == s->c.fd)
			continue; // its own, masked
		if ((has && reg->data == data) || inspect_references(s, reg->data))
			return reg;
	}
	return NULL;
}

// Another thing that C itself said it waits for, and that is still there.
const struct ctp_wait *kernel_other_wait(const struct inspection *l, const struct suspect *s)
{
	for (uint32_t i = 0; i < s->s.nwaits && i < CTP_WAITS; i++) {
		const struct ctp_wait *w = &s->s.waits[i];
		struct ctp_fd f;
		if (w->fd == s->c.fd && w->gen == s->c.gen)
			continue;
		if (w->fd >= 0 && inspect_fd(l->r, (uint64_t)w->fd, &f) && f.gen == w->gen &&
		    f.life == CTP_FD_OPEN)
			return w;
	}
	return NULL;
}

// Another row, or another wait of its own, that leads to C.
static void others_beside(struct inspection *l, struct suspect *s)
{
	const struct registration *reg = other_registration(l, s);
	const struct ctp_wait *w = kernel_other_wait(l, s);
	struct ctp_fd f = {0};
	if (w)
		beside_note(l, s, w->fd, w->gen, !ctp_told_alone(wait_of(s), w), "open",
			    "it waits for that one as well");
	if (!reg)
		return;
	bool known = inspect_fd(l->r, (uint64_t)(uint32_t)reg->tfd, &f) && f.life == CTP_FD_OPEN;
	beside_note(l, s, reg->tfd, known ? f.gen : 0, known && beside_there(&f, &s->s), "registered",
		    "its data leads to it");
}

static void judge_p2(struct inspection *l, struct suspect *s)
{
	struct inspect_answer *a = &s->a[PROOF_P2];
	const char *how = link_of(s);
	if (s->s.flags & CTP_STATE_MOREWAITS)
		inspect_say(a, HOLDS_FALSE, "it waits for more things than were kept");
	else if (ctp_in_pool(&s->s))
		inspect_say(
			a, HOLDS_OPEN,
			"events of other descriptors resumed it here before: it may not wait for fd %d#%u",
			s->c.fd, s->c.gen);
	else if (!how && may_be_done(s))
		inspect_say(a, HOLDS_OPEN,
			    "it got something from fd %d#%u, and did not try again: it may be done with it",
			    s->c.fd, s->c.gen);
	else if (!how)
		inspect_say(a, HOLDS_OPEN, "no registration of fd %d#%u is known to lead to it%s", s->c.fd,
			    s->c.gen,
			    s->c.was.polled > ctp_state_latest(&s->s) ||
					    s->c.was.polled_out > ctp_state_latest(&s->s) ?
				    ", but it stood in a set that was polled after it suspended" :
				    "");
	else if (!l->registrations.complete)
		inspect_say(a, HOLDS_OPEN, "%s; whether another does too could not be read", how);
	else
		inspect_say(a, HOLDS_TRUE, "fd %d#%u is its one known wait: %s", s->c.fd, s->c.gen, how);
	others_beside(l, s);
}

static int by_id(const void *a, const void *b)
{
	const struct suspect *x = *(struct suspect *const *)a, *y = *(struct suspect *const *)b;
	return x->s.id < y->s.id ? -1 : x->s.id > y->s.id;
}

// An open descriptor that leads to C as well: registered, and C added it in any
// slice, or it woke it here before; or polled since C suspended, and it woke it here before.
static void others_of(struct inspection *l, uint64_t id, int fd, const struct ctp_fd *f, bool learned,
		      const char *how)
{
	size_t lo = FIRST_NOT(l->n, i, l->who[i]->s.id < id);
	for (; lo < l->n && l->who[lo]->s.id == id; lo++) {
		struct suspect *s = l->who[lo];
		bool through = s->rule == RULE_SET_CLOSED && f->reg_epfd == s->c.fd &&
			       f->reg_epgen == s->c.gen;
		bool there = beside_there(f, &s->s);
		if (stuck_wait_is(s) || through || (fd == s->c.fd && f->gen == s->c.gen) ||
		    (learned && !there))
			continue;
		if (f->reg_epfd >= 0 || f->polled > s->s.since || f->polled_out > s->s.since)
			beside_note(l, s, fd, f->gen, there, f->reg_epfd >= 0 ? "registered" : "polled", how);
	}
}

// What nobody has refuted may still be, in what was not looked at.
void kernel_unsettle(struct inspection *l, bool stuck)
{
	for (size_t i = 0; i < l->n; i++)
		if (stuck_wait_is(l->who[i]) == stuck && l->who[i]->a[PROOF_P2].holds == HOLDS_TRUE)
			inspect_say(&l->who[i]->a[PROOF_P2], HOLDS_OPEN,
				    "there was no time to look at every registration");
}

// Open descriptors that lead to a suspect, too.
static void other_fds(struct inspection *l)
{
	struct ctp_walk w = ctp_walk_fds(l->r);
	for (uint64_t fd = ctp_walk_from(&w, 0); fd < w.n; fd = ctp_walk_from(&w, fd + 1)) {
		struct ctp_fd f;
		if (w.rows % 4096 == 0 && inspect_late(l)) {
			kernel_unsettle(l, false);
			return;
		}
		if (l->r->fds[fd].life != CTP_FD_OPEN || !inspect_fd(l->r, fd, &f) || f.life != CTP_FD_OPEN ||
		    (f.reg_epfd < 0 && !f.polled && !f.polled_out))
			continue;
		if (f.adder)
			others_of(l, f.adder, (int)fd, &f, false, "it added that one itself");
		if (f.learned)
			others_of(l, f.learned, (int)fd, &f, true,
				  "events of that one resumed it here before");
		if (f.leads)
			others_of(l, f.leads & CTP_ID_MASK, (int)fd, &f, f.learned == (f.leads & CTP_ID_MASK),
				  "its data leads to it");
	}
}

void kernel_judge(struct inspection *l)
{
	hidden_fds_find(l);
	judge_p0(l);
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
		judge_p2(l, l->who[i]);
		judge_p3(l, l->who[i]);
	}
	qsort(l->who, l->n, sizeof(struct suspect *), by_id);
	other_fds(l);
}
