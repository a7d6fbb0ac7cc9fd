// SPDX-License-Identifier: MIT
//
// sound_wakes.c - WAKE [AFTER_MS]: a coroutine waits, its descriptor is closed
// under it, the program keeps it in a variable, and every thread sleeps. Nothing
// stirs but what WAKE prepared: after AFTER_MS (default an hour) it brings the
// program back to its own code, which resumes the coroutine, says "done" and ends.
// Who wakes it from outside is started only where it shall come soon.
// Prints "ready" once the state is final.
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { HOUR_MS = 3600000 };

static int ep, victim[2], bell;
static long after_ms;
static volatile sig_atomic_t due;
static struct co *kept;
static sigset_t unmasked;
static bool masks;

// ---- what all have in common

static void waiter(void *arg)
{
	(void)arg;
	char buf[64];
	while (co_read(ep, victim[0], buf, sizeof(buf)) > 0)
		;
	say("done");
	_exit(0);
}

static void on_ready(struct co_handler *h, uint32_t events)
{
	char bytes[512];
	(void)events;
	if (read(h->fd, bytes, sizeof(bytes)) != 0)
		due = 1;
}

static void watch(int fd)
{
	struct co_handler *h = must_alloc(sizeof(*h));
	*h = (struct co_handler){.fn = on_ready, .fd = fd};
	co_handle(ep, h, EPOLLIN);
}

static void on_signal(int number)
{
	(void)number;
	due = 1;
}

static void handle(int number)
{
	struct sigaction sa = {.sa_handler = on_signal};
	must(sigaction(number, &sa, NULL));
}

static void block(int number)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, number);
	must(pthread_sigmask(SIG_BLOCK, &set, NULL) ? -1 : 0);
}

// For other threads: the loop hears of it.
static void ring(void)
{
	due = 1;
	must(eventfd_write(bell, 1));
}

static struct timespec span(void)
{
	return (struct timespec){after_ms / 1000, after_ms % 1000 * 1000000};
}

static struct timespec at(clockid_t clock)
{
	struct timespec t, d = span();
	clock_gettime(clock, &t);
	t.tv_sec += d.tv_sec + (t.tv_nsec + d.tv_nsec) / 1000000000;
	t.tv_nsec = (t.tv_nsec + d.tv_nsec) % 1000000000;
	return t;
}

extern char **environ;

// A program of its own, which shares nothing with this one but the descriptors that stay open across exec. In
// an hour means: when this one has ended.
static pid_t spawn_later(const char *then)
{
	char line[160];
	char *argv[] = {"sh", "-c", line, NULL};
	pid_t pid;
	int life[2];
	must(pipe(life));
	must(fcntl(life[1], F_SETFD, FD_CLOEXEC));
	if (after_ms < HOUR_MS)
		snprintf(line, sizeof(line), "exec 2>/dev/null; sleep %ld.%03ld; %s", after_ms / 1000, after_ms % 1000, then);
	else
		snprintf(line, sizeof(line), "exec 2>/dev/null; read x <&%d; %s", life[0], then);
	must(posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) ? -1 : 0);
	must(close(life[0]));
	return pid;
}

static void from_outside(const char *format, long number)
{
	char then[96];
	snprintf(then, sizeof(then), format, number);
	if (after_ms < HOUR_MS)
		spawn_later(then);
}

// ---- timers and signals

static void wake_alarm(void)
{
	struct itimerval t = {.it_value = {after_ms / 1000, after_ms % 1000 * 1000}};
	handle(SIGALRM);
	must(setitimer(ITIMER_REAL, &t, NULL));
}

static void start_timer(struct sigevent *e)
{
	struct itimerspec t = {.it_value = span()};
	timer_t timer;
	must(timer_create(CLOCK_MONOTONIC, e, &timer));
	must(timer_settime(timer, 0, &t, NULL));
}

static void wake_timer_signal(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
	handle(SIGRTMIN + 3);
	start_timer(&e);
}

static void by_timer(union sigval v)
{
	(void)v;
	ring();
}

static void wake_timer_thread(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = by_timer};
	start_timer(&e);
}

static void wake_timer_signalfd(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
	sigset_t set;
	block(SIGRTMIN + 3);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	watch((int)must(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)));
	start_timer(&e);
}

// A loop that hears signals nowhere but in its wait.
static void wake_pwait(void)
{
	pthread_sigmask(SIG_SETMASK, NULL, &unmasked);
	masks = true;
	block(SIGUSR1);
	handle(SIGUSR1);
	from_outside("kill -USR1 %ld", getpid());
}

static void wake_reconfigure(void)
{
	handle(SIGHUP);
	from_outside("kill -HUP %ld", getpid());
}

static void wake_nested_timer(void)
{
	int inner = (int)must(epoll_create1(EPOLL_CLOEXEC)), timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	struct itimerspec t = {.it_value = span()};
	struct epoll_event ev = {.events = EPOLLIN};
	must(timerfd_settime(timer, 0, &t, NULL));
	must(epoll_ctl(inner, EPOLL_CTL_ADD, timer, &ev));
	watch(inner);
}

