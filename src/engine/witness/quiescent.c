// SPDX-License-Identifier: MIT
//
// P6b: can nothing happen any more? Every thread sleeps without a timeout (in epoll, poll, select or
// on a futex), no signal has a handler, no timer is armed, and everything that the loops watch has its
// other end in this process. Each way that is left is named.
#include "engine/witness/quiescent.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/calls.h"
#include "base/living.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/inspect/hold.h"
#include "engine/memory/cancelled.h"
#include "engine/suspects/stuck_wait.h"

#define FAR_NS 30000000000ULL

struct quiescent {
	struct inspection *l;
	pid_t tid;     // of a living thread
	unsigned ways; // by which something may happen
	char first[INSPECT_TEXT];
	char (*inodes)[32]; // "pipe:[123]" whose other ends must be ours
	size_t ninodes;
	int *events; // numbers of watched eventfds and timerfds
	size_t nevents;
};

static void __attribute__((format(printf, 2, 3))) way(struct quiescent *q, const char *format, ...)
{
	char text[INSPECT_TEXT];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	if (!q->ways++)
		memcpy(q->first, text, sizeof(text));
	inspect_open(q->l, 0, "%s", text);
}

static bool private_address(const struct inspection *l, uint64_t addr)
{
	const struct maps_line *m = proc_maps_find(&l->maps, addr);
	return m && m->perms[3] == 'p';
}

static void waits_in_set(struct quiescent *q, const struct proc_task *t);

static void thread_sleeps(struct quiescent *q, const struct proc_task *t)
{
	if (proc_task_dead(t))
		return;
	if (proc_task_stopped(t)) {
		way(q, "thread %d is stopped", t->tid);
	} else if (t->state != 'S' || t->nr < 0) {
		way(q, "thread %d runs", t->tid);
	} else if (inspect_in_epoll(t)) {
		bool timed = t->nr == SYS_epoll_pwait2 ? t->args[3] != 0 : (int)t->args[3] >= 0;
		if (timed)
			way(q, "thread %d waits with a timeout", t->tid);
	} else if (inspect_in_set(t)) {
		waits_in_set(q, t);
	} else if (t->nr == SYS_futex) {
		unsigned op = t->args[1] & FUTEX_CMD_MASK;
		bool waits = op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI ||
			     op == FUTEX_LOCK_PI2 || op == FUTEX_WAIT_REQUEUE_PI;
		if (!waits || t->args[3])
			way(q, "thread %d waits with a timeout", t->tid);
		else if (!(t->args[1] & FUTEX_PRIVATE_FLAG) && !private_address(q->l, t->args[0]))
			way(q, "thread %d waits on memory shared with others", t->tid);
	} else {
		char name[64];
		way(q, "thread %d sleeps in %s", t->tid, calls_name((long)t->nr, name, sizeof(name)));
	}
}

uint64_t quiescent_handled(pid_t pid, const struct ctp_ext *e)
{
	static const uint64_t libc = 3ULL << 31; // 32 and 33: glibc's own, for cancellation and setuid
	char *text;
	if (proc_slurp(pid, "status", &text, NULL))
		return UINT64_MAX;
	uint64_t caught = proc_field(text, "\nSigCgt:", 16);
	free(text);
	return caught & ~libc & ~ctp_load64(&e->crash_ours);
}

static void signals(struct quiescent *q)
{
	uint64_t caught = quiescent_handled(q->l->pid, q->l->r->ext);
	if (caught == UINT64_MAX) {
		way(q, "its signal handlers cannot be seen");
		return;
	}
	for (int s = 1; s <= 64; s++)
		if (caught >> (s - 1) & 1) {
			const char *name = sigabbrev_np(s);
			if (name)
				way(q, "it has a handler for SIG%s", name);
			else
				way(q, "it has a handler for signal %d", s);
		}
}

static void timers(struct quiescent *q)
{
	char *text;
	if (proc_slurp(q->l->pid, "timers", &text, NULL)) {
		way(q, "its timers cannot be seen");
		return;
	}
	if (*text)
		way(q, "it has a POSIX timer");
	free(text);
}

static bool add_inode(struct quiescent *q, const char *link)
{
	char(*more)[32] = realloc(q->inodes, (q->ninodes + 1) * sizeof(*more));
	if (!more)
		return false;
	q->inodes = more;
	snprintf(q->inodes[q->ninodes++], sizeof(*more), "%.31s", link);
	return true;
}

static bool timer_disarmed(pid_t pid, int fd)
{
	char name[64], *text;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_slurp(pid, name, &text, NULL))
		return false;
	bool off = strstr(text, "it_value: (0, 0)") != NULL;
	free(text);
	return off;
}

