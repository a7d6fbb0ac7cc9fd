// SPDX-License-Identifier: MIT
//
// What /proc says of the signals of a signalfd: its mask, who blocks them, and which are ignored. All of that
// changes where the program says so, so it holds only while every thread sleeps. A wait that brings a mask of
// its own (epoll_pwait, ppoll, pselect) hides what its thread blocks otherwise.
#include "engine/suspects/signal_wait.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "ctp/words.h"
#include "engine/suspects/stuck_wait.h"

static uint64_t bit(int sig)
{
	return 1ULL << (sig - 1);
}

// Those that some thread blocks. False: it cannot be told.
static bool blocked_by_some(pid_t pid, uint64_t *blocked)
{
	struct proc_tasks tasks = {0};
	bool known = !proc_tasks_read(pid, false, &tasks) && tasks.n;
	*blocked = 0;
	for (size_t i = 0; known && i < tasks.n; i++) {
		char name[48], *text;
		snprintf(name, sizeof(name), "task/%d/status", tasks.v[i].tid);
		if (proc_task_dead(&tasks.v[i]))
			continue;
		known = !proc_slurp(pid, name, &text, NULL);
		if (!known)
			break;
		*blocked |= proc_field(text, "\nSigBlk:", 16);
		free(text);
	}
	proc_tasks_deinit(&tasks);
	return known;
}

// Of a file of /proc/PID: the mask after `key`. False: it is not there.
static bool mask_in(pid_t pid, const char *name, const char *key, uint64_t *mask)
{
	char *text;
	if (proc_slurp(pid, name, &text, NULL))
		return false;
	bool has = strstr(text, key) != NULL;
	*mask = proc_field(text, key, 16);
	free(text);
	return has;
}

static void add_why(char *why, size_t bytes, int sig, bool ignored)
{
	size_t at = why ? strlen(why) : 0;
	char name[24];
	if (why && at < bytes)
		snprintf(why + at, bytes - at, "%s%s is %s", at ? ", " : "",
			 words_signal(sig, name, sizeof(name)),
			 ignored ? "ignored, so that the end of a child sends none" : "blocked by no thread");
}

int signal_wait_deaf(pid_t pid, int fd, char *why, size_t bytes)
{
	char name[48];
	uint64_t mask, ignored, blocked;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (why && bytes)
		*why = '\0';
	if (!mask_in(pid, name, "sigmask:", &mask) || !mask_in(pid, "status", "\nSigIgn:", &ignored) ||
	    !blocked_by_some(pid, &blocked))
		return -1;
	for (int sig = 1; sig <= 64; sig++) {
		bool none = sig == SIGCHLD && (ignored & bit(sig));
		if (!(mask & bit(sig)))
			continue;
		if (!none && (blocked & bit(sig)))
			return 0;
		add_why(why, bytes, sig, none);
	}
	return 1;
}

// Does the thread sleep with a signal mask for that alone?
static bool masks_for_now(const struct proc_task *t)
{
	switch (t->nr) {
	case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
		return t->args[4] != 0;
	case SYS_ppoll:
		return t->args[3] != 0;
	case SYS_pselect6:
		return t->args[5] != 0;
	}
	return t->nr == PROC_NO_SYSCALL;
}

void signal_wait_judge(struct inspection *l, struct suspect *s, bool registered)
{
	struct inspect_answer *a = &s->a[PROOF_P3];
	char why[160];
	int deaf = signal_wait_deaf(l->pid, s->c.fd, why, sizeof(why));
	bool hidden = !proc_tasks_asleep(&l->tasks);
	for (size_t i = 0; i < l->tasks.n; i++)
		hidden |= masks_for_now(&l->tasks.v[i]);
	if (!registered)
		inspect_say(a, HOLDS_FALSE, "fd %d#%u has no registration that is armed", s->c.fd, s->c.gen);
	else if (deaf == 0 || stuck_wait_ready(l->pid, s->c.fd, EPOLLIN) == 1)
		inspect_say(a, HOLDS_FALSE, "a signal of signalfd %d#%u can come, or waits there", s->c.fd,
			    s->c.gen);
	else if (deaf < 0 || hidden)
		inspect_say(a, HOLDS_OPEN, "it cannot be seen which signals the threads block");
	else
		inspect_say(a, HOLDS_TRUE, "no signal of signalfd %d#%u can come: %s", s->c.fd, s->c.gen,
			    *why ? why : "its mask is empty");
}
