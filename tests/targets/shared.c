// SPDX-License-Identifier: MIT
//
// shared.c - what a coroutine waits for is closed here and lives on elsewhere,
// or is closed elsewhere and lives on here: see clean.c.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clean.h"

extern char **environ;

static void wait_for(pid_t pid)
{
	int status;
	must(waitpid(pid, &status, 0));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		abort();
}

// A vfork child runs in our memory: what it closes, we still have.
static NOINLINE pid_t vfork_and_close(const int *fds, int n)
{
	pid_t pid = vfork();
	if (pid == 0) {
		for (int i = 0; i < n; i++)
			close(fds[i]);
		_exit(0);
	}
	return pid;
}

void clean_vfork(void)
{
	int *fds = live(5);
	pid_t pid;
	char *argv[] = {"true", NULL};
	posix_spawn_file_actions_t act;
	wait_for((pid_t)must(vfork_and_close(fds, 10)));
	posix_spawn_file_actions_init(&act);
	for (int i = 0; i < 10; i++)
		posix_spawn_file_actions_addclose(&act, fds[i]);
	if (posix_spawn(&pid, "/bin/true", &act, NULL, argv, environ) != 0)
		abort();
	wait_for(pid);
	if (system("exit 0") != 0)
		abort();
	idle();
}

void clean_fork(void)
{
	int *fds = live(5);
	pid_t pid = (pid_t)must(fork());
	if (pid == 0) {
		for (int i = 0; i < 10; i++)
			close(fds[i]);
		_exit(0);
	}
	wait_for(pid);
	idle();
}

// A child keeps the descriptions open: their rows stay, and still deliver.
void clean_child_holds(void)
{
	int *fds = live(3);
	pid_t parent = getpid();
	if (must(fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	for (int i = 0; i < 3; i++)
		must(close(fds[2 * i]));
	idle();
}

static void send_fd(int through, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {.iov_base = "x", .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	must(sendmsg(through, &msg, 0));
}

// In a message that nobody has read yet: no number anywhere, still alive.
void clean_in_flight(void)
{
	int *fds = live(3), mail[2];
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, mail));
	for (int i = 0; i < 3; i++) {
		send_fd(mail[0], fds[2 * i]);
		must(close(fds[2 * i]));
	}
	idle();
}

// A thread sits in a read of the same pipe: it holds the description.
static int read_too;
static pthread_barrier_t begun;

static void *sits(void *arg)
{
	char byte;
	(void)arg;
	pthread_barrier_wait(&begun);
	while (read(read_too, &byte, 1) > 0)
		;
	return NULL;
}

void clean_thread_reads(void)
{
	static int fds[2];
	pair("pipe", fds);
	co_start(reader, fds);
	must(fcntl(fds[0], F_SETFL, 0));
	read_too = fds[0];
	pthread_barrier_init(&begun, NULL, 2);
	co_thread(sits, NULL);
	pthread_barrier_wait(&begun);
	must(write(fds[1], "x", 1)); // whoever reads it, reads again
	idle();
}

static int first[2], second[2];

static void waits_for_two(void *arg)
{
	(void)arg;
	co_watch(ep, first[0], EPOLLIN, co_self());
	co_watch(ep, second[0], EPOLLIN, co_self());
	co_yield();
}

void clean_two_sources(void)
{
	pair("tcp", first);
	pair("tcp", second);
	co_start(waits_for_two, NULL);
	must(close(first[0]));
	idle();
}

// The scheduler moves a waiter's descriptor to another set.
static int other_ep;

static void *other_loop(void *arg)
{
	(void)arg;
	co_loop(other_ep);
}

static void watch_there(void *arg)
{
	int *fds = arg;
	co_watch(ep, fds[0], EPOLLIN, co_self());
	must(epoll_ctl(ep, EPOLL_CTL_DEL, fds[0], NULL));
	co_watch(other_ep, fds[0], EPOLLIN, co_self());
	co_yield();
}

void clean_moved(void)
{
	static int fds[2];
	other_ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	co_start(watch_there, fds);
	co_thread(other_loop, NULL);
	idle();
}

// Its event was taken, it stands in the run queue, and the only worker is busy
// with something long when the descriptor is closed.
static struct co *queue;
static int jobs[2];

static void on_job(struct co_handler *h, uint32_t events)
{
	(void)h;
	(void)events;
	char byte;
	say("ready");
	must(fcntl(jobs[0], F_SETFL, 0));
	must(read(jobs[0], &byte, 1)); // the long work
	co_resume(queue);
}

void clean_queued(void)
{
	static int fds[2];
	static struct co_handler busy = {.fn = on_job};
	pair("pipe", jobs);
	pair("tcp", fds);
	struct epoll_event ev;
	co_start(reader, fds);
	must(write(fds[1], "x", 1));
	must(epoll_wait(ep, &ev, 1, -1));
	queue = ev.data.ptr;
	must(close(fds[0]));
	on_job(&busy, 0);
}

// Not closed but unregistered, under a waiter that nobody else knows.
static NOINLINE void unregister(int fd)
{
	must(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL));
}

void clean_deleted(void)
{
	int *fds = live(3);
	unregister(fds[0]);
	idle();
}