// ---- children

static void wake_sigchld(void)
{
	handle(SIGCHLD);
	spawn_later(":");
}

static void wake_pidfd(void)
{
	watch((int)must(syscall(SYS_pidfd_open, spawn_later(":"), 0)));
}

static void *reaper(void *arg)
{
	must(waitpid(*(pid_t *)arg, NULL, 0));
	ring();
	return NULL;
}

static void wake_reaper(void)
{
	static pid_t pid;
	pid = spawn_later(":");
	co_thread(reaper, &pid);
}

static void wake_childs_pipe(void)
{
	int p[2];
	char then[64];
	must(pipe(p));
	must(fcntl(p[0], F_SETFL, O_NONBLOCK));
	must(fcntl(p[0], F_SETFD, FD_CLOEXEC));
	snprintf(then, sizeof(then), "echo >&%d", p[1]);
	watch(p[0]);
	spawn_later(then);
}

static void wake_childs_eventfd(void)
{
	int e = (int)must(eventfd(0, EFD_NONBLOCK));
	char then[64];
	snprintf(then, sizeof(then), "printf 12345678 >&%d", e);
	watch(e);
	spawn_later(then);
}

static void wake_forked(void)
{
	static int *shared;
	int p[2];
	must(pipe2(p, O_CLOEXEC | O_NONBLOCK));
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	watch(p[0]);
	if (must(fork()) == 0) {
		struct timespec t = span();
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		nanosleep(&t, NULL);
		*shared = 1;
		must(write(p[1], "x", 1));
		_exit(0);
	}
}

// ---- threads

static void *sleeper(void *arg)
{
	struct timespec t = span();
	while (nanosleep(&t, &t))
		;
	ring();
	return arg;
}

static void wake_watchdog(void)
{
	co_thread(sleeper, NULL);
}

static void *timed_condition(void *arg)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	struct timespec t = at(CLOCK_REALTIME);
	pthread_mutex_lock(&m);
	while (pthread_cond_timedwait(&c, &m, &t) != ETIMEDOUT)
		;
	ring();
	return arg;
}

static void wake_timed_condition(void)
{
	co_thread(timed_condition, NULL);
}

static void *timed_semaphore(void *arg)
{
	sem_t s;
	struct timespec t = at(CLOCK_REALTIME);
	must(sem_init(&s, 0, 0));
	while (sem_timedwait(&s, &t) && errno == EINTR)
		;
	ring();
	return arg;
}

static void wake_timed_semaphore(void)
{
	co_thread(timed_semaphore, NULL);
}

static void *polls(void *arg)
{
	while (poll(NULL, 0, (int)after_ms) != 0)
		;
	ring();
	return arg;
}

static void wake_thread_polls(void)
{
	co_thread(polls, NULL);
}

static void *signal_waiter(void *set)
{
	int number;
	must(sigwait(set, &number) ? -1 : 0);
	ring();
	return NULL;
}

static void wake_sigwait(void)
{
	static sigset_t set;
	block(SIGUSR2);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	co_thread(signal_waiter, &set);
	from_outside("kill -USR2 %ld", getpid());
}

static pthread_mutex_t *shared_lock;
static pthread_cond_t *shared_condition;

static void *shared_waiter(void *arg)
{
	pthread_mutex_lock(shared_lock);
	pthread_cond_wait(shared_condition, shared_lock);
	pthread_mutex_unlock(shared_lock);
	ring();
	return arg;
}

// Who else has the file mapped is not known to anybody.
static void wake_shared_condition(void)
{
	pthread_mutexattr_t m;
	pthread_condattr_t c;
	int fd = (int)must(memfd_create("shared", MFD_CLOEXEC));
	must(ftruncate(fd, 4096));
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	shared_lock = (pthread_mutex_t *)page;
	shared_condition = (pthread_cond_t *)(page + 2048);
	pthread_mutexattr_init(&m);
	pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
	pthread_condattr_init(&c);
	pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
	must(pthread_mutex_init(shared_lock, &m) ? -1 : 0);
	must(pthread_cond_init(shared_condition, &c) ? -1 : 0);
	co_thread(shared_waiter, NULL);
	if (after_ms < HOUR_MS && must(fork()) == 0) {
		struct timespec t = span();
		nanosleep(&t, NULL);
		pthread_mutex_lock(shared_lock);
		pthread_cond_broadcast(shared_condition);
		pthread_mutex_unlock(shared_lock);
		_exit(0);
	}
}

static void *receiver(void *queue)
{
	struct { long type; char text[8]; } m;
	must(msgrcv(*(int *)queue, &m, sizeof(m.text), 0, 0));
	must(msgctl(*(int *)queue, IPC_RMID, NULL));
	ring();
	return NULL;
}

static void wake_msgrcv(void)
{
	static int queue;
	queue = (int)must(msgget(IPC_PRIVATE, 0600));
	co_thread(receiver, &queue);
	if (after_ms < HOUR_MS && must(fork()) == 0) {
		struct { long type; char text[8]; } m = {1, "now"};
		struct timespec t = span();
		nanosleep(&t, NULL);
		must(msgsnd(queue, &m, sizeof(m.text), 0));
		_exit(0);
	}
}

