// SPDX-License-Identifier: MIT
//
// Keeps threads in place for the time of a memory search: reads the registers of threads
// that sleep elsewhere than in our hooks, and proves that no thread ran meanwhile. A live
// process is stopped only where it cannot notice; one that is about to end is held
// throughout.
#include "engine/inspect/hold.h"

#include <ctype.h>
#include <dirent.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/living.h"
#include "engine/inspect/hidden_fds.h"
#include "engine/inspect/restarts.h"
#include "engine/target/regs.h"

void hold_say(struct inspection *l, const char *text)
{
	if (!l->n)
		snprintf(l->unsearched, sizeof(l->unsearched), "%s", text);
	for (size_t i = 0; i < l->n; i++)
		if (suspect_objects(l->who[i]))
			inspect_say(&l->who[i]->a[PROOF_P6A], HOLDS_OPEN, "%s", text);
}

// To be stopped and detached costs a thread two context switches: one into the stop, one back to sleep.
enum { STOP_SWITCHES = 2 };

// Is `b` where `a` was, without having run the program's code in between?
static bool same_sleep(const struct inspection *l, const struct proc_task *a, const struct proc_task *b)
{
	if (a->tid != b->tid)
		return false;
	if (proc_task_dead(a) || !a->got_regs)
		return b->state == a->state && b->switches == a->switches && b->run_ns == a->run_ns &&
		       (proc_task_dead(a) || a->hooked);
	if (l->may_stop)
		return b->state == 't';
	return b->state == 'S' && a->sp == b->sp && a->pc == b->pc &&
	       b->switches == a->switches + STOP_SWITCHES && (a->nr == b->nr || b->restarted);
}

// Registers of the threads that sleep elsewhere than in our hooks; afterwards
// all must sleep as before (or be held, if they may be).
bool hold_take(struct inspection *l, struct proc_tasks *base)
{
	char why[INSPECT_TEXT];
	for (size_t i = 0; i < l->tasks.n; i++) {
		struct proc_task *t = &l->tasks.v[i];
		bool left = t->hooked &&
			    (!l->may_stop || l->idle); // at its end a loop that ticks is held too
		if (left || proc_task_dead(t))
			continue;
		snprintf(why, sizeof(why), "thread %d %s: its registers cannot be read", t->tid,
			 t->state == 'S' ? "sleeps where it must not be stopped" : "runs");
		bool ours = l->may_stop || restarts_call(l->pid, t);
		if (!ours ||
		    !regs_take(t, l->may_stop, l->may_stop ? l->deadline_ns : proc_now_ns() + 20000000)) {
			hold_say(l, why);
			return false;
		}
	}
	for (int tries = 0; tries < 20; tries++) {
		bool same = !proc_tasks_read(l->pid, true, base) && base->n == l->tasks.n;
		for (size_t i = 0; same && i < base->n; i++)
			same = same_sleep(l, &l->tasks.v[i], &base->v[i]);
		if (same)
			return true;
		proc_tasks_deinit(base);
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	hold_say(l, "a thread ran while memory was about to be searched");
	l->disturbed = true;
	return false;
}

// Threads that had to be stopped may have run since the look began.
bool hold_refresh(struct inspection *l, const struct proc_tasks *base)
{
	for (size_t i = 0; i < l->tasks.n; i++) {
		struct proc_task *t = &l->tasks.v[i];
		const struct proc_task *b = &base->v[i];
		if (!t->got_regs)
			continue;
		t->hooked &= t->sp == b->sp && t->pc == b->pc;
		t->state = b->state;
		t->nr = b->nr;
		t->sp = b->sp;
		t->pc = b->pc;
		memcpy(t->args, b->args, sizeof(t->args));
	}
	if (l->may_stop) {
		if (inspect_again(l))
			return false;
		hidden_fds_find(l);
	}
	// Held where it sleeps in a hook: what that has saved is what the program has in its registers.
	for (size_t i = 0; i < l->tasks.n; i++)
		if (l->tasks.v[i].hooked)
			l->tasks.v[i].hooked = l->threads[l->tasks.v[i].slot].wait_seq & 1;
	return true;
}

// Did nobody run since `base`? Threads that we hold cannot have.
bool hold_rested(const struct inspection *l, const struct proc_tasks *base)
{
	struct proc_tasks now = {0};
	bool same = !proc_tasks_read(l->pid, true, &now) && now.n == base->n;
	for (size_t i = 0; same && i < now.n; i++) {
		const struct proc_task *a = &base->v[i], *b = &now.v[i];
		same = a->tid == b->tid && a->switches == b->switches && a->run_ns == b->run_ns &&
		       a->state == b->state && (a->state == 'S' || a->state == 't' || proc_task_dead(a)) &&
		       b->nr != PROC_ON_CPU;
	}
	proc_tasks_deinit(&now);
	return same;
}

// A signal that waits for a thread may bring a pointer, if the program can see it at all.
bool hold_signals(const struct proc_tasks *base)
{
	uint64_t pending = 0, heard = 0;
	for (size_t i = 0; i < base->n; i++) {
		pending |= base->v[i].pending;
		heard |= base->v[i].heard;
	}
	return pending & heard;
}

void hold_release(struct inspection *l)
{
	for (size_t i = 0; l->may_stop && i < l->tasks.n; i++)
		if (l->tasks.v[i].got_regs)
			regs_release(&l->tasks.v[i]);
}

// How much memory it has, and of what kind; all can read that, and whoever shares it has the same.
static bool memory_of(pid_t pid, char *to, size_t bytes)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/statm", (int)living_of(pid));
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(to, 1, bytes - 1, f) : 0;
	to[n] = 0;
	if (f)
		fclose(f);
	return n;
}

// 1 it shares the memory of `pid`, 0 not, -1 cannot be told. The kernel's threads have none.
static int shares_memory(pid_t pid, const void *living, pid_t other)
{
	char a[128], b[128], again[128];
	long r = syscall(SYS_kcmp, *(const pid_t *)living, living_of(other), KCMP_VM, 0, 0);
	if (r > 0 || !memory_of(other, b, sizeof(b)) || *b == '0')
		return 0;
	if (r == 0)
		return 1;
	if (!memory_of(pid, a, sizeof(a)) || !memory_of(pid, again, sizeof(again)))
		return -1;
	return strcmp(a, again) || !strcmp(a, b) ? -1 : 0;
}

// The first other process for which `is` says 1, or the first doubt.
static int first_other(pid_t pid, const void *own, int (*is)(pid_t pid, const void *own, pid_t other))
{
	DIR *d = opendir("/proc");
	int found = d ? 0 : -1;
	for (struct dirent *e; !found && d && (e = readdir(d));) {
		pid_t other = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;
		int yes = other && other != pid ? is(pid, own, other) : 0;
		found = yes > 0 ? other : yes;
	}
	if (d)
		closedir(d);
	return found;
}

int hold_sharer(pid_t pid)
{
	pid_t living = living_of(pid);
	return first_other(pid, &living, shares_memory);
}

// What has no memory, or is not ours to read, is no fork of ours. own: NULL, that is not known.
static int is_fork(pid_t pid, const void *own, pid_t other)
{
	unsigned char theirs[PROC_RANDOM];
	(void)pid;
	if (!proc_random(other, theirs))
		return 0;
	return !own ? -1 : !memcmp(own, theirs, sizeof(theirs));
}

int hold_fork(pid_t pid)
{
	unsigned char own[PROC_RANDOM];
	return first_other(pid, proc_random(pid, own) ? own : NULL, is_fork);
}
