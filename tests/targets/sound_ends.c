// SPDX-License-Identifier: MIT
//
// sound_ends.c - see sound_hide.h: the program keeps nothing but the address
// just behind the coroutine's stack, where something else begins. Some ways lead
// back from there; in the last ones the word is not the program's at all.
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "sound_hide.h"

enum { SLICE = 64 << 10, THREAD = 256 << 10 };

static char *end;

// The kernel puts a mapping just below the last one, once no gap above has room for it.
static char *map_below(size_t above, char **high)
{
	for (int tries = 0; tries < 64; tries++) {
		*high = must_map(above);
		char *low = must_map(SLICE);
		if (low + SLICE == *high)
			return low;
	}
	must(-1);
	return NULL;
}

// All of the mapping is declared as its stack; its control block is on the heap.
static struct co *on_all_of(co_fn *fn, void *arg, char *stack)
{
	struct co *c = must_alloc(sizeof(*c));
	co_init(c, fn, arg, stack, SLICE);
	return c;
}

static void hide_end(struct co *c)
{
	end = c->stack + c->bytes;
}

// ---- what stands at the top leads to it

struct session {
	char name[32];
	ucontext_t after; // where the coroutine goes when it has returned
	struct co *co;
};

static char *above;

// makecontext leaves the last word of a stack alone.
static struct co *make_top_word(co_fn *fn)
{
	co_engine = &co_ucontext;
	struct co *c = on_all_of(fn, NULL, map_below(SLICE, &above));
	struct session *s = must_alloc(sizeof(*s));
	s->co = c;
	((struct session **)(c->stack + SLICE))[-1] = s;
	return c;
}

static struct co *find_top_word(void)
{
	return ((struct session **)end)[-1]->co;
}

static void enter_linked(void)
{
	co_body(co_self());
}

static void make_linked(struct co *c)
{
	struct session *s = must_alloc(sizeof(*s));
	s->co = c;
	must(getcontext(&c->own.uc));
	must(getcontext(&s->after));
	c->own.uc.uc_stack.ss_sp = c->stack;
	c->own.uc.uc_stack.ss_size = c->bytes;
	c->own.uc.uc_link = &s->after;
	makecontext(&c->own.uc, enter_linked, 0);
}

// The one word above the first frame that glibc needs: the context to go on with.
static struct co *make_top_link(co_fn *fn)
{
	static struct co_engine linked;
	linked = co_ucontext;
	linked.make = make_linked;
	co_engine = &linked;
	struct co *c = on_all_of(fn, NULL, map_below(SLICE, &above));
	co_engine = &co_ucontext;
	return c;
}

static struct co *find_top_link(void)
{
	char *after = ((char **)end)[-2];
	return ((struct session *)(after - offsetof(struct session, after)))->co;
}

// ---- the first frame is always as far from the end

static size_t distance;

static void measured(void *fn)
{
	struct co *volatile me = co_self();
	distance = (size_t)(me->stack + me->bytes - (char *)&me);
	((co_fn *)fn)(NULL);
}

static struct co *make_measured(co_fn *fn)
{
	return on_all_of(measured, (void *)fn, map_below(SLICE, &above));
}

static struct co *find_measured(void)
{
	return *(struct co **)(end - distance);
}

// ---- a thread's stack begins there, and it is the thread that keeps the word

static struct co *given;
static pthread_key_t key;

// A thread that sleeps in a loop's wait keeps only what its function keeps.
static struct gate {
	int ep, fd;
} there, asked, told;

static void gate_make(struct gate *g)
{
	struct epoll_event ev = {.events = EPOLLIN};
	g->ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	g->fd = (int)must(eventfd(0, EFD_CLOEXEC));
	must(epoll_ctl(g->ep, EPOLL_CTL_ADD, g->fd, &ev));
}

static void gate_open(struct gate *g)
{
	must(eventfd_write(g->fd, 1));
}

static NOINLINE void gate_wait(struct gate *g)
{
	struct epoll_event ev;
	while (epoll_wait(g->ep, &ev, 1, -1) != 1)
		;
}

static struct co *at_end(char *p)
{
	return (struct co *)p - 1;
}

static struct co *make_below(size_t bytes, co_fn *fn)
{
	char *low = map_below(bytes, &above);
	struct co *c = at_end(low + SLICE);
	co_init(c, fn, NULL, low, SLICE - ((sizeof(*c) + 15) & ~(size_t)15));
	return c;
}

static struct co *make_below_thread(co_fn *fn)
{
	return make_below(THREAD, fn);
}

static struct co *make_below_slice(co_fn *fn)
{
	return make_below(SLICE, fn);
}

static void start_above(struct co *c, void *(*fn)(void *))
{
	pthread_attr_t attr;
	pthread_t t;
	given = c;
	c = NULL;
	gate_make(&there);
	gate_make(&asked);
	gate_make(&told);
	must(pthread_attr_init(&attr) ? -1 : 0);
	must(pthread_attr_setstack(&attr, above, THREAD) ? -1 : 0);
	above = NULL;
	must(pthread_create(&t, &attr, fn, NULL) ? -1 : 0);
	pthread_attr_destroy(&attr);
	memset(&attr, 0, sizeof(attr));
	gate_wait(&there);
}