// The other end of a socketpair, still open here.
static bool peer_inode(struct quiescent *q, uint64_t desc)
{
	const struct ctp_region *r = q->l->r;
	struct ctp_walk w = ctp_walk_fds(r);
	char link[64];
	for (uint64_t fd = ctp_walk_from(&w, 0); desc && fd < w.n; fd = ctp_walk_from(&w, fd + 1)) {
		struct ctp_fd f;
		if (r->fds[fd].desc == desc && inspect_fd(r, fd, &f) && f.life == CTP_FD_OPEN &&
		    f.desc == desc && f.opened_how == CTP_CALL_SOCKETPAIR &&
		    proc_fd_link(q->l->pid, (int)fd, link, sizeof(link)))
			return add_inode(q, link);
	}
	return false;
}

// An open descriptor that a loop watches. how: "registered fd"
static void watched_fd(struct quiescent *q, const char *how, int fd, const struct ctp_fd *f, const char *link)
{
	bool event = !strcmp(link, "anon_inode:[eventfd]") && f->opened_how == CTP_CALL_EVENTFD;
	bool timer = !strcmp(link, "anon_inode:[timerfd]");
	if (event || timer) {
		int *more = realloc(q->events, (q->nevents + 1) * sizeof(*more));
		if (more)
			(q->events = more)[q->nevents++] = fd;
		if (!more || (timer && f->opened_how != CTP_CALL_TIMERFD))
			way(q, "%s %d cannot be judged", how, fd);
		else if (timer && !timer_disarmed(q->l->pid, fd))
			way(q, "%s %d is an armed timerfd", how, fd);
	} else if (!strncmp(link, "pipe:[", 6) && f->opened_how == CTP_CALL_PIPE) {
		if (!add_inode(q, link))
			way(q, "%s %d cannot be judged", how, fd);
	} else if (f->kind == CTP_FD_UNIX && f->opened_how == CTP_CALL_SOCKETPAIR) {
		if (!add_inode(q, link) || !peer_inode(q, f->peer_desc))
			way(q, "%s %d is a socket whose other end is not here", how, fd);
	} else if (strcmp(link, "anon_inode:[eventpoll]")) {
		static const char *const kinds[] = {"file",       "file",        "pipe",    "tcp socket",
						    "udp socket", "unix socket", "eventfd", "timerfd",
						    "signalfd",   "epoll"};
		const char *kind = f->kind < sizeof(kinds) / sizeof(*kinds) ? kinds[f->kind] : "file";
		way(q, "%s %d is a %s%s: an external peer can wake the loop", how, fd, kind,
		    f->flags & CTP_FD_LISTENS ? " that listens" : "");
	}
}

static void watched(struct quiescent *q, const struct registration *reg)
{
	struct ctp_fd f;
	char link[64];
	pid_t pid = q->l->pid;
	if (!(reg->events & CTP_REG_EVENTS))
		return; // a one-shot that fired: not even a hangup is delivered
	if (!inspect_fd(q->l->r, (uint64_t)(uint32_t)reg->tfd, &f) || f.life != CTP_FD_OPEN ||
	    registrations_is_open_as(pid, reg, reg->tfd) != 1 ||
	    !proc_fd_link(pid, reg->tfd, link, sizeof(link))) {
		way(q, "registered fd %d in epoll fd %d is a file of a kind that ctp does not know", reg->tfd,
		    reg->epfd);
		return;
	}
	watched_fd(q, "registered fd", reg->tfd, &f, link);
}

// Sleeps in poll or select: what it was given counts as what an epoll set holds.
static void waits_in_set(struct quiescent *q, const struct proc_task *t)
{
	const struct inspection *l = q->l;
	const struct polled *set = &l->polled[t - l->tasks.v];
	const struct ctp_thread *c = t->hooked ? &l->threads[t->slot] : NULL;
	if (!c || c->wait_timeout_ns >= 0) {
		way(q, "thread %d waits in poll or select, %s", t->tid,
		    c ? "with a timeout" : "behind the hooks");
		return;
	}
	if (!set->known)
		way(q, "it is not known for what thread %d sleeps in poll or select", t->tid);
	for (size_t i = 0; set->known && i < set->n; i++) {
		struct ctp_fd f;
		char link[64];
		if (!inspect_fd(l->r, (uint64_t)set->v[i].fd, &f) || f.life != CTP_FD_OPEN ||
		    f.opened > c->wait_since || !proc_fd_link(l->pid, set->v[i].fd, link, sizeof(link)))
			way(q, "fd %d, which thread %d polls, is a file of a kind that ctp does not know",
			    set->v[i].fd, t->tid);
		else
			watched_fd(q, "polled fd", set->v[i].fd, &f, link);
	}
}

