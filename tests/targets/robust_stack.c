// SPDX-License-Identifier: MIT
//
// robust_stack.c - how much of a coroutine's stack each call needs: the stack is
// painted, the call is made from a fixed depth, the deepest change is printed.
// `t-stack` prints "NAME BYTES" a line; `t-stack tiny` makes the calls on what
// is left of a 4 KiB page above a guard page (linked with -z now: lazy binding alone needs more).
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

enum { BYTES = 256 << 10, PAINT = 0x5a };

static ucontext_t here, there;
static int fds[2], ep, tiny;
static char *low, *high, *from;

static void do_read(void) { char c; (void)!read(fds[0], &c, 1); }
static void do_readv(void) { char c; struct iovec v = {&c, 1}; (void)!preadv(fds[0], &v, 1, 0); }
static void do_recv(void) { char c; (void)!recv(fds[0], &c, 1, MSG_DONTWAIT); }
static void do_write(void) { (void)!write(fds[1], "x", 1); }
static void do_open(void) { (void)!open("/dev/null", O_RDONLY); }
static void do_socket(void) { (void)!socket(AF_UNIX, SOCK_STREAM, 0); }
static void do_pipe(void) { int p[2]; must(pipe(p)); }
static void do_dup(void) { (void)!dup(fds[0]); }
static void do_dup2(void) { (void)!dup2(fds[0], 77); }
static void do_close(void) { close(77); }
static void do_close_bad(void) { close(78); }
static void do_ctl(void)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = &there};
	epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &ev);
}
static void do_del(void) { epoll_ctl(ep, EPOLL_CTL_DEL, fds[0], NULL); }
static void do_wait(void) { struct epoll_event ev; epoll_wait(ep, &ev, 1, 0); }
static void do_swap(void) { swapcontext(&there, &here); }
static void do_get(void) { static ucontext_t u; getcontext(&u); }
static void do_make(void)
{
	static ucontext_t u;
	static char stack[16384];
	getcontext(&u);
	u.uc_stack.ss_sp = stack;
	u.uc_stack.ss_size = sizeof(stack);
	makecontext(&u, do_get, 0);
}
static void do_mmap(void) { must(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED); }
static void do_free(void) { static void *p[64]; static int n; if (!p[n]) p[n] = aligned_alloc(64, 2048); free(p[n++]); }
static void do_fcntl(void) { (void)!fcntl(fds[0], F_DUPFD_CLOEXEC, 0); }

static const struct {
	const char *name;
	void (*call)(void);
} calls[] = {
	{"read", do_read}, {"preadv", do_readv}, {"recv", do_recv}, {"write", do_write}, {"open", do_open},
	{"socket", do_socket}, {"pipe", do_pipe}, {"dup", do_dup}, {"dup2", do_dup2}, {"close", do_close},
	{"close-bad", do_close_bad}, {"epoll-add", do_ctl}, {"epoll-del", do_del}, {"epoll-wait", do_wait},
	{"swapcontext", do_swap}, {"getcontext", do_get}, {"makecontext", do_make}, {"mmap", do_mmap},
	{"free", do_free}, {"fcntl", do_fcntl},
};
enum { CALLS = sizeof(calls) / sizeof(*calls) };

static __attribute__((noinline)) void tell(unsigned i, int round)
{
	char *p = low;
	while (p < from && *p == PAINT)
		p++;
	if (round == 0)
		return; // the loader's own work lies in the first
	printf("%s %ld\n", calls[i].name, (long)(from - p));
}

static __attribute__((noinline)) void paint(void)
{
	char *end = (char *)__builtin_frame_address(0) - 64;
	for (volatile char *p = low; p < end; p++)
		*p = PAINT;
}

static void measure(void)
{
	from = (char *)__builtin_frame_address(0) - 64;
	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < CALLS; i++) {
			if (!tiny)
				paint();
			calls[i].call();
			if (!tiny)
				tell(i, round);
		}
	swapcontext(&there, &here);
}

int main(int argc, char **argv)
{
	tiny = argc > 1 && !strcmp(argv[1], "tiny");
	size_t bytes = tiny ? 4096 : BYTES;
	char *map = must_map(bytes + 4096);
	must(mprotect(map, 4096, PROT_NONE));
	low = map + 4096;
	high = low + bytes;
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	ep = epoll_create1(0);
	getcontext(&there);
	there.uc_stack.ss_sp = low;
	there.uc_stack.ss_size = bytes;
	there.uc_link = &here;
	makecontext(&there, measure, 0);
	for (int i = 0; i < 3; i++)
		must(swapcontext(&here, &there));
	puts("done");
	return 0;
}
