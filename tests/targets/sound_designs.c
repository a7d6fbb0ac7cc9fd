// SPDX-License-Identifier: MIT
//
// sound_designs.c - see sound_hide.h: how servers keep their waiters, with
// tags, in tables, arenas and pools, in other threads and with helpers.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sound_hide.h"

enum { SLICE = 64 << 10, SLICES = 16, MINE = 5, PAGE = 4096 };

static void hide_nothing(struct co *c)
{
	(void)c;
}

// ---- words

static uint64_t word;

static void hide_tag_low(struct co *c)
{
	word = (uint64_t)(uintptr_t)c | 3;
}

static struct co *find_tag_low(void)
{
	return (struct co *)(uintptr_t)(word & ~7ULL);
}

static void hide_boxed(struct co *c)
{
	word = 0xfffa000000000000 | (uint64_t)(uintptr_t)c;
}

static struct co *find_boxed(void)
{
	return (struct co *)(uintptr_t)(word << 16 >> 16);
}

// 16 bytes finer than it must be, and a generation in the bits that are free then.
static void hide_packed44(struct co *c)
{
	word = (uint64_t)(uintptr_t)c >> 4 | 0x9c4ULL << 44;
}

static struct co *find_packed44(void)
{
	return (struct co *)(uintptr_t)(word << 20 >> 16);
}

// ---- lists and tables

struct node {
	struct node *next, *prev;
	uint64_t due;
};
struct session {
	int fd;
	char name[84];
	struct node timeout;
	struct co *co;
};
static struct node wheel[64];

static void hide_wheel(struct co *c)
{
	struct session *s = must_alloc(sizeof(*s));
	*s = (struct session){.fd = victim[0], .co = c};
	s->timeout.next = wheel[17].next;
	s->timeout.due = 17;
	wheel[17].next = &s->timeout;
}

static struct co *find_wheel(void)
{
	for (int i = 0; i < 64; i++)
		for (struct node *n = wheel[i].next; n; n = n->next)
			return ((struct session *)((char *)n - offsetof(struct session, timeout)))->co;
	return NULL;
}

// Slots by number, as large tables are made: rows of pages, each page its own block.
static struct session **pages;

static void hide_paged_table(struct co *c)
{
	pages = must_alloc(16 * sizeof(*pages));
	for (int i = 0; i < 16; i++) {
		pages[i] = must_alloc(32 * sizeof(**pages));
		memset(pages[i], 0, 32 * sizeof(**pages));
	}
	pages[7][11] = (struct session){.fd = -1, .co = c};
}

static struct co *find_paged_table(void)
{
	for (int i = 0; i < 512; i++)
		if (pages[i / 32][i % 32].fd < 0)
			return pages[i / 32][i % 32].co;
	return NULL;
}

// A retry queue in memory that helpers map as well.
static struct session *retries;

static void hide_segment(struct co *c)
{
	int id = (int)must(shmget(IPC_PRIVATE, SLICE, 0600));
	retries = shmat(id, NULL, 0);
	must(shmctl(id, IPC_RMID, NULL));
	retries[3].co = c;
}

static struct co *find_segment(void)
{
	return retries[3].co;
}