static bool child_of(pid_t pid, pid_t other)
{
	char *text;
	if (proc_slurp(other, "status", &text, NULL))
		return false;
	bool is = proc_field(text, "\nPPid:", 10) == (uint64_t)pid;
	free(text);
	return is;
}

// Does some other process hold what the loops watch?
static bool held_by(struct quiescent *q, pid_t other)
{
	char path[64], link[64];
	pid_t them = living_of(other);
	snprintf(path, sizeof(path), "/proc/%d/fd", them);
	DIR *d = opendir(path);
	bool held = false;
	if (!d) // another user's by now: of a child, that kept what it had
		return errno == EACCES && child_of(q->l->pid, other);
	for (struct dirent *e; !held && (e = readdir(d));) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = 0;
		for (size_t i = 0; !held && i < q->ninodes; i++)
			held = !strcmp(link, q->inodes[i]);
		bool anon = !strcmp(link, "anon_inode:[eventfd]") || !strcmp(link, "anon_inode:[timerfd]");
		for (size_t i = 0; anon && !held && i < q->nevents; i++) // 0 = KCMP_FILE
			held = syscall(SYS_kcmp, q->tid, them, 0, (long)q->events[i],
				       (long)atoi(e->d_name)) <= 0;
	}
	closedir(d);
	return held;
}

static void outsiders(struct quiescent *q)
{
	DIR *d = q->ninodes || q->nevents ? opendir("/proc") : NULL;
	if (!d) {
		if (q->ninodes || q->nevents)
			way(q, "other processes cannot be seen");
		return;
	}
	for (struct dirent *e; (e = readdir(d));) {
		pid_t other = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;
		if (other && other != q->l->pid && held_by(q, other)) {
			way(q, "process %d holds the other end of something the loop waits for", other);
			break;
		}
		if (signals_late(q->l->deadline_ns)) {
			way(q, "there was no time to look at the other processes");
			break;
		}
	}
	closedir(d);
}

void quiescent_judge(struct inspection *l)
{
	struct quiescent q = {.l = l, .tid = living_of(l->pid)};
	for (size_t i = 0; i < l->tasks.n; i++)
		thread_sleeps(&q, &l->tasks.v[i]);
	signals(&q);
	timers(&q);
	if (*l->hidden)
		way(&q, "%.200s", l->hidden);
	if (!l->registrations.complete)
		way(&q, "not all registrations could be read");
	for (size_t i = 0; i < l->registrations.n && q.ways < INSPECT_OPEN_MAX;
	     i++) { // more would not be named
		watched(&q, &l->registrations.v[i]);
		if (inspect_late(l)) {
			way(&q, "there was no time to look at all that its loops watch");
			break;
		}
	}
	if (inspect_has_kin(l->r))
		way(&q, "it has forked: another process may hold what the loop waits for");
	if (ctp_load64(&l->r->ext->sent_fds))
		way(&q,
		    "it has sent descriptors in messages: another process may hold, or yet take, what the loop waits for");
	if (!q.ways)
		outsiders(&q);
	int sharer = q.ways ? 0 : hold_sharer(l->pid);
	if (sharer)
		way(&q, "process %d shares its memory", sharer);
	struct proc_tasks now = {0};
	bool still = l->idle && !proc_tasks_read(l->pid, true, &now) && proc_tasks_still(&l->tasks, &now);
	proc_tasks_deinit(&now);
	if (q.ways)
		inspect_say_all(l, PROOF_P6B, HOLDS_FALSE, q.first);
	else if (!still)
		inspect_say_all(l, PROOF_P6B, HOLDS_OPEN, "the program was not at rest for two looks");
	else
		inspect_say_all(l, PROOF_P6B, HOLDS_TRUE, PROOF_QUIET);
	free(q.inodes);
	free(q.events);
}

void quiescent_doubt(struct inspection *l)
{
	for (size_t i = 0; !l->pools && i < l->n; i++) {
		struct suspect *s = l->who[i];
		if (cancelled_may_be(s) && suspect_objects(s) && s->a[PROOF_P6B].holds == HOLDS_TRUE)
			inspect_say(&s->a[PROOF_P6B], HOLDS_OPEN,
				    "nothing can happen any more, but it may be in a pool: %.120s",
				    s->a[PROOF_P6A].text);
	}
}

// ------------------------------------------------------------- the loop's own timers

