// SPDX-License-Identifier: MIT
//
// robust_ways.c - rough company: signals, limits, children, threads.
//   t-ways NAME [N]: prints what it counted itself, so that a trace can be compared.
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

extern char **environ;

static void spin(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		co_yield();
}

// 2 n + 2 switches.
static void run(long n)
{
	struct co *c = co_new(spin, (void *)n);
	for (long i = 0; i <= n; i++)
		co_resume(c);
}

static volatile sig_atomic_t got;

static void on_signal(int sig)
{
	got = sig;
}

// Takes SIGINT, finishes its work, exits 0.
static int do_graceful(long n)
{
	(void)n;
	signal(SIGINT, on_signal);
	say("ready");
	while (!got)
		run(10);
	printf("got %d\n", got);
	return 0;
}

_Noreturn static int do_ignores(long n)
{
	(void)n;
	signal(SIGTERM, SIG_IGN);
	say("ready");
	for (;;)
		run(10);
}

static int do_dispositions(long n)
{
	(void)n;
	struct sigaction sa;
	sigaction(SIGINT, NULL, &sa);
	printf("int %s\n", sa.sa_handler == SIG_IGN ? "ignored" : "default");
	sigaction(SIGHUP, NULL, &sa);
	printf("hup %s\n", sa.sa_handler == SIG_IGN ? "ignored" : "default");
	run(3);
	return 0;
}

static volatile sig_atomic_t counts[NSIG];

static void count(int sig)
{
	counts[sig]++;
}

// Counts signals until SIGUSR2 says that it is over.
static int do_counts(long n)
{
	static const int which[] = {SIGHUP, SIGUSR1, SIGWINCH, SIGCONT, SIGUSR2};
	(void)n;
	struct sigaction sa = {.sa_handler = count};
	for (int i = 0; i < 5; i++)
		sigaction(which[i], &sa, NULL);
	say("ready");
	for (int seen = 0; !counts[SIGUSR2];) {
		int now = counts[SIGHUP] + counts[SIGUSR1] + counts[SIGWINCH] + counts[SIGCONT];
		for (; seen < now; seen++)
			say("one");
		run(10);
	}
	printf("hup %d usr1 %d winch %d cont %d\n", counts[SIGHUP], counts[SIGUSR1], counts[SIGWINCH], counts[SIGCONT]);
	return 0;
}

// Closes every descriptor, and fills the numbers again.
static int do_closes(long n)
{
	int out = dup(1), pipes[8][2], bad = 0;
	(void)n;
	run(3);
	out = dup2(out, 900);
	close_range(0, 899, 0);
	close_range(901, ~0U, 0);
	for (int i = 0; i < 8; i++)
		must(pipe(pipes[i]));
	for (int i = 0; i < 1000; i++) {
		char c = (char)i;
		run(3);
		must(write(pipes[i % 8][1], &c, 1));
		bad += read(pipes[i % 8][0], &c, 1) != 1 || c != (char)i;
	}
	fcntl(pipes[0][0], F_SETFL, O_NONBLOCK);
	char c;
	bad += read(pipes[0][0], &c, 1) != -1 || errno != EAGAIN;
	dprintf(out, "bad %d lowest %d\n", bad, pipes[0][0]);
	return 0;
}

static int do_limits(long n)
{
	struct rlimit as = {1ULL << 40, 1ULL << 40}, files = {8, 8}, none = {0, 0};
	(void)n;
	run(3);
	setrlimit(RLIMIT_NOFILE, &files);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &none);
	as.rlim_cur = as.rlim_max = 64 << 20;
	setrlimit(RLIMIT_AS, &as);
	for (int i = 0; i < 100; i++)
		run(100);
	write(1, "limited\n", 8);
	return 0;
}

static int do_chroot(long n)
{
	(void)n;
	run(3);
	must(chroot("/proc/self/fdinfo"));
	must(chdir("/"));
	run(100);
	if (setgid(65534) || setuid(65534))
		return 1;
	run(100);
	say("jailed");
	return 0;
}

static void in_child(long n)
{
	run(n);
	_exit(3);
}

static int reap(pid_t pid)
{
	int status = -1;
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}


static int clone_child(void *arg)
{
	run((long)arg);
	return 4;
}

