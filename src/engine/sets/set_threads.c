// SPDX-License-Identifier: MIT
//
// What threads sleep in, if one joins another: another thread's end, a lock, a descriptor. A
// thread counts if it was in the call when the inspection began, and has not left it when all
// has been asked; in a call that a descriptor may end, it must not have run either. pthread_join
// sleeps on the word that holds the other thread's number, so the kernel shows which one it is.
// Descriptors are reported only if no other process may have them.
#include "engine/sets/set_threads.h"

#include <jansson.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/living.h"
#include "engine/sets/set_line.h"
#include "engine/slices/slice.h"

enum { RECORD_MOST = 1 << 13 }; // bytes of what the C library keeps of a thread

static bool joins(const struct ctp_thread *t)
{
	return t->wait_call == CTP_IN_BLOCK && t->wait_fd == CTP_BLOCK_JOIN;
}

bool set_threads_any(const struct ctp_region *r)
{
	uint32_t n = ctp_load32(&r->ext->thread_high);
	for (uint32_t i = 0; i < n && i < r->threads_max; i++)
		if (ctp_load32(&r->threads[i].life) == CTP_THREAD_LIVE &&
		    (ctp_load64(&r->threads[i].wait_seq) & 1) && joins(&r->threads[i]))
			return true;
	return false;
}

// In a futex for as long as it takes, asleep or stopped.
static bool in_futex(const struct proc_task *t)
{
	unsigned op = (unsigned)t->args[1] & FUTEX_CMD_MASK;
	return (t->state == 'S' || t->state == 'T') && !t->tracer && t->nr == SYS_futex &&
	       (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET) && !t->args[3];
}

static bool is_thread(const struct inspection *l, uint32_t tid)
{
	for (size_t i = 0; i < l->tasks.n; i++)
		if ((uint32_t)l->tasks.v[i].tid == tid && !proc_task_dead(&l->tasks.v[i]))
			return true;
	return false;
}

static bool in_join(json_t *o, const struct inspection *l, const struct proc_task *t,
		    const struct ctp_thread *c)
{
	uint32_t of = (uint32_t)t->args[2];
	if (t->args[0] < c->wait_buf || t->args[0] - c->wait_buf > RECORD_MOST || !is_thread(l, of))
		return false;
	return !json_object_set_new(o, "in", json_string("join")) &&
	       !json_object_set_new(o, "of", json_integer(of));
}

static bool in_lock(json_t *o, const struct inspection *l, const struct slice_block *b)
{
	if (!b->owner_tid || !is_thread(l, b->owner_tid))
		return false;
	return !json_object_set_new(o, "in", json_string("lock")) &&
	       !json_object_set_new(o, "of", json_integer(b->owner_tid));
}

// events: as epoll and poll have them; both mean the same by IN and OUT.
static json_t *descriptor(const struct inspection *l, int fd, uint32_t events)
{
	struct ctp_fd f = {0};
	bool known = fd >= 0 && inspect_fd(l->r, (uint64_t)fd, &f);
	return json_pack("[i, I, b, b]", fd, (json_int_t)(known ? f.gen : 0),
			 (events & (EPOLLIN | EPOLLPRI | EPOLLRDNORM)) != 0,
			 (events & (EPOLLOUT | EPOLLWRNORM)) != 0);
}

static bool is_timed(pid_t pid, int fd, bool out)
{
	int pidfd = living_pidfd(pid), copy = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	struct timeval t = {0};
	socklen_t bytes = sizeof(t);
	bool timed = copy < 0 ||
		     (!getsockopt(copy, SOL_SOCKET, out ? SO_SNDTIMEO : SO_RCVTIMEO, &t, &bytes) &&
		      (t.tv_sec || t.tv_usec));
	if (copy >= 0)
		close(copy);
	if (pidfd >= 0)
		close(pidfd);
	return timed;
}

static bool in_io(json_t *o, const struct inspection *l, const struct proc_task *t)
{
	static const long in[] = {SYS_read, SYS_readv, SYS_recvfrom, SYS_recvmsg},
			  out[] = {SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg};
	int which = -1;
	for (unsigned i = 0; i < sizeof(in) / sizeof(*in); i++)
		which = t->nr == in[i] ? 0 : t->nr == out[i] ? 1 : which;
	int fd = (int)t->args[0];
	if (which < 0 || t->state != 'S' || t->tracer || is_timed(l->pid, fd, which))
		return false;
	json_t *fds = json_pack("[o]", descriptor(l, fd, which ? EPOLLOUT : EPOLLIN));
	return !json_object_set_new(o, "in", json_string("io")) && !json_object_set_new(o, "fds", fds);
}