static bool timed(const struct inspection *l, const struct proc_task *t)
{
	if (t->slot >= 0 && (l->threads[t->slot].wait_seq & 1) && l->threads[t->slot].wait_timeout_ns > 0)
		return true;
	if (inspect_in_epoll(t))
		return t->nr == SYS_epoll_pwait2 ? t->args[3] != 0 : (int)t->args[3] > 0;
	if (t->nr == SYS_futex)
		return t->args[3] && (t->args[1] & FUTEX_CMD_MASK) != FUTEX_WAKE;
	return t->nr == SYS_nanosleep || t->nr == SYS_clock_nanosleep;
}

// A loop that has nothing to do before long often sleeps with a timeout all the same, of a minute in libev.
static bool is_far(const struct inspection *l, const struct proc_task *t)
{
	return t->slot >= 0 && (l->threads[t->slot].wait_seq & 1) &&
	       l->threads[t->slot].wait_timeout_ns > 0 &&
	       (uint64_t)l->threads[t->slot].wait_timeout_ns >= FAR_NS;
}

static uint64_t asked_ns(const struct inspection *l, uint64_t at)
{
	struct timespec ts = {0};
	bool is = at && proc_peek(l->pid, at, &ts, sizeof(ts), false) == sizeof(ts) && ts.tv_sec >= 0 &&
		  ts.tv_sec < INT32_MAX && ts.tv_nsec >= 0;
	return is ? (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec : 0;
}

// For how long a thread that is timed() asked to sleep. 0: not known, or it said until when.
static uint64_t sleep_ns(const struct inspection *l, const struct proc_task *t)
{
	if (t->slot >= 0 && (l->threads[t->slot].wait_seq & 1) && l->threads[t->slot].wait_timeout_ns > 0)
		return (uint64_t)l->threads[t->slot].wait_timeout_ns;
	if (t->nr == SYS_epoll_pwait2)
		return asked_ns(l, t->args[3]);
	if (inspect_in_epoll(t))
		return (uint64_t)(int)t->args[3] * 1000000;
	if (t->nr == SYS_nanosleep)
		return asked_ns(l, t->args[0]);
	return t->nr == SYS_clock_nanosleep && !(t->args[1] & TIMER_ABSTIME) ? asked_ns(l, t->args[2]) : 0;
}

// False: that of one is not known.
static bool longest_sleep(const struct inspection *l, uint64_t *longest)
{
	for (size_t i = 0; i < l->tasks.n; i++) {
		if (!timed(l, &l->tasks.v[i]))
			continue;
		uint64_t ns = sleep_ns(l, &l->tasks.v[i]);
		if (!ns)
			return false;
		*longest = ns > *longest ? ns : *longest;
	}
	return true;
}

// *longest_ns: until it expires, or from then to the next time. *known: false where that of one is not known.
static bool timerfd_armed(const struct inspection *l, uint64_t *longest_ns, bool *known)
{
	bool any = false;
	for (size_t i = 0; i < l->registrations.n; i++) {
		struct ctp_fd f;
		const struct registration *reg = &l->registrations.v[i];
		if (!(reg->events & CTP_REG_EVENTS) || !inspect_fd(l->r, (uint64_t)(uint32_t)reg->tfd, &f) ||
		    f.kind != CTP_FD_TIMERFD || stuck_wait_disarmed(l->pid, reg->tfd) == 1)
			continue;
		uint64_t ns = stuck_wait_expires_ns(l->pid, reg->tfd);
		*longest_ns = ns > *longest_ns ? ns : *longest_ns;
		*known &= ns > 0;
		any = true;
	}
	return any;
}

struct own_timer quiescent_own_timer(const struct inspection *l)
{
	char *text = NULL;
	bool timers = !proc_slurp(l->pid, "timers", &text, NULL) && *text;
	free(text);
	if (timers)
		return (struct own_timer){"a POSIX timer", false, 0};
	uint64_t caught = proc_slurp(l->pid, "status", &text, NULL) ? 0 : proc_field(text, "\nSigCgt:", 16);
	free(text);
	if (caught >> 13 & 1) // SIGALRM
		return (struct own_timer){"a handler for SIGALRM", false, 0};
	uint64_t longest_ns = 0;
	bool known = longest_sleep(l, &longest_ns), armed = timerfd_armed(l, &longest_ns, &known);
	longest_ns = known ? longest_ns : 0;
	for (size_t i = 0; i < l->tasks.n; i++)
		if (timed(l, &l->tasks.v[i]) && !is_far(l, &l->tasks.v[i]))
			return (struct own_timer){"a timeout", false, longest_ns};
	if (armed)
		return (struct own_timer){"an armed timerfd", false, longest_ns};
	for (size_t i = 0; i < l->tasks.n; i++)
		if (timed(l, &l->tasks.v[i]))
			return (struct own_timer){"a timeout", true, longest_ns};
	return (struct own_timer){NULL, false, 0};
}