static NOINLINE void set_specific(void)
{
	must(pthread_setspecific(key, given + 1) ? -1 : 0);
	given = NULL;
}

static void *specific_thread(void *arg)
{
	set_specific();
	wipe();
	gate_open(&there);
	gate_wait(&asked);
	given = at_end(pthread_getspecific(key));
	gate_open(&told);
	return arg;
}

static void hide_specific(struct co *c)
{
	must(pthread_key_create(&key, NULL) ? -1 : 0);
	start_above(c, specific_thread);
}

static struct co *find_given(void)
{
	gate_open(&asked);
	gate_wait(&told);
	return given;
}

// The thread's loop is a coroutine; what called it keeps the word in its frame.
static void parked_loop(void *arg)
{
	(void)arg;
	gate_open(&there);
	gate_wait(&asked);
}

static NOINLINE void take(char *volatile *to)
{
	*to = (char *)(given + 1);
	given = NULL;
}

static void *native_thread(void *arg)
{
	char *volatile mine;
	take(&mine);
	wipe();
	co_start(parked_loop, NULL);
	wipe();
	given = at_end(mine);
	gate_open(&told);
	return arg;
}

static void hide_native_frame(struct co *c)
{
	start_above(c, native_thread);
}

// ---- another coroutine's stack begins there, and that one keeps the word

static struct co *neighbour;

static void knows_end(void *arg)
{
	char *volatile mine;
	(void)arg;
	take(&mine);
	co_yield();
	given = at_end(mine);
	for (;;)
		co_yield();
}

static void hide_neighbour(struct co *c)
{
	given = c;
	neighbour = on_all_of(knows_end, NULL, above);
	neighbour->pinned = true;
	above = NULL;
	co_resume(neighbour);
}

static struct co *find_neighbour(void)
{
	co_resume(neighbour);
	return given;
}

// ---- what the loader's memory has room for

static void **spare;

static int find_spare(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)bytes;
	(void)arg;
	if (!strstr(info->dlpi_name, "/ld-linux"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t top = (info->dlpi_addr + p->p_vaddr + p->p_memsz + 4095) & ~(uintptr_t)4095;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_W))
			spare = (void **)top - 1;
	}
	return 1;
}

static void hide_loader(struct co *c)
{
	dl_iterate_phdr(find_spare, NULL);
	must(spare && !*spare ? 0 : -1);
	*spare = c;
}

static struct co *find_loader(void)
{
	return *spare;
}

// ---- no way back: the word is another's

static char *start_of(const void *address)
{
	char line[512], perms[8];
	unsigned long lo, hi, guard = 0, guard_end = 0, found = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	must(f ? 0 : -1);
	while (!found && fgets(line, sizeof(line), f)) {
		must(sscanf(line, "%lx-%lx %7s", &lo, &hi, perms) == 3 ? 0 : -1);
		if ((uintptr_t)address >= lo && (uintptr_t)address < hi)
			found = guard_end == lo ? guard : lo;
		if (!strncmp(perms, "---", 3)) {
			guard = lo;
			guard_end = hi;
		}
	}
	fclose(f);
	return (char *)found;
}

static void *tells_start(void *arg)
{
	*(char **)arg = start_of(&arg);
	return NULL;
}

// The stack of a thread that has ended is kept by the C library, and says itself where it begins.
static struct co *make_below_ended(co_fn *fn)
{
	char *start;
	pthread_t t = co_thread(tells_start, &start);
	must(pthread_join(t, NULL) ? -1 : 0);
	char *low = must_map(SLICE);
	for (int tries = 0; low + SLICE != start && tries < 64; tries++)
		low = must_map(SLICE);
	must(low + SLICE == start ? 0 : -1);
	struct co *c = at_end(low + SLICE);
	co_init(c, fn, NULL, low, SLICE - ((sizeof(*c) + 15) & ~(size_t)15));
	start = NULL;
	return c;
}

static void hide_nowhere(struct co *c)
{
	(void)c;
}

static struct co *find_nothing(void)
{
	return NULL;
}

const struct hide hides_ends[] = {
	{"top_word", make_top_word, hide_end, find_top_word},
	{"top_link", make_top_link, hide_end, find_top_link},
	{"measured", make_measured, hide_end, find_measured},
	{"specific", make_below_thread, hide_specific, find_given},
	{"native_frame", make_below_thread, hide_native_frame, find_given},
	{"neighbour", make_below_slice, hide_neighbour, find_neighbour},
	{"loader", NULL, hide_loader, find_loader},
	{"below_ended", make_below_ended, hide_nowhere, find_nothing},
	{NULL, NULL, NULL, NULL},
};