// The loop's wait: with all that could end it. One with a timeout ends by itself.
static bool in_set(json_t *o, const struct inspection *l, const struct proc_task *t, const struct polled *set)
{
	bool epoll = inspect_in_epoll(t),
	     timed = epoll ? (t->nr == SYS_epoll_pwait2 ? t->args[3] != 0 : (int)t->args[3] >= 0) :
			     l->threads[t->slot].wait_timeout_ns >= 0;
	json_t *fds = json_array();
	if (epoll)
		json_object_set_new(o, "epfd", json_integer((int)t->args[0]));
	for (size_t i = 0; epoll && i < l->registrations.n; i++)
		if (l->registrations.v[i].epfd == (int)t->args[0] &&
		    (l->registrations.v[i].events & CTP_REG_EVENTS))
			json_array_append_new(
				fds, descriptor(l, l->registrations.v[i].tfd, l->registrations.v[i].events));
	for (size_t i = 0; !epoll && set->known && i < set->n; i++)
		json_array_append_new(fds, descriptor(l, set->v[i].fd, set->v[i].events));
	bool all = !timed && (epoll ? l->registrations.complete : set->known && t->hooked);
	return !json_object_set_new(o, "in", json_string("loop")) &&
	       !json_object_set_new(o, "all", json_boolean(all)) && !json_object_set_new(o, "fds", fds);
}

static bool slept_on(pid_t pid, const struct proc_task *t)
{
	struct proc_task now;
	return proc_task_read(pid, t->tid, false, &now) && now.state == 'S' && now.switches == t->switches &&
	       now.run_ns == t->run_ns;
}

static json_t *addresses(const struct slice_stack *k)
{
	json_t *a = json_array();
	char pc[32];
	for (size_t i = 0; i < k->n; i++) {
		snprintf(pc, sizeof(pc), "0x%llx", (unsigned long long)k->pcs[i]);
		json_array_append_new(a, json_string(pc));
	}
	return a;
}

// A line about thread t; NULL: nothing is to be said of it.
static json_t *of_thread(const struct inspection *l, size_t i, bool alone, struct unwind **u)
{
	const struct proc_task *t = &l->tasks.v[i];
	const struct ctp_thread *c = &l->threads[t->slot];
	struct slice_block b;
	json_t *o = json_pack("{s:i, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:I}", "v", 1, "what", "thread",
			      "tid", t->tid, "slot", t->slot, "seq", (json_int_t)c->wait_seq, "switches",
			      (json_int_t)c->switches, "events", (json_int_t)c->events, "entity",
			      (json_int_t)c->current, "native", (json_int_t)c->native);
	bool blocks = c->wait_call == CTP_IN_BLOCK && (c->wait_seq & 1), told = false;
	slice_blocked_in(l->r, l->pid, t, (uint32_t)t->slot, NULL, u, &b);
	if (blocks && in_futex(t) && joins(c))
		told = in_join(o, l, t, c);
	else if (blocks && in_futex(t) && c->wait_fd == CTP_BLOCK_LOCK)
		told = in_lock(o, l, &b);
	else if (alone && t->hooked && (inspect_in_epoll(t) || inspect_in_set(t)))
		told = in_set(o, l, t, &l->polled[i]) && slept_on(l->pid, t);
	else if (alone && t->hooked && c->wait_call == CTP_IN_IO && b.kind == SLICE_CALL)
		told = in_io(o, l, t) && slept_on(l->pid, t);
	if (told && b.stack.n)
		json_object_set_new(o, "stack", addresses(&b.stack));
	if (told && ctp_wait_still(&l->r->threads[t->slot], c->wait_seq))
		return o;
	json_decref(o);
	return NULL;
}

// May a line be missing because the thread was awake, or stopped, just then?
static bool awaited(const struct ctp_thread *t, bool alone)
{
	bool block = t->wait_call == CTP_IN_BLOCK;
	return ctp_load32(&t->life) == CTP_THREAD_LIVE && (ctp_load64(&t->wait_seq) & 1) &&
	       t->wait_timeout_ns < 0 &&
	       (block ? joins(t) || t->wait_fd == CTP_BLOCK_LOCK : alone && t->wait_call != CTP_IN_EXIT);
}

static bool is_of(const json_t *o, const struct ctp_thread *t)
{
	return o && (uint64_t)json_integer_value(json_object_get(o, "seq")) == ctp_load64(&t->wait_seq) &&
	       (uint32_t)json_integer_value(json_object_get(o, "tid")) == t->tid;
}

bool set_threads(FILE *out, const struct inspection *l, struct set_threads *s)
{
	bool alone = !inspect_has_kin(l->r), any = set_threads_any(l->r);
	struct unwind *u = NULL;
	for (size_t i = 0; any && i < l->tasks.n && !signals_late(l->deadline_ns); i++) {
		int slot = l->tasks.v[i].slot;
		json_t *o = slot >= 0 && slot < (int)CTP_THREADS_MAX ? of_thread(l, i, alone, &u) : NULL;
		if (!o)
			continue;
		json_decref(s->of[slot]);
		s->of[slot] = o;
	}
	unwind_free(u);
	bool all = true;
	for (uint32_t i = 0; any && i < CTP_THREADS_MAX && i < l->nthreads; i++)
		if (is_of(s->of[i], &l->r->threads[i]))
			set_line(out, json_incref(s->of[i]));
		else
			all &= !awaited(&l->r->threads[i], alone);
	return all;
}

void set_threads_deinit(struct set_threads *s)
{
	for (uint32_t i = 0; i < CTP_THREADS_MAX; i++)
		json_decref(s->of[i]);
}
