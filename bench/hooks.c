// SPDX-License-Identifier: MIT
//
// What a call costs that is no switch: prints the time of one in nanoseconds.
// Usage: hooks CALL native|coroutine COUNT; without arguments the names of the
// calls. There is a suspended coroutine in any case: before the first one is made,
// much is left undone. A call that comes in pairs (lock and unlock) counts as one.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "now.h"

static int pipes[2], pair[2], event, empty, quiet, epoll_ready, epoll_quiet, epoll_timer, timer, alarm_fd;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// ------------------------------------------------------------- the calls

static char byte[64];
static struct epoll_event got[8];

static void must(long is, long want)
{
	if (is != want) {
		perror("bench: a call gave what it should not");
		exit(2);
	}
}

// Two calls each: write and read, send and recv. A half of it is one.
static void pipe_pair(void) { must(write(pipes[1], byte, 1), 1); must(read(pipes[0], byte, 1), 1); }
static void event_pair(void) { must(write(event, &(uint64_t){1}, 8), 8); must(read(event, byte, 8), 8); }
static void send_recv(void) { must(send(pair[0], byte, 1, 0), 1); must(recv(pair[1], byte, 1, 0), 1); }
static void read_eagain(void) { must(read(empty, byte, 8), -1); }
static void read_zero(void) { must(read(pipes[0], byte, 0), 0); }
static void wait_one(void) { must(epoll_wait(epoll_ready, got, 8, -1), 1); }
static void wait_none(void) { must(epoll_wait(epoll_quiet, got, 8, 0), 0); }
static void poll_one(void) { must(poll(&(struct pollfd){.fd = event, .events = POLLOUT}, 1, -1), 1); }
static void poll_none(void) { must(poll(&(struct pollfd){.fd = quiet, .events = POLLIN}, 1, 0), 0); }
static void sleep_none(void) { must(nanosleep(&(struct timespec){0, 0}, NULL), 0); }
static void malloc_small(void) { void *volatile p = malloc(32); free(p); }
static void malloc_page(void) { void *volatile p = malloc(4096); free(p); }
static const struct itimerspec later = {.it_value = {1000, 0}};
static void timer_set(void) { must(timerfd_settime(alarm_fd, 0, &later, NULL), 0); }
static void mutex_pair(void) { must(pthread_mutex_lock(&lock), 0); must(pthread_mutex_unlock(&lock), 0); }

// A timer goes on only when it is read: past us, as that is not what is measured.
static void wait_blocks(void)
{
	must(epoll_wait(epoll_timer, got, 8, -1), 1);
	must(syscall(SYS_read, timer, byte, 8), 8);
}

static void control_mod(void)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.fd = quiet};
	must(epoll_ctl(epoll_quiet, EPOLL_CTL_MOD, quiet, &ev), 0);
}

static void open_close(void)
{
	int fd = eventfd(0, 0);
	must(close(fd), 0);
}

static void select_one(void)
{
	fd_set set;
	FD_ZERO(&set);
	FD_SET(event, &set);
	must(select(event + 1, NULL, &set, NULL, NULL), 1);
}

static void clock_get(void)
{
	struct timespec t;
	must(clock_gettime(CLOCK_MONOTONIC, &t), 0);
}

static const struct {
	const char *name;
	void (*call)(void);
	int calls; // in it
} calls[] = {
	{"read+write-pipe", pipe_pair, 2}, {"read+write-eventfd", event_pair, 2}, {"recv+send", send_recv, 2},
	{"read-nothing", read_zero, 1}, {"read-EAGAIN", read_eagain, 1},
	{"epoll_wait-1", wait_one, 1}, {"epoll_wait-0", wait_none, 1}, {"epoll_wait-blocks", wait_blocks, 1},
	{"epoll_ctl-MOD", control_mod, 1}, {"poll-1", poll_one, 1}, {"poll-0", poll_none, 1}, {"select-1", select_one, 1},
	{"eventfd+close", open_close, 1}, {"nanosleep-0", sleep_none, 1}, {"timerfd_settime", timer_set, 1},
	{"malloc+free-32", malloc_small, 1}, {"malloc+free-4096", malloc_page, 1}, {"mutex-pair", mutex_pair, 1},
	{"clock_gettime", clock_get, 1},
};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

// ------------------------------------------------------------- the rest

static ucontext_t scheduler, worker, idle;
static char worker_stack[1 << 16], idle_stack[1 << 16];
static int which;
static long count;
static double took_ns;

static void measure(void)
{
	void (*call)(void) = calls[which].call;
	for (int i = 0; i < 8; i++)
		call();
	double t0 = now_ns();
	for (long i = 0; i < count; i++)
		call();
	took_ns = (now_ns() - t0) / (double)count / calls[which].calls;
}

static void idles(void)
{
	swapcontext(&idle, &scheduler);
}

static void make(ucontext_t *u, char *stack, size_t bytes, void (*body)(void))
{
	getcontext(u);
	u->uc_stack.ss_sp = stack;
	u->uc_stack.ss_size = bytes;
	u->uc_link = &scheduler;
	makecontext(u, body, 0);
	swapcontext(&scheduler, u);
}

static void watch(int set, int fd, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = fd};
	must(epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev), 0);
}

static void prepare(void)
{
	must(pipe(pipes), 0);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	event = eventfd(0, EFD_NONBLOCK);
	empty = eventfd(0, EFD_NONBLOCK);
	quiet = eventfd(0, EFD_NONBLOCK);
	epoll_ready = epoll_create1(0);
	epoll_quiet = epoll_create1(0);
	epoll_timer = epoll_create1(0);
	watch(epoll_ready, event, EPOLLOUT);
	watch(epoll_quiet, quiet, EPOLLIN | EPOLLET);
	alarm_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec each = {.it_value = {0, 50000}, .it_interval = {0, 50000}};
	must(timerfd_settime(timer, 0, &each, NULL), 0);
	watch(epoll_timer, timer, EPOLLIN | EPOLLET);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		for (int i = 0; i < CALLS; i++)
			puts(calls[i].name);
		return argc != 1;
	}
	while (which < CALLS && strcmp(calls[which].name, argv[1]))
		which++;
	if (which == CALLS)
		return 2;
	count = atol(argv[3]);
	prepare();
	make(&idle, idle_stack, sizeof(idle_stack), idles);
	if (strcmp(argv[2], "coroutine"))
		measure();
	else
		make(&worker, worker_stack, sizeof(worker_stack), measure);
	printf("%.2f\n", took_ns);
	return 0;
}