static void hide_file_table(struct co *c)
{
	int fd = (int)must(memfd_create("retries", MFD_CLOEXEC));
	must(ftruncate(fd, SLICE));
	retries = mmap(NULL, SLICE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(close(fd));
	retries[3].co = c;
}

// ---- arenas: control block and stack at a place that a small number tells

static char *arena;
static uint32_t place;

static struct co *in_arena(co_fn *fn, char *at)
{
	struct co *c = (struct co *)(at + MINE * SLICE);
	co_init(c, fn, NULL, at + MINE * SLICE + PAGE, SLICE - 2 * PAGE);
	return c;
}

static struct co *make_arena(co_fn *fn)
{
	arena = must_map(SLICES * SLICE);
	return in_arena(fn, arena);
}

static void hide_offset32(struct co *c)
{
	place = (uint32_t)((char *)c - arena) >> 4;
}

static struct co *find_offset32(void)
{
	return (struct co *)(arena + ((uint64_t)place << 4));
}

// The program says where its arena lies: no word in memory does.
#define ARENA_AT 0x200000000000ULL

static struct co *make_chosen(co_fn *fn)
{
	char *at = mmap((void *)ARENA_AT, SLICES * SLICE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	must(at == (char *)ARENA_AT ? 0 : -1);
	return in_arena(fn, at);
}

static void hide_chosen(struct co *c)
{
	place = (uint32_t)((uintptr_t)c - ARENA_AT) >> 4;
}

static struct co *find_chosen(void)
{
	return (struct co *)(uintptr_t)(ARENA_AT + ((uint64_t)place << 4));
}

// Below 4 GiB a pointer has room for a tag in 32 bits, if it is a multiple of 16.
static struct co *make_below_4g(co_fn *fn)
{
	char *at = mmap(NULL, SLICES * SLICE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	must(at == MAP_FAILED ? -1 : 0);
	return in_arena(fn, at);
}

static void hide_shifted32(struct co *c)
{
	place = (uint32_t)(uintptr_t)c >> 3;
}

static struct co *find_shifted32(void)
{
	return (struct co *)((uintptr_t)place << 3);
}

// ---- pools: address space first, then slices of another kind in it

static struct co *in_pool(co_fn *fn, char *slice)
{
	must(slice == arena + MINE * SLICE ? 0 : -1);
	struct co *c = (struct co *)slice;
	co_init(c, fn, NULL, slice + PAGE, SLICE - 2 * PAGE);
	return c;
}

static char *reserve(void)
{
	arena = mmap(NULL, SLICES * SLICE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	must(arena == MAP_FAILED ? -1 : 0);
	return arena + MINE * SLICE;
}

static struct co *make_pool_memfd(co_fn *fn)
{
	int fd = (int)must(memfd_create("slice", MFD_CLOEXEC));
	must(ftruncate(fd, SLICE));
	char *at = reserve();
	at = mmap(at, SLICE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0);
	must(close(fd));
	return in_pool(fn, at);
}

static struct co *make_pool_shared(co_fn *fn)
{
	return in_pool(fn, mmap(reserve(), SLICE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

// All of the pool is of one file, which each slice maps for itself.
static struct co *make_pool_slices(co_fn *fn)
{
	int fd = (int)must(memfd_create("pool", MFD_CLOEXEC));
	must(ftruncate(fd, SLICES * SLICE));
	reserve();
	for (int i = 0; i < SLICES; i += 2)
		must(mmap(arena + i * SLICE, SLICE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, i * SLICE) == MAP_FAILED ? -1 : 0);
	return in_pool(fn, mmap(arena + MINE * SLICE, SLICE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

static struct co *find_in_pool(void)
{
	return (struct co *)(arena + MINE * SLICE);
}

// ---- threads

static pthread_barrier_t asked;
static struct co *given;
static pthread_key_t key;

static void on_thread_end(void *c)
{
	given = c;
}

static NOINLINE void take_specific(void)
{
	must(pthread_setspecific(key, given) ? -1 : 0);
	given = NULL;
}

static void *holds_specific(void *there)
{
	take_specific();
	wipe();
	pthread_barrier_wait(there);
	pthread_barrier_wait(&asked);
	return NULL;
}

static void hide_thread_end(struct co *c)
{
	static pthread_barrier_t there;
	pthread_barrier_init(&there, NULL, 2);
	pthread_barrier_init(&asked, NULL, 2);
	must(pthread_key_create(&key, on_thread_end) ? -1 : 0);
	given = c;
	co_thread(holds_specific, &there);
	pthread_barrier_wait(&there);
}

static struct co *find_given(void)
{
	pthread_barrier_wait(&asked);
	while (!__atomic_load_n(&given, __ATOMIC_ACQUIRE))
		sched_yield();
	return given;
}

// What a thread does when it is cancelled stands in its frame.
static void *has_cleanup(void *there)
{
	pthread_cleanup_push(on_thread_end, given);
	given = NULL;
	wipe();
	pthread_barrier_wait(there);
	pthread_barrier_wait(&asked);
	pthread_cleanup_pop(1);
	return NULL;
}

static void hide_cleanup(struct co *c)
{
	static pthread_barrier_t there;
	pthread_barrier_init(&there, NULL, 2);
	pthread_barrier_init(&asked, NULL, 2);
	given = c;
	co_thread(has_cleanup, &there);
	pthread_barrier_wait(&there);
}

// ---- at the end of the program

static void at_exit(int status, void *c)
{
	(void)status;
	co_resume(c);
}

static void hide_on_exit(struct co *c)
{
	must(on_exit(at_exit, c));
}

static struct co *find_on_exit(void)
{
	exit(0);
}

// ---- other coroutines

static struct co *parent;

static void joins(void *arg)
{
	struct co *volatile child = *(struct co **)arg;
	*(struct co **)arg = NULL;
	co_yield();
	co_resume(child);
}

static void hide_joiner(struct co *c)
{
	parent = co_new(joins, &c);
	parent->pinned = true;
	co_resume(parent);
}

static struct co *find_joiner(void)
{
	return parent;
}

// ---- processes: a helper is given the pointer as the name of the request, and answers with it

static int helper[2];

static void answer(int fd)
{
	char wire[sizeof(void *)], go;
	must(read(fd, wire, sizeof(wire)));
	must(write(fd, wire, 1)); // it has the request
	if (read(fd, &go, 1) == 1)
		must(write(fd, wire, sizeof(wire)));
	_exit(0);
}

static void hide_helper(struct co *c)
{
	char byte;
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, helper));
	if (must(fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(helper[0]);
		close(ep);
		close(victim[0]);
		close(victim[1]);
		answer(helper[1]);
	}
	must(close(helper[1]));
	must(write(helper[0], &c, sizeof(c)));
	must(read(helper[0], &byte, 1));
}

static struct co *find_helper(void)
{
	struct co *c;
	must(write(helper[0], "x", 1));
	must(read(helper[0], &c, sizeof(c)));
	return c;
}

// Only the helper has the memory in which it stands mapped.
static void hide_helpers_memory(struct co *c)
{
	struct co **shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared == MAP_FAILED ? -1 : 0);
	must(socketpair(AF_UNIX, SOCK_STREAM, 0, helper));
	*shared = c;
	if (must(fork()) == 0) {
		char go;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(helper[0]);
		close(ep);
		close(victim[0]);
		close(victim[1]);
		if (read(helper[1], &go, 1) == 1)
			must(write(helper[1], shared, sizeof(*shared)));
		_exit(0);
	}
	must(close(helper[1]));
	must(munmap(shared, PAGE));
}

// A pipe with a word in it, sent to itself: the pipe has no number but in the message.
static void hide_passed(struct co *c)
{
	int p[2];
	char byte = 0, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	must(socketpair(AF_UNIX, SOCK_DGRAM, 0, helper));
	must(pipe(p));
	must(write(p[1], &c, sizeof(c)));
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	*h = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
	memcpy(CMSG_DATA(h), &p[0], sizeof(int));
	must(sendmsg(helper[0], &m, 0));
	must(close(p[0]));
	must(close(p[1]));
}

static struct co *find_passed(void)
{
	int fd;
	struct co *c;
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec v = {&byte, 1};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	must(recvmsg(helper[1], &m, 0));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	must(read(fd, &c, sizeof(c)));
	return c;
}

// Memory that the kernel itself does not read.
static struct co **secret;

static void hide_secret(struct co *c)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	if (fd < 0) { // not in this kernel
		secret = must_alloc(PAGE);
	} else {
		must(ftruncate(fd, PAGE));
		secret = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		must(close(fd));
	}
	secret[9] = c;
}

static struct co *find_secret(void)
{
	return secret[9];
}

// ---- key rings

static int stored;

// Keys count against a user. Nobody else's programs shall have to wonder what is in these.
static void put_key(struct co *c, const char *ring_name, int ring)
{
	char name[32];
	if (geteuid() == 0)
		setfsuid(61000);
	snprintf(name, sizeof(name), "sound-%s-%d", ring_name, (int)getpid());
	stored = (int)must(syscall(SYS_add_key, "user", name, &c, sizeof(c), ring));
}

static void hide_key(struct co *c)
{
	put_key(c, "process", -2);
}

static void hide_key_session(struct co *c)
{
	put_key(c, "session", -3);
}

// One that nobody else can see.
static void hide_key_private(struct co *c)
{
	put_key(c, "thread", -1);
	must(syscall(SYS_keyctl, 5 /* KEYCTL_SETPERM */, stored, 0x3f000000));
}

static struct co *find_key(void)
{
	struct co *c;
	must(syscall(SYS_keyctl, 11 /* KEYCTL_READ */, stored, &c, sizeof(c), 0));
	must(syscall(SYS_keyctl, 3 /* KEYCTL_REVOKE */, stored, 0, 0, 0));
	return c;
}

const struct hide hides_designs[] = {
	{"tag_low", NULL, hide_tag_low, find_tag_low},
	{"boxed", NULL, hide_boxed, find_boxed},
	{"packed44", NULL, hide_packed44, find_packed44},
	{"wheel", NULL, hide_wheel, find_wheel},
	{"paged_table", NULL, hide_paged_table, find_paged_table},
	{"segment", NULL, hide_segment, find_segment},
	{"file_table", NULL, hide_file_table, find_segment},
	{"offset32", make_arena, hide_offset32, find_offset32},
	{"chosen", make_chosen, hide_chosen, find_chosen},
	{"shifted32", make_below_4g, hide_shifted32, find_shifted32},
	{"pool_memfd", make_pool_memfd, hide_nothing, find_in_pool},
	{"pool_shared", make_pool_shared, hide_nothing, find_in_pool},
	{"pool_slices", make_pool_slices, hide_nothing, find_in_pool},
	{"thread_end", NULL, hide_thread_end, find_given},
	{"cleanup", NULL, hide_cleanup, find_given},
	{"on_exit", NULL, hide_on_exit, find_on_exit},
	{"joiner", NULL, hide_joiner, find_joiner},
	{"helper", NULL, hide_helper, find_helper},
	{"helpers_memory", NULL, hide_helpers_memory, find_helper},
	{"passed", NULL, hide_passed, find_passed},
	{"secret", NULL, hide_secret, find_secret},
	{"key", NULL, hide_key, find_key},
	{"key_session", NULL, hide_key_session, find_key},
	{"key_private", NULL, hide_key_private, find_key},
	{NULL, NULL, NULL, NULL},
};
