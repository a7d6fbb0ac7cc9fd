// SPDX-License-Identifier: MIT
//
// manners_early.c - a library whose constructor and destructor call what others
// stand before, earlier and later than these expect to be called.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

__attribute__((visibility("default"))) int early_ok, early_switches;
static ucontext_t here, there;
static char stack[64 << 10];

static void body(void)
{
	for (;;)
		swapcontext(&there, &here);
}

static int works(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	jmp_buf buf;
	volatile int ok = 0;
	int p[2], s[2];
	char c = 'x';
	void *m = malloc(100000), *map;
	free(m);
	ok += m != NULL;
	ok += pipe(p) == 0 && write(p[1], &c, 1) == 1 && read(p[0], &c, 1) == 1;
	ok += socketpair(AF_UNIX, SOCK_STREAM, 0, s) == 0 && send(s[0], &c, 1, 0) == 1 &&
	      recv(s[1], &c, 1, 0) == 1;
	int ep = epoll_create1(0), e = eventfd(1, 0), d = dup(e);
	ok += epoll_ctl(ep, EPOLL_CTL_ADD, d, &ev) == 0 && epoll_wait(ep, &ev, 1, 0) == 1;
	ok += fcntl(d, F_GETFD) == 0 && dup2(d, 100) == 100 && close(100) == 0;
	errno = 0;
	ok += read(-1, &c, 1) == -1 && errno == EBADF;
	for (int i = 0; i < 2; i++)
		close(p[i]), close(s[i]);
	close(ep), close(e), close(d);
	map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ok += munmap(map, 8192) == 0;
	if (!setjmp(buf))
		longjmp(buf, 1);
	ok++;
	sigaction(SIGTERM, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = sizeof(stack);
	there.uc_link = NULL;
	makecontext(&there, body, 0);
	for (int i = 0; i < 3; i++, early_switches += 2)
		swapcontext(&here, &there);
	return ok;
}

__attribute__((constructor)) static void begins(void)
{
	early_ok = works();
}

__attribute__((destructor)) static void ends(void)
{
	if (works() != 8)
		_exit(97);
}
