// SPDX-License-Identifier: MIT
//
// misc.c - what a program may do that a tracer must not disturb.
//   misc exit N | signal N | crash | run N | forever | fds | wait | args ... | env NAME
//   misc cat | fork | execs N | pid | mask
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static void spin(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		co_yield();
}

static void run(long yields)
{
	struct co *c = co_new(spin, (void *)yields);
	for (long i = 0; i <= yields; i++)
		co_resume(c);
}

static void crashes(void *arg)
{
	*(volatile int *)arg = 1;
}

static int do_exit(char **a)
{
	run(3);
	return atoi(a[0]);
}

static int do_signal(char **a)
{
	run(3);
	raise(atoi(a[0]));
	return 99;
}

static int do_crash(char **a)
{
	(void)a;
	co_start(crashes, NULL);
	return 99;
}

static int do_run(char **a)
{
	run(atol(a[0]));
	printf("ran %s\n", a[0]);
	return 0;
}

_Noreturn static int do_forever(char **a)
{
	(void)a;
	say("ready");
	for (;;)
		run(1000);
}

// Open descriptors, as the program sees them.
static int do_fds(char **a)
{
	(void)a;
	run(3);
	DIR *d = opendir("/proc/self/fd");
	for (struct dirent *e; d && (e = readdir(d));)
		if (e->d_name[0] != '.' && atoi(e->d_name) != dirfd(d))
			puts(e->d_name);
	return 0;
}

static volatile sig_atomic_t children;

static void on_child(int sig)
{
	(void)sig;
	children++;
}

// Nobody but our own children may be seen by wait, and nobody else's SIGCHLD.
static int do_wait(char **a)
{
	(void)a;
	signal(SIGCHLD, on_child);
	run(3);
	if (waitpid(-1, NULL, 0) != -1 || errno != ECHILD)
		return 1;
	pid_t pid = fork();
	if (pid == 0)
		_exit(5);
	int status = 0;
	if (wait(&status) != pid || WEXITSTATUS(status) != 5 || wait(NULL) != -1)
		return 2;
	return children == 1 ? 0 : 3;
}

static int do_args(char **a)
{
	for (; *a; a++)
		puts(*a);
	return 0;
}

static int do_env(char **a)
{
	for (; *a; a++)
		printf("%s=%s\n", *a, getenv(*a) ? getenv(*a) : "(none)");
	run(3);
	return 0;
}

static int do_cat(char **a)
{
	(void)a;
	char buf[4096];
	run(3);
	for (ssize_t n; (n = read(0, buf, sizeof(buf))) > 0;)
		must(write(1, buf, (size_t)n));
	fputs("cat: done\n", stderr);
	return 0;
}

// A child that switches as well, and execs something that does.
static int do_fork(char **a)
{
	(void)a;
	run(10);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		run(10);
		puts("child");
		fflush(stdout);
		execl("/proc/self/exe", "misc", "run", "5", NULL);
		_exit(98);
	}
	int status;
	waitpid(pid, &status, 0);
	run(10);
	printf("parent %d\n", WEXITSTATUS(status));
	return 0;
}

// The same process becomes another image, n times.
static int do_execs(char **a)
{
	int n = atoi(a[0]);
	char left[16];
	run(10);
	if (n == 0) {
		puts("last");
		return 7;
	}
	snprintf(left, sizeof(left), "%d", n - 1);
	execl("/proc/self/exe", "misc", "execs", left, NULL);
	return 98;
}

static int do_pid(char **a)
{
	(void)a;
	printf("%d\n", (int)getpid());
	run(3);
	return 0;
}

// Signal mask and dispositions as a program finds them.
static int do_mask(char **a)
{
	(void)a;
	sigset_t set;
	run(3);
	sigprocmask(SIG_BLOCK, NULL, &set);
	for (int s = 1; s < 65; s++) {
		struct sigaction sa;
		if (sigaction(s, NULL, &sa) != 0)
			continue;
		printf("%d %d %d\n", s, sigismember(&set, s), sa.sa_handler == SIG_IGN);
	}
	return 0;
}

static const struct {
	const char *name;
	int args;
	int (*run)(char **);
} cases[] = {
	{"exit", 1, do_exit}, {"signal", 1, do_signal}, {"crash", 0, do_crash}, {"run", 1, do_run},
	{"forever", 0, do_forever}, {"fds", 0, do_fds}, {"wait", 0, do_wait}, {"args", 0, do_args},
	{"env", 0, do_env}, {"cat", 0, do_cat}, {"fork", 0, do_fork}, {"execs", 1, do_execs},
	{"pid", 0, do_pid}, {"mask", 0, do_mask},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0 && argc - 2 >= cases[i].args)
			return cases[i].run(argv + 2);
	fprintf(stderr, "misc: what?\n");
	return 2;
}
