// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGUSR1
//
// Sessions are kept in a file, written page by page, and the file is mapped to be
// read at once when somebody asks for it. So far nobody has touched a page of the
// mapping: what leads to the waiters lies in the file's cache only.
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "ordered.h"

#define SESSIONS 4
#define PAGE 4096

struct page {
	char header[64];
	int32_t fd, state;
	struct co *session;
	char rest[PAGE - 80];
};

static const struct page *pages;
static int ep, file, sockets[SESSIONS];

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void make_file(void)
{
	char path[64];
	snprintf(path, sizeof(path), "sessions.%d", (int)getpid());
	file = (int)must(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
	must(ftruncate(file, SESSIONS * sizeof(struct page)));
}

static NOINLINE void write_page(int i, int fd, struct co *c)
{
	struct page p = {.header = "session", .fd = fd, .state = 1, .session = c};
	must(pwrite(file, &p, sizeof(p), (off_t)(i * sizeof(p))));
	memset(&p, 0, sizeof(p));
	__asm__ volatile("" : : "r"(&p) : "memory");
}

static NOINLINE void begin(int i)
{
	int fds[2];
	pair("unix", fds);
	sockets[i] = fds[0];
	struct co *c = co_new(session, (void *)(intptr_t)fds[0]);
	write_page(i, fds[0], c);
	co_resume(c);
	must(write(fds[1], "begin", 5));
	co_turn(ep, -1);
}

static NOINLINE void map_file(void)
{
	void *p = mmap(NULL, SESSIONS * sizeof(struct page), PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	must(p == MAP_FAILED ? -1 : 0);
	pages = p;
	close(file);
}

static NOINLINE void close_sockets(void)
{
	for (int i = 0; i < SESSIONS; i++)
		close(sockets[i]); // fault
}

static NOINLINE void restore(const struct page *p)
{
	if (p->state == 1)
		co_resume(p->session);
}

static NOINLINE void remove_file(void)
{
	char path[64];
	snprintf(path, sizeof(path), "sessions.%d", (int)getpid());
	must(unlink(path));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	make_file();
	for (int i = 0; i < SESSIONS; i++)
		begin(i);
	map_file();
	close_sockets();
	serve_until_ordered(ep);
	for (int i = 0; i < SESSIONS; i++)
		restore(&pages[i]);
	remove_file();
	return all_resumed(SESSIONS);
}