// ---- what the kernel reports

static void wake_inotify(void)
{
	static char dir[] = "/tmp/sound-XXXXXX";
	char then[96];
	must(mkdtemp(dir) ? 0 : -1);
	int fd = (int)must(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
	must(inotify_add_watch(fd, dir, IN_DELETE_SELF));
	watch(fd);
	snprintf(then, sizeof(then), "rmdir %s", dir);
	spawn_later(then); // in an hour, too: else nobody would remove it
}

static void message(union sigval v)
{
	(void)v;
	ring();
}

static void wake_mq_notify(void)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = message};
	struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = 8};
	char name[32];
	snprintf(name, sizeof(name), "/sound-%d", (int)getpid());
	mqd_t q = (mqd_t)must(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr));
	must(mq_unlink(name));
	must(mq_notify(q, &e));
	if (after_ms < HOUR_MS && must(fork()) == 0) {
		struct timespec t = span();
		nanosleep(&t, NULL);
		must(mq_send(q, "now", 3, 0));
		_exit(0);
	}
}

static void wake_sigio(void)
{
	int p[2];
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, p));
	handle(SIGIO);
	must(fcntl(p[0], F_SETOWN, getpid()));
	must(fcntl(p[0], F_SETFL, O_ASYNC | O_NONBLOCK));
	from_outside("echo >&%ld", p[1]);
}

// The library reads in a thread of its own, and calls back in another.
static void wake_aio(void)
{
	static struct aiocb cb;
	static char byte;
	int p[2];
	must(pipe(p));
	cb = (struct aiocb){.aio_fildes = p[0], .aio_buf = &byte, .aio_nbytes = 1,
			    .aio_sigevent = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = message}};
	must(aio_read(&cb));
	from_outside("echo >&%ld", p[1]);
}

// The kernel polls a pipe and counts an eventfd up that nobody else has.
static void wake_kernel_aio(void)
{
	int p[2], e = (int)must(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	aio_context_t context = 0;
	must(pipe(p));
	must(syscall(SYS_io_setup, 8, &context));
	static struct iocb cb;
	cb = (struct iocb){.aio_lio_opcode = 5 /* IOCB_CMD_POLL */, .aio_fildes = (unsigned)p[0], .aio_buf = POLLIN,
			   .aio_flags = 1 /* IOCB_FLAG_RESFD */, .aio_resfd = (unsigned)e};
	struct iocb *list = &cb;
	must(syscall(SYS_io_submit, context, 1, &list));
	watch(e);
	from_outside("echo >&%ld", p[1]);
}

static void wake_stdin(void)
{
	must(fcntl(0, F_SETFL, O_NONBLOCK));
	watch(0);
}

static const struct {
	const char *name;
	void (*fn)(void);
} wakes[] = {
	{"alarm", wake_alarm}, {"timer_signal", wake_timer_signal}, {"timer_thread", wake_timer_thread},
	{"timer_signalfd", wake_timer_signalfd}, {"pwait", wake_pwait}, {"reconfigure", wake_reconfigure},
	{"nested_timer", wake_nested_timer}, {"sigchld", wake_sigchld}, {"pidfd", wake_pidfd}, {"reaper", wake_reaper},
	{"childs_pipe", wake_childs_pipe}, {"childs_eventfd", wake_childs_eventfd}, {"forked", wake_forked},
	{"watchdog", wake_watchdog}, {"timed_condition", wake_timed_condition}, {"timed_semaphore", wake_timed_semaphore},
	{"thread_polls", wake_thread_polls}, {"sigwait", wake_sigwait}, {"shared_condition", wake_shared_condition},
	{"msgrcv", wake_msgrcv}, {"inotify", wake_inotify}, {"mq_notify", wake_mq_notify}, {"sigio", wake_sigio},
	{"aio", wake_aio}, {"kernel_aio", wake_kernel_aio}, {"stdin", wake_stdin},
};

static NOINLINE void begin(void)
{
	kept = co_new(waiter, NULL);
	kept->pinned = true;
	co_resume(kept);
}

static void turn(void)
{
	struct epoll_event ev;
	if (!masks)
		co_turn(ep, -1);
	else
		epoll_pwait(ep, &ev, 1, -1, &unmasked);
	if (due)
		co_resume(kept);
}

int main(int argc, char **argv)
{
	size_t i = 0, n = sizeof(wakes) / sizeof(*wakes);
	while (argc > 1 && i < n && strcmp(wakes[i].name, argv[1]))
		i++;
	if (argc < 2)
		return 2;
	bool quiet = !strcmp(argv[1], "nothing"); // nobody comes, ever
	must(i < n || quiet ? 0 : -1);
	after_ms = argc > 2 ? atol(argv[2]) : HOUR_MS;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	bell = (int)must(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	pair("pipe", victim);
	watch(bell);
	begin();
	if (!quiet)
		wakes[i].fn();
	must(close(victim[0]));
	say("ready");
	for (;;)
		turn();
}
