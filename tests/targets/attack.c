// SPDX-License-Identifier: MIT
//
// attack.c - a program that turns against the engine by way of the region that it shares with
// it. `attack CASE ARGS...`; the same arguments do the same. Unlike other targets it knows the
// region's layout; it says "ready" when it is done, and then sleeps.
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "ctp/chunk.h"
#include "must.h"

static struct ctp_region region;
static struct ctp_ext *first; // of the region where others are asked for; after exec it is another one

static void find_region(void)
{
	char line[512];
	unsigned long lo = 0, hi = 0, from, to;
	FILE *f = fopen("/proc/self/maps", "re");
	must(f ? 0 : -1);
	while (fgets(line, sizeof(line), f)) { // several mappings, one behind the other: not all of it goes into a core
		if (!strstr(line, "/memfd:ctp") || sscanf(line, "%lx-%lx", &from, &to) != 2 || (lo && from != hi))
			continue;
		lo = lo ? lo : from;
		hi = to;
	}
	fclose(f);
	must(lo ? 0 : -1);
	must(ctp_region_open(&region, (void *)lo, hi - lo));
	int fd = open(getenv("CTP_SHM_PATH"), O_RDWR | O_CLOEXEC);
	must(fd);
	struct ctp_header *h = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(h == MAP_FAILED ? -1 : 0);
	close(fd);
	first = &h->ext;
}

// Three coroutines, so that there are rows, stacks and records to begin with.
static ucontext_t home, own[3];

static void yields(void)
{
	for (;;)
		for (int i = 0; i < 3; i++)
			swapcontext(&own[i], &home);
}

static void work(void)
{
	for (int i = 0; i < 3; i++) {
		must(getcontext(&own[i]));
		own[i].uc_stack.ss_sp = must_alloc(64 << 10);
		own[i].uc_stack.ss_size = 64 << 10;
		makecontext(&own[i], yields, 0);
		must(swapcontext(&home, &own[i]));
	}
}

static _Noreturn void sleep_for_ever(void)
{
	for (;;)
		syscall(SYS_pause, 0, 0, 0, 0, 0, 0); // no call of libc's: nothing of the region's is needed any more
}

static _Noreturn void ready(void)
{
	syscall(SYS_write, 1, "ready\n", 6);
	sleep_for_ever();
}

// ---- asks for regions in others' names, one after the other: ask WORD...

static void ask(uint64_t word)
{
	uint64_t *at = &first->ask;
	while (!ctp_cas64(at, 0, word))
		sched_yield();
	ctp_add32(&first->wake, 1);
	while (ctp_load64(at) == word && !(word >> 32))
		sched_yield();
	word = ctp_load64(at);
	dprintf(1, "asked %d: %s\n", (int)(uint32_t)word, word >> 32 == CTP_ASK_REFUSED ? "refused" : word >> 32 ? "answered" : "none");
	if (word >> 32 == CTP_ASK_REFUSED)
		ctp_cas64(at, word, 0);
	while (word && ctp_load64(at) == word) // the engine takes it back
		sched_yield();
}

static void case_ask(int n, char **args)
{
	for (int i = 0; i < n; i++)
		ask(strtoull(args[i], NULL, 0) & (strchr(args[i], 'x') ? UINT64_MAX : UINT32_MAX));
}

// The same with rights that no longer reach who is named: nobody WORD...
static void case_nobody(int n, char **args)
{
	must(setgid(65534));
	must(setuid(65534));
	case_ask(n, args);
}

// ---- every count as high as it goes, and rows that say there is more: counts

static void case_counts(int n, char **args)
{
	struct ctp_ext *e = region.ext;
	for (uint32_t i = 0; i < region.threads_max; i++) {
		struct ctp_thread *t = &region.threads[i];
		t->head = t->life ? t->head : region.ring_capacity;
		t->native = t->created = 1;
		ctp_store32(&t->life, CTP_THREAD_LIVE);
	}
	memset(e->incidents, 0xff, sizeof(e->incidents));
	e->stack_count = e->stack_words = e->module_count = e->cand_count = UINT32_MAX;
	e->thread_high = region.threads_max;
	e->fd_high = UINT64_MAX;
	ctp_store32(&region.header->allocated_count, UINT32_MAX);
	ctp_add32(&e->wake, 1);
}

