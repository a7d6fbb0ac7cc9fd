// SPDX-License-Identifier: MIT
//
// P2 and P3 if the epoll set was closed, and what the coroutine waits for is still open (CTP025).
// The registrations ended with the set, unless something keeps its description: another number of it
// here, another process, a thread that sleeps in a wait of it, a message that carries it. And the
// descriptor that the coroutine waits for may be registered in another set by now.
#include "engine/witness/closed_set.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/living.h"
#include "ctp/wait_inference.h"
#include "ctp/there.h"
#include "engine/witness/beside.h"

// Does its registration lead to a coroutine that has no wait of its own? Whom it points to is
// a guess where another was woken by it or waits for it; and whom it woke may have gone elsewhere since.
static bool references(const struct ctp_fd *f, const struct ctp_state *s)
{
	const uint64_t others[] = {f->learned, f->waiter[0] & CTP_ID_MASK, f->waiter[1] & CTP_ID_MASK};
	if (f->learned == s->id)
		return ctp_stands_there(f, s);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (others[i] && others[i] != s->id)
			return false;
	return (f->leads & CTP_ID_MASK) == s->id;
}

bool closed_set_wait(const struct ctp_region *r, const struct suspect *s, int *fd, struct ctp_fd *f)
{
	struct ctp_walk w = ctp_walk_fds(r);
	if (s->wait >= 0) {
		*fd = s->s.waits[s->wait].fd;
		return inspect_fd(r, (uint64_t)*fd, f) && f->life == CTP_FD_OPEN &&
		       f->gen == s->s.waits[s->wait].gen;
	}
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1))
		if (r->fds[i].reg_epfd == s->c.fd && inspect_fd(r, i, f) && f->life == CTP_FD_OPEN &&
		    f->reg_epfd == s->c.fd && f->reg_epgen == s->c.gen && references(f, &s->s)) {
			*fd = (int)i;
			return true;
		}
	return false;
}

// An open number of the set that was closed.
static int other_number(const struct ctp_region *r, const struct suspect *s)
{
	struct ctp_walk w = ctp_walk_fds(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_fd f;
		if (r->fds[i].desc == s->c.was.desc && inspect_fd(r, i, &f) && f.life == CTP_FD_OPEN &&
		    f.desc == s->c.was.desc)
			return (int)i;
	}
	return -1;
}

// A thread asleep in a wait that it entered before the close has the set still.
static int waiting_thread(const struct inspection *l, const struct suspect *s)
{
	for (size_t i = 0; i < l->tasks.n; i++) {
		const struct proc_task *t = &l->tasks.v[i];
		if (!inspect_in_epoll(t) || (int)t->args[0] != s->c.fd)
			continue;
		bool after = t->slot >= 0 && (l->threads[t->slot].wait_seq & 1) &&
			     l->threads[t->slot].wait_since > s->c.time;
		if (!after)
			return t->tid;
	}
	return 0;
}

// Does a socket of the process hold descriptors that are on their way?
static bool in_a_message(const struct inspection *l)
{
	struct ctp_walk w = ctp_walk_fds(l->r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_fd *f = &l->r->fds[i];
		if (w.rows % 256 == 0 && inspect_late(l))
			return true; // that cannot be told any more
		if (f->life == CTP_FD_OPEN && (f->kind == CTP_FD_UNIX || f->kind == CTP_FD_OTHER) &&
		    proc_fd_awaits_fds(l->pid, (int)i))
			return true;
	}
	return false;
}

// A thread that sleeps in poll or select with the open fd in its set.
static int polling_thread(const struct inspection *l, int fd)
{
	for (size_t i = 0; l->polled && i < l->tasks.n; i++)
		if (polled_has(&l->polled[i], fd))
			return l->tasks.v[i].tid;
	return 0;
}

// A row of the open fd, under whatever number.
static const struct registration *registration_of(const struct inspection *l, int fd)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", living_of(l->pid), fd);
	bool known = !stat(path, &st);
	for (size_t i = 0; i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		bool may_be = known ? reg->ino == st.st_ino && reg->dev == registrations_dev(st.st_dev) :
				      reg->tfd == fd;
		if (may_be && registrations_is_open_as(l->pid, reg, fd) != 0)
			return reg;
	}
	return NULL;
}

