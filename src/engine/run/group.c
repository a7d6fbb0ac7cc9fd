// SPDX-License-Identifier: MIT
//
// A signal names its sender, but not whether it was sent to a process or to its group: kill(-PGID) looks like
// kill(PID). So a process of ours is a member of the group, to which nobody has a reason to send anything
// alone. It blocks all signals and sleeps; a signal that is pending there was sent to the group, or to each
// process of a control group. (The kernel begins with the youngest member of a group: a signal that has
// reached ctp-run has reached this process before.) It shares our memory and ends with us, but a moment
// later: so it has no descriptors, or locks of ours would be held until then.
#include "engine/run/group.h"

#include <inttypes.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ULL
enum { WAIT_MS = 4, FORGET_MS = 1000, STACK = 16 << 10, TRIES = 8 };

static _Alignas(64) unsigned char stacks[2][STACK]; // one that begins has another than the one that ends

static pid_t parent;
static bool can_close; // Linux 5.9

// Nothing here may write to what is ours: no call may fail, which would set errno.
static int stand(void *unused)
{
	(void)unused;
	if (can_close)
		syscall(SYS_close_range, 0, ~0U, CLOSE_RANGE_UNSHARE);
	prctl(PR_SET_NAME, "ctp-group"); // not what `pkill ctp-run` looks for
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	syscall(SYS_exit, 0);
	return 0;
}

void group_begin(struct group *g)
{
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	g->stack = !g->stack;
	parent = getpid();
	can_close = !syscall(SYS_close_range, ~0U, ~0U, 0);
	pid_t pid = clone(stand, stacks[g->stack] + STACK, CLONE_VM | CLONE_FS | CLONE_FILES, NULL);
	sigprocmask(SIG_SETMASK, &before, NULL);
	g->pid = pid > 0 ? pid : 0;
}

void group_end(struct group *g)
{
	if (!g->pid)
		return;
	kill(g->pid, SIGKILL);
	waitpid(g->pid, NULL, __WCLONE);
	g->pid = 0;
}

static uint64_t pending(const struct group *g)
{
	char path[64], line[256];
	uint64_t all = 0, mask;
	snprintf(path, sizeof(path), "/proc/%d/status", g->pid);
	FILE *f = g->pid ? fopen(path, "re") : NULL;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "ShdPnd: %" SCNx64, &mask) == 1)
			all = mask;
	if (f)
		fclose(f);
	return all;
}

// What is pending there is taken, by putting another one in its place. That begins before the other ends:
// what comes meanwhile is pending with both, and is heard once.
static void listen(struct group *g)
{
	for (int i = 0; i < TRIES && pending(g); i++) {
		struct group old = *g;
		group_begin(g);
		g->heard |= pending(&old);
		group_end(&old);
	}
}

bool group_got(struct group *g, int sig, uint64_t now_ns)
{
	uint64_t bit = 1ULL << (sig - 1);
	for (int i = 0; i < WAIT_MS; i++) {
		listen(g);
		if (g->heard & bit || !g->pid)
			break;
		nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
	}
	bool got = g->heard & bit;
	g->heard &= ~bit;
	g->forget_ns = now_ns + FORGET_MS * MS;
	return got;
}

// A signal that the others of a control group got long after us is not to hide a later one.
void group_turn(struct group *g, uint64_t now_ns)
{
	if (!g->forget_ns || now_ns < g->forget_ns)
		return;
	listen(g);
	g->heard = 0;
	g->forget_ns = 0;
}
