// SPDX-License-Identifier: MIT
//
// What is known of one coroutine that waits for an open descriptor: in which direction it waits, how
// certain that is, and what the kernel says of the descriptor.
#include "engine/suspects/stuck_wait.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/living.h"
#include "ctp/there.h"
#include "ctp/wait_inference.h"

// Of timers that were made in one place: how many are asked for, and how many must go on.
enum { LIKE_IT = 64, SOME_TICK = 2 };

uint32_t stuck_wait_directions(const struct suspect *s)
{
	uint32_t e = s->wait >= 0 ? s->s.waits[s->wait].events : s->c.was.reg_events;
	uint32_t in = EPOLLIN | EPOLLRDNORM | EPOLLRDBAND | EPOLLPRI | EPOLLRDHUP,
		 out = EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND;
	if (s->wait < 0 && (s->c.was.reg_epfd < 0 || ctp_masked(&s->c.was)))
		return EPOLLIN; // as stuck_wait_needed()
	if (s->wrote || s->sent)
		return EPOLLOUT;
	if (s->wrong_mask)
		return EPOLLIN;
	return (e & in ? (uint32_t)EPOLLIN : 0) | (e & out ? (uint32_t)EPOLLOUT : 0);
}

uint32_t stuck_wait_needed(const struct suspect *s)
{
	const uint32_t beside = EPOLLRDHUP | EPOLLERR | EPOLLHUP;
	uint32_t e = (s->wait >= 0 ? s->s.waits[s->wait].events : s->c.was.reg_events) & CTP_REG_EVENTS;
	if (s->wrote || s->sent)
		return EPOLLOUT;
	if (s->wrong_mask)
		return EPOLLIN | EPOLLRDNORM;
	if (s->wait < 0 && !(e & ~beside))
		return EPOLLIN; // what woke it before, for all that is known
	return e & ~beside ? e & ~beside : e;
}

// Does what the registration's data points to lead to C?
static bool references_through(const struct suspect *s, pid_t pid)
{
	uint64_t words[32] = {0}, at = s->c.was.reg_data;
	size_t n = proc_peek(pid, at, words, sizeof(words), false) / sizeof(*words);
	for (size_t i = 0; i < n; i++)
		if (words[i] - s->s.lo < s->s.hi - s->s.lo || inspect_references(s, words[i]))
			return true;
	return at - s->s.lo < s->s.hi - s->s.lo || inspect_references(s, at);
}

bool stuck_wait_firm(const struct suspect *s, pid_t pid)
{
	const struct ctp_fd *f = &s->c.was;
	const struct ctp_wait *wait = s->wait >= 0 ? &s->s.waits[s->wait] : NULL;
	bool noted = ctp_event_noted(f, &s->s, wait) && !references_through(s, pid);
	return ctp_wait_firm(f, s->c.fd, &s->s, wait, noted);
}

bool stuck_wait_full(const struct suspect *s)
{
	return s->wait >= 0 && ctp_wait_full(&s->s.waits[s->wait]);
}

int stuck_wait_can_open(pid_t pid)
{
	char path[64];
	struct rlimit limit;
	snprintf(path, sizeof(path), "/proc/%d/fd", living_of(pid));
	DIR *d = prlimit(pid, RLIMIT_NOFILE, NULL, &limit) ? NULL : opendir(path);
	if (!d)
		return -1;
	rlim_t below = 0;
	for (const struct dirent *e; (e = readdir(d));) // a number above was opened under a higher limit
		below += isdigit((unsigned char)*e->d_name) && strtoul(e->d_name, NULL, 10) < limit.rlim_cur;
	closedir(d);
	return below < limit.rlim_cur;
}

static int copy_of(pid_t pid, int fd)
{
	int process = living_pidfd(pid);
	if (process < 0)
		return -1;
	int copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	close(process);
	return copy;
}

int stuck_wait_unread(pid_t pid, int fd)
{
	int copy = copy_of(pid, fd), bytes = -1;
	if (copy < 0)
		return -1;
	int e = ioctl(copy, FIONREAD, &bytes);
	close(copy);
	return e ? -1 : bytes;
}

int stuck_wait_readable(pid_t pid, int fd, int *bytes)
{
	int copy = copy_of(pid, fd);
	if (copy < 0)
		return -1;
	struct pollfd p = {.fd = copy, .events = POLLIN};
	int n = poll(&p, 1, 0), e = ioctl(copy, FIONREAD, bytes);
	close(copy);
	return n < 0 || e ? -1 : n;
}