static void judge_p3(const struct inspection *l, struct suspect *s, int fd, const struct ctp_fd *f)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	int number = other_number(l->r, s), tid = waiting_thread(l, s), polls = polling_thread(l, fd);
	const struct registration *reg = l->registrations.complete ? registration_of(l, fd) : NULL;
	if (!l->registrations.complete)
		inspect_say(a, HOLDS_OPEN, "not all epoll registrations could be read");
	else if (reg)
		inspect_say(a, HOLDS_FALSE, "fd %d#%u is registered in epoll fd %d", fd, f->gen, reg->epfd);
	else if (polls)
		inspect_say(a, HOLDS_FALSE, "thread %d sleeps in poll or select for fd %d#%u", polls, fd,
			    f->gen);
	else if (number >= 0)
		inspect_say(a, HOLDS_FALSE, "the set lives on as fd %d", number);
	else if (tid)
		inspect_say(a, HOLDS_FALSE,
			    "thread %d still sleeps in a wait of the set, which keeps it alive", tid);
	else if (inspect_has_kin(l->r))
		inspect_say(a, HOLDS_OPEN, "the program has forked: another process may have the set");
	else if (in_a_message(l))
		inspect_say(a, HOLDS_OPEN,
			    "a message that carries descriptors is on its way: the set may be one of them");
	else
		inspect_say(
			a, HOLDS_TRUE,
			"epoll fd %d#%u is closed, and no other set has a row of fd %d#%u (rows: %zu, sets: %zu)",
			s->c.fd, s->c.gen, fd, f->gen, l->registrations.n, l->registrations.nsets);
}

// Another registration that leads to it.
static const struct registration *other_registration(const struct inspection *l, const struct suspect *s,
						     const struct ctp_fd *f)
{
	bool own = s->wait >= 0 && (s->s.waits[s->wait].how & CTP_WAIT_REGISTERED);
	uint64_t data = own ? s->s.waits[s->wait].data : f->reg_data;
	for (size_t i = 0; i < l->registrations.n; i++)
		if (l->registrations.v[i].data == data || inspect_references(s, l->registrations.v[i].data))
			return &l->registrations.v[i];
	return NULL;
}

// What did not name F itself may wait for the other as well.
static void judge_other(struct inspection *l, struct suspect *s, const struct registration *reg)
{
	struct ctp_fd f = {0};
	bool known = inspect_fd(l->r, (uint64_t)(uint32_t)reg->tfd, &f) && f.life == CTP_FD_OPEN;
	if (s->wait < 0)
		inspect_say(&s->a[PROOF_P2], HOLDS_FALSE,
			    "fd %d in epoll fd %d is registered and leads to it too", reg->tfd, reg->epfd);
	else
		beside_note(l, s, reg->tfd, known ? f.gen : 0, known && beside_there(&f, &s->s), "registered",
			    "its data leads to it");
}

static void judge_p2(struct inspection *l, struct suspect *s, int fd, const struct ctp_fd *f)
{
	struct inspect_answer *a = &s->a[PROOF_P2];
	const struct registration *other = other_registration(l, s, f);
	if (s->s.flags & CTP_STATE_MOREWAITS || (s->s.nwaits > 1 && s->wait >= 0))
		inspect_say(a, HOLDS_OPEN, "it waits for more things than fd %d#%u", fd, f->gen);
	else if (s->wait < 0 && ctp_was_served(f, &s->s))
		inspect_say(a, HOLDS_OPEN,
			    "it got something from fd %d#%u, and did not try again: it may be done with it",
			    fd, f->gen);
	else if (ctp_in_pool(&s->s))
		inspect_say(
			a, HOLDS_OPEN,
			"events of other descriptors resumed it here before: it may not wait for fd %d#%u",
			fd, f->gen);
	else if (!l->registrations.complete)
		inspect_say(a, HOLDS_OPEN, "whether another registration leads to it could not be read");
	else
		inspect_say(a, HOLDS_TRUE, "fd %d#%u, registered in epoll fd %d#%u, is its one known wait",
			    fd, f->gen, s->c.fd, s->c.gen);
	if (other)
		judge_other(l, s, other);
}

void closed_set_judge(struct inspection *l, struct suspect *s)
{
	struct ctp_fd f;
	int fd;
	if (!closed_set_wait(l->r, s, &fd, &f)) {
		inspect_say(&s->a[PROOF_P2], HOLDS_FALSE, "what it waited for has ended since");
		inspect_say(&s->a[PROOF_P3], HOLDS_OPEN, "what it waited for has ended since");
		return;
	}
	judge_p2(l, s, fd, &f);
	judge_p3(l, s, fd, &f);
}