// Every way to a child; each of them switches. 5 times 22 switches are ours.
static int do_children(long n)
{
	static char stack[256 << 10] __attribute__((aligned(64)));
	char *argv[] = {"t-ways", "graceless", NULL}, text[64] = "";
	pid_t pid;
	(void)n;
	run(10);
	if (!(pid = fork()))
		in_child(50);
	printf("fork %d\n", reap(pid));
	run(10);
	if (!(pid = vfork())) {
		execl("/proc/self/exe", "t-ways", "graceless", (char *)NULL);
		_exit(9);
	}
	printf("vfork %d\n", reap(pid));
	run(10);
	posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
	printf("spawn %d\n", reap(pid));
	pid = clone(clone_child, stack + sizeof(stack), SIGCHLD, (void *)20);
	printf("clone %d\n", reap(pid));
	run(10);
	printf("system %d\n", WEXITSTATUS(system("exit 6")));
	FILE *p = popen("echo hello", "r");
	if (p && fgets(text, sizeof(text), p))
		printf("popen %s", text);
	printf("pclose %d\n", p ? WEXITSTATUS(pclose(p)) : -1);
	fflush(stdout);
	if (!(pid = fork())) { // double fork
		if (!fork()) {
			setsid();
			run(50);
			_exit(0);
		}
		_exit(7);
	}
	printf("double %d\n", reap(pid));
	run(10);
	return 0;
}

static int do_graceless(long n)
{
	(void)n;
	run(20);
	return 5;
}

// A daemon that goes on in a grandchild: it must live, whoever watches.
static int do_daemon(long n)
{
	(void)n;
	run(10);
	fflush(stdout);
	must(daemon(1, 1));
	run(1000);
	say("daemon done");
	_exit(0);
}

static void *thread_main(void *arg)
{
	run((long)arg);
	return NULL;
}

static int do_threads(long n)
{
	pthread_t t[64];
	for (int i = 0; i < 64; i++)
		must(pthread_create(&t[i], NULL, thread_main, (void *)n));
	for (int i = 0; i < 64; i++)
		must(pthread_join(t[i], NULL));
	printf("switches %ld\n", 64 * (2 * n + 2));
	return 0;
}

static int do_short_threads(long n)
{
	pthread_t t[4];
	for (long i = 0; i < n; i += 4) {
		for (int k = 0; k < 4; k++)
			must(pthread_create(&t[k], NULL, thread_main, (void *)3));
		for (int k = 0; k < 4; k++)
			must(pthread_join(t[k], NULL));
	}
	printf("switches %ld\n", n * 8);
	return 0;
}

static void leaves_thread(void *arg)
{
	pthread_exit(arg);
}

static void *thread_ends_inside(void *arg)
{
	run(2);
	co_start(leaves_thread, arg);
	return NULL;
}

static int do_ends_inside(long n)
{
	pthread_t t;
	for (long i = 0; i < n; i++) {
		must(pthread_create(&t, NULL, thread_ends_inside, NULL));
		must(pthread_join(t, NULL));
	}
	printf("switches %ld\n", n * 7);
	return 0;
}

static pthread_barrier_t all_here;

static void *thread_waits(void *arg)
{
	run((long)arg);
	pthread_barrier_wait(&all_here);
	run((long)arg);
	return NULL;
}

// More threads at once than there are slots.
static int do_crowd(long n)
{
	pthread_t *t = calloc((size_t)n, sizeof(*t));
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 64 << 10);
	pthread_barrier_init(&all_here, NULL, (unsigned)n);
	for (long i = 0; i < n; i++)
		must(pthread_create(&t[i], &a, thread_waits, (void *)2));
	for (long i = 0; i < n; i++)
		must(pthread_join(t[i], NULL));
	puts("all done");
	return 0;
}

static int pipe_fds[2];
static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	char c = 'x';
	(void)sig;
	int e = errno, d = dup(pipe_fds[0]);
	if (write(pipe_fds[1], &c, 1) == 1 && read(d, &c, 1) == 1)
		ticks++;
	close(d);
	errno = e;
}

// A handler at 1 kHz that does I/O, while the program switches.
static int do_ticks(long n)
{
	struct itimerval it = {{0, 1000}, {0, 1000}};
	struct sigaction sa = {.sa_handler = tick, .sa_flags = SA_RESTART};
	must(pipe(pipe_fds));
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	run(n);
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	printf("switches %ld\n", 2 * n + 2);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(long n);
} cases[] = {
	{"graceful", do_graceful}, {"ignores", do_ignores}, {"dispositions", do_dispositions}, {"counts", do_counts},
	{"closes", do_closes}, {"limits", do_limits}, {"chroot", do_chroot}, {"children", do_children},
	{"graceless", do_graceless}, {"daemon", do_daemon}, {"threads", do_threads},
	{"short-threads", do_short_threads}, {"ends-inside", do_ends_inside}, {"crowd", do_crowd}, {"ticks", do_ticks},
};

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run(argc > 2 ? atol(argv[2]) : 0);
	fprintf(stderr, "t-ways: what?\n");
	return 2;
}
