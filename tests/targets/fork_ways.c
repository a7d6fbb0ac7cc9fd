// SPDX-License-Identifier: MIT
//
// fork_ways.c - more of t-fork: coroutines that go on in a child, and what
// programs do between fork and exec.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fork.h"
#include "must.h"

extern char **environ;

// ---- coroutines that were there before

static struct fiber inner, one, two;
static ucontext_t home;

// fork in a coroutine: both go on in it, and leave it, and come back.
static void forks(void)
{
	pid_t pid = fork();
	must(pid);
	if (!pid) {
		child_begins();
		made = 1; // the copy of this one
	}
	for (int i = 0; i < 5; i++)
		swap(&inner.uc, &home);
	if (pid)
		reap(pid);
	switched++; // by uc_link
}

void case_inside(int n)
{
	work(2);
	make(&inner, forks, &home);
	for (int i = 0; i < 6; i++)
		swap(&home, &inner.uc);
	work(2);
}

static void yields(void)
{
	for (;;)
		swap(&one.uc, &home);
}

static void yields_too(void)
{
	for (;;)
		swap(&two.uc, &home);
}

static void goes_on(void)
{
	child_begins();
	made = 1; // only one of the two runs here
	for (int i = 0; i < 10; i++)
		swap(&home, &one.uc);
	work(3);
	tell();
	_exit(0);
}

void case_goes_on(int n)
{
	make(&one, yields, NULL);
	make(&two, yields_too, NULL);
	swap(&home, &one.uc);
	swap(&home, &two.uc);
	pid_t pid = forked(goes_on);
	for (int i = 0; i < 10; i++)
		swap(&home, &two.uc);
	reap(pid);
}

static void begins(void)
{
	child_begins();
	made = 1;
	for (int i = 0; i < 4; i++)
		swap(&home, &one.uc);
	tell();
	_exit(0);
}

void case_unbegun(int n)
{
	work(2);
	make(&one, yields, NULL);
	pid_t pid = forked(begins);
	for (int i = 0; i < 3; i++)
		swap(&home, &one.uc);
	reap(pid);
}

// n coroutines with a turn behind them; parent and child go through all to the end.
static struct fiber pool[1000];
static int turn;

static void in_pool(void)
{
	int me = turn;
	for (int i = 0; i < 3; i++)
		swap(&pool[me].uc, &home);
	switched++; // by uc_link
}

void case_pool(int n)
{
	for (turn = 0; turn < n; turn++) {
		make(&pool[turn], in_pool, &home);
		swap(&home, &pool[turn].uc);
	}
	pid_t pid = fork();
	must(pid);
	if (!pid) {
		child_begins();
		made = (unsigned long)n;
	}
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < n; i++)
			swap(&home, &pool[i].uc);
	work(2); // on stacks that malloc had besides
	for (int i = 0; i < n; i++)
		free(pool[i].stack);
	work(2); // and on those just freed
	if (pid)
		reap(pid);
}

// ---- another image

static void execs(void)
{
	execl(self, "fork", "work", NULL);
	_exit(127);
}

void case_exec(int n)
{
	work(5);
	reap(forked(execs));
}

static void works_and_execs(void)
{
	child_begins();
	work(4);
	tell();
	execs();
}

void case_worked(int n)
{
	work(5);
	reap(forked(works_and_execs));
}

void case_vfork(int n)
{
	work(5);
	pid_t pid = vfork();
	if (pid == 0) {
		execl(self, "fork", "work", NULL);
		_exit(127);
	}
	must(pid);
	work(5);
	reap(pid);
}

void case_spawn(int n)
{
	pid_t pid;
	char *argv[] = { (char *)"fork", (char *)"work", NULL };
	work(5);
	must(-posix_spawn(&pid, self, NULL, NULL, argv, environ));
	work(5);
	reap(pid);
}

void case_system(int n)
{
	char line[4200];
	snprintf(line, sizeof(line), "'%s' work; :", self); // ; : keeps the shell
	work(5);
	must(-system(line));
	work(5);
}

void case_popen(int n)
{
	char line[4200], got[256];
	snprintf(line, sizeof(line), "'%s' work", self);
	work(5);
	FILE *f = popen(line, "r");
	must(f ? 0 : -1);
	while (fgets(got, sizeof(got), f))
		must(write(1, got, strlen(got)) > 0 ? 0 : -1);
	must(-pclose(f));
	work(5);
}

static void unsets(void)
{
	unsetenv("LD_PRELOAD");
	execs();
}