int stuck_wait_ended(pid_t pid, int fd)
{
	int copy = copy_of(pid, fd);
	if (copy < 0)
		return -1;
	struct pollfd p = {.fd = copy, .events = POLLIN | POLLRDHUP};
	int n = poll(&p, 1, 0);
	close(copy);
	return n < 0 ? -1 : (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

int stuck_wait_ready(pid_t pid, int fd, uint32_t directions)
{
	int copy = copy_of(pid, fd);
	if (copy < 0)
		return -1;
	struct pollfd p = {.fd = copy,
			   .events = (short)((directions & EPOLLIN ? POLLIN : 0) |
					     (directions & EPOLLOUT ? POLLOUT : 0))};
	int n = poll(&p, 1, 0);
	close(copy);
	return n < 0 ? -1 : directions && (p.revents & p.events) == p.events;
}

int stuck_wait_takes(pid_t pid, int fd)
{
	char name[64], *text;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_slurp(pid, name, &text, NULL))
		return -1;
	const char *flags = strstr(text, "flags:");
	unsigned long mode = flags ? strtoul(flags + strlen("flags:"), NULL, 8) & O_ACCMODE : O_RDWR;
	free(text);
	return mode != O_RDONLY;
}

int stuck_wait_disarmed(pid_t pid, int fd)
{
	char name[64], *text;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_slurp(pid, name, &text, NULL))
		return -1;
	bool timer = strstr(text, "it_value:") != NULL;
	bool off = strstr(text, "it_value: (0, 0)") != NULL && strstr(text, "ticks: 0\n") != NULL;
	free(text);
	return timer ? off : -1;
}

static uint64_t span_ns(const char *text, const char *name)
{
	unsigned long long s = 0, ns = 0;
	const char *at = strstr(text, name);
	if (at)
		sscanf(at + strlen(name), ": (%llu, %llu)", &s, &ns);
	return s * 1000000000ULL + ns;
}

uint64_t stuck_wait_expires_ns(pid_t pid, int fd)
{
	char name[64], *text;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_slurp(pid, name, &text, NULL))
		return 0;
	uint64_t value = span_ns(text, "it_value"), interval = span_ns(text, "it_interval");
	free(text);
	return value > interval ? value : interval;
}

// Does it expire again and again? Of one that has, and was not read since, nothing is left of the time.
static bool ticks(pid_t pid, int fd)
{
	char name[64], *text;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_slurp(pid, name, &text, NULL))
		return false;
	bool off = strstr(text, "it_value: (0, 0)") && strstr(text, "ticks: 0\n");
	bool period = strstr(text, "it_interval:") && !strstr(text, "it_interval: (0, 0)") && !off;
	free(text);
	return period;
}

unsigned stuck_wait_ticking(const struct ctp_region *r, const struct suspect *s, pid_t pid)
{
	const struct ctp_fd *own = &s->c.was;
	struct ctp_walk all = ctp_walk_fds(r);
	unsigned ticking = 0, others = 0;
	for (uint64_t i = ctp_walk_from(&all, 0); i < all.n && others < LIKE_IT;
	     i = ctp_walk_from(&all, i + 1)) {
		struct ctp_fd f;
		if (!inspect_fd(r, i, &f) || f.life != CTP_FD_OPEN || f.kind != CTP_FD_TIMERFD ||
		    (int)i == s->c.fd || f.opener_stack != own->opener_stack || f.reg_epfd != own->reg_epfd ||
		    f.reg_epgen != own->reg_epgen)
			continue;
		others++;
		ticking += ticks(pid, (int)i);
	}
	return own->opener_stack && ticking >= SOME_TICK && 2 * ticking > others ? ticking : 0;
}

bool stuck_wait_registered(const struct registration *reg, pid_t pid, int fd)
{
	return reg->tfd == fd && registrations_is_open_as(pid, reg, fd) == 1;
}

bool stuck_wait_refuted(struct suspect *s)
{
	struct inspect_answer *p2 = &s->a[PROOF_P2];
	if (!stuck_wait_is(s))
		return false;
	// It may wait for anything: only that nothing else has it, or that there is something to read, speaks
	// for F.
	bool tried = s->rule == RULE_ONESHOT && p2->holds == HOLDS_OPEN && !(s->firm && s->beside.is) &&
		     s->a[PROOF_P6A].holds != HOLDS_TRUE && s->a[PROOF_P3].holds == HOLDS_TRUE;
	if (tried && s->ready < 0)
		inspect_say(&s->a[PROOF_P3], HOLDS_OPEN, "it cannot be told whether fd %d#%u is ready",
			    s->c.fd, s->c.gen);
	else if (tried && !s->ready)
		p2->holds = HOLDS_FALSE;
	// Others set it again when they need it, as long as they can run; but those like it they have set.
	bool theirs = s->rule == RULE_TIMER && ctp_timer_of_others(&s->c.was, s->s.id) && !s->ticking &&
		      s->a[PROOF_P6B].holds != HOLDS_TRUE;
	s->gone = p2->holds == HOLDS_FALSE || s->a[PROOF_P3].holds == HOLDS_FALSE || theirs;
	return s->gone;
}

size_t stuck_wait_keep_open(struct suspect **who, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		const struct suspect *s = who[i];
		bool open = s->a[PROOF_P3].holds == HOLDS_OPEN || s->a[PROOF_P4].holds == HOLDS_OPEN ||
			    s->a[PROOF_P5].holds == HOLDS_OPEN;
		// Of this one only P6 makes anything.
		open |= s->rule == RULE_ONESHOT && s->a[PROOF_P2].holds == HOLDS_OPEN &&
			s->a[PROOF_P6A].holds != HOLDS_TRUE && s->a[PROOF_P6B].holds == HOLDS_OPEN;
		if (stuck_wait_is(s) && !s->gone && open)
			who[kept++] = who[i];
	}
	return kept;
}