// ---- says that the region has another layout: layout

static void case_layout(int n, char **args)
{
	region.ext->version++;
	region.ext->bytes = 8;
}

// ---- words anywhere: scribble SEED WORDS

static uint64_t state;

static uint64_t draw(void) // splitmix64
{
	uint64_t z = state += 0x9e3779b97f4a7c15ULL;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

// Half of them at the beginning of some part, where there is something already.
static uint64_t *somewhere(void)
{
	unsigned char *const parts[] = {
		region.base, (void *)region.states, (void *)region.threads, (void *)region.fds, (void *)region.cands,
		(void *)region.modules, (void *)region.stack_index, (void *)region.stack_words, (void *)region.incidents,
		(void *)region.sites, (void *)region.names_map, (void *)region.names, region.rings,
	};
	uint64_t off = draw() % (region.bytes / 8) * 8;
	if (draw() & 1)
		off = (uint64_t)(parts[draw() % (sizeof(parts) / sizeof(*parts))] - region.base) + draw() % 512 * 8;
	return (uint64_t *)(region.base + off);
}

static void case_scribble(int n, char **args)
{
	state = strtoull(args[0], NULL, 0);
	for (long left = atol(args[1]); left; left--) {
		uint64_t value = draw(), *at = somewhere();
		static const uint64_t kinds[] = { 0, 1, 0xff, UINT32_MAX, UINT64_MAX };
		__atomic_store_n(at, draw() & 1 ? value : kinds[value % 5], __ATOMIC_RELAXED);
	}
	ctp_add32(&region.ext->wake, 1);
}

// ---- becomes itself again: chain TIMES; the last one ends

static void chain(const char *self, int left)
{
	char number[16];
	snprintf(number, sizeof(number), "%d", left - 1);
	if (left)
		execl(self, "attack", "chain", number, NULL);
	exit(left ? 99 : 0);
}

// ---- asks again and again without becoming anything: again TIMES

static void case_again(int n, char **args)
{
	for (int left = atoi(args[0]); left; left--)
		ask(CTP_ASK(getpid(), 0));
}

// ---- a child that is an orphan and another image before it asks

static void case_orphan(int n, char **args)
{
	char self[4096];
	ssize_t got = readlink("/proc/self/exe", self, sizeof(self) - 1);
	must(got);
	self[got] = 0;
	if (syscall(SYS_clone, 0, 0, 0, 0, 0)) // no fork handler sees it
		return;
	pid_t middle = (pid_t)syscall(SYS_getpid);
	if (syscall(SYS_clone, 0, 0, 0, 0, 0))
		syscall(SYS_exit_group, 0);
	while (syscall(SYS_getppid) == middle)
		syscall(SYS_sched_yield);
	execl(self, "attack", "sleeps", NULL);
	_exit(99);
}

static void case_sleeps(int n, char **args)
{
	dprintf(1, "orphan %d\n", getpid());
	sleep_for_ever();
}

static const struct {
	const char *name;
	void (*run)(int n, char **args);
} cases[] = {
	{ "ask", case_ask }, { "nobody", case_nobody }, { "counts", case_counts }, { "layout", case_layout }, { "scribble", case_scribble },
	{ "again", case_again }, { "orphan", case_orphan }, { "sleeps", case_sleeps },
};

int main(int argc, char **argv)
{
	must(argc > 1 ? 0 : -1);
	work();
	if (!strcmp(argv[1], "chain"))
		chain("/proc/self/exe", atoi(argv[2]));
	find_region();
	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name)) {
			cases[i].run(argc - 2, argv + 2);
			ready();
		}
	return 2;
}