void case_unset(int n)
{
	work(5);
	reap(forked(unsets));
}

static void clears(void)
{
	clearenv();
	execs();
}

void case_clearenv(int n)
{
	work(5);
	reap(forked(clears));
}

static void becomes_static(void)
{
	char path[4200];
	snprintf(path, sizeof(path), "%.*s/t-static", (int)(strrchr(self, '/') - self), self);
	execl(path, "t-static", "args", NULL);
	_exit(127);
}

void case_static(int n)
{
	work(5);
	reap(forked(becomes_static));
}

// ---- between fork and exec

static void closes(void)
{
	for (int fd = 3; fd < 4096; fd++)
		close(fd);
	work_and_exit();
}

void case_closeall(int n)
{
	work(5);
	reap(forked(closes));
}

static void changes_dir(void)
{
	must(chdir("/"));
	if (fork() == 0)
		execs();
	int status;
	must(wait(&status));
	work_and_exit();
}

void case_chdir(int n)
{
	work(5);
	reap(forked(changes_dir));
}

static void changes_root(void)
{
	must(mkdir("jail", 0755));
	must(chroot("jail"));
	must(chdir("/"));
	pid_t pid = forked(work_and_exit); // cannot reach anything
	reap(pid);
	work_and_exit();
}

void case_chroot(int n)
{
	work(5);
	reap(forked(changes_root));
}

static void becomes_nobody(void)
{
	must(setgid(65534));
	must(setuid(65534));
	pid_t pid = forked(work_and_exit);
	reap(pid);
	work_and_exit();
}

void case_setuid(int n)
{
	work(5);
	reap(forked(becomes_nobody));
}

static void nobody_execs(void)
{
	must(setgid(65534));
	must(setuid(65534));
	execs();
}

void case_setuid_exec(int n)
{
	work(5);
	reap(forked(nobody_execs));
}

void case_setuid_first(int n)
{
	work(5);
	must(setgid(65534));
	must(setuid(65534));
	reap(forked(work_and_exit));
	work(5);
}

void case_chroot_first(int n)
{
	work(5);
	must(mkdir("jail", 0755));
	must(chroot("jail"));
	must(chdir("/"));
	reap(forked(work_and_exit));
	work(5);
}

// ---- children that outlive their parent

static void waits_for_orphanage(void)
{
	char c;
	int end = atoi(getenv("FORK_END"));
	must(read(end, &c, 1)); // the parent is gone
	work_and_exit();
}

void case_outlive(int n)
{
	int ends[2];
	char number[16];
	must(pipe(ends));
	work(5);
	snprintf(number, sizeof(number), "%d", ends[0]);
	setenv("FORK_END", number, 1);
	if (fork() == 0) {
		close(ends[1]);
		waits_for_orphanage();
	}
	close(ends[0]);
	tell();
	_exit(7);
}

// The child becomes another program when whoever holds our stdin lets go of it.
static void is_late(void)
{
	char c;
	must(write(1, "child ready\n", 12));
	must(read(0, &c, 1));
	execs();
}

void case_late(int n)
{
	work(5);
	forked(is_late);
}

static void told(int sig)
{
	tell();
	_exit(0);
}

static void sleeps(void)
{
	child_begins();
	work(10);
	signal(SIGTERM, told);
	must(write(1, "child ready\n", 12));
	for (;;)
		pause();
}

// n children sleep; the first process ends at once if n is negative.
void case_sleeper(int n)
{
	work(5);
	for (int i = 0; i < abs(n); i++)
		forked(sleeps);
	if (n < 0) {
		tell();
		_exit(0);
	}
	signal(SIGTERM, told);
	must(write(1, "ready\n", 6));
	for (;;)
		pause();
}

// ---- a lost wakeup in a child, made after the fork

static int set, event;

static void waits(void)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = &one };
	must(epoll_ctl(set, EPOLL_CTL_ADD, event, &e));
	swap(&one.uc, &home);
}

static void loses(void)
{
	struct epoll_event e;
	child_begins();
	must(set = epoll_create1(EPOLL_CLOEXEC));
	must(event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	make(&one, waits, &home);
	swap(&home, &one.uc);
	close(event);
	must(write(1, "child ready\n", 12));
	for (;;)
		epoll_wait(set, &e, 1, -1);
}

void case_lost(int n)
{
	work(5);
	forked(loses);
	must(write(1, "ready\n", 6));
	for (;;)
		pause();
}
