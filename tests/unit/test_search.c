// SPDX-License-Identifier: MIT
//
// Is a piece of memory referenced from anywhere else? Blocks and words of a child that sleeps: its addresses
// are the same as here. Nobody knows the piece but by the words that the child puts somewhere.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "engine/target/proc.h"
#include "sanitized.h"
#include "search/heap/malloc_free.h"
#include "search/search.h"

enum { PAGE = 4096, BLOCK = 3000 };
// The child disguises what it must remember of the piece: its number of a page is no address.
struct child {
	volatile uint64_t page, ready;
};

static void *volatile root; // a word of static storage
enum where { NOWHERE, IN_ITSELF, IN_STATIC_STORAGE, IN_A_BLOCK_OF_ITS_OWN, IN_A_BLOCK_THAT_IS_LED_TO, IN_A_FREED_BLOCK, JUST_BEHIND };

static void put(enum where where, uint64_t *piece)
{
	uint64_t **block = malloc(BLOCK), *guard = malloc(64);
	memset(block, 0, BLOCK);
	*guard = 1; // so that the block is not the heap's last
	if (where == IN_ITSELF)
		piece[7] = (uintptr_t)piece;
	if (where == IN_STATIC_STORAGE)
		root = piece;
	if (where == JUST_BEHIND)
		root = piece + PAGE / sizeof(*piece);
	if (where >= IN_A_BLOCK_OF_ITS_OWN && where <= IN_A_FREED_BLOCK)
		block[100] = piece;
	if (where == IN_A_BLOCK_THAT_IS_LED_TO)
		root = block;
	if (where == IN_A_FREED_BLOCK)
		free(block);
}

static void live(struct child *out, enum where where)
{
	// It adjoins nothing, and lies elsewhere each time, whether the kernel maps upwards or downwards: the
	// stack of main() has words of the time before.
	char *all = mmap(NULL, (3 + 8 * where) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *piece = (uint64_t *)(void *)(all + (1 + 4 * where) * PAGE);
	mprotect(piece, PAGE, PROT_READ | PROT_WRITE);
	put(where, piece);
	out->page = (uintptr_t)piece / PAGE;
}

static struct child *shared;
static enum where put_where;

static void lives_apart(void)
{
	live(shared, put_where);
}

// On a stack of its own, which goes away: nothing is left of its frames.
static void live_apart(enum where where)
{
	enum { BYTES = 1 << 16 };
	ucontext_t here, there;
	char *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	put_where = where;
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = BYTES;
	there.uc_link = &here;
	makecontext(&there, lives_apart, 0);
	swapcontext(&here, &there);
	munmap(stack, BYTES);
}

static bool is_referenced(enum where where)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (pid == 0) {
		live_apart(where);
		__atomic_store_n(&shared->ready, 1, __ATOMIC_RELEASE);
		for (;;)
			pause();
	}
	while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
		sched_yield();
	struct proc_maps maps;
	struct memory m;
	uint64_t lo = shared->page * PAGE;
	struct search_piece piece = {.at = {lo, lo + PAGE}};
	struct search s = {.memory = &m, .pieces = &piece, .npieces = 1, .nodes = 1};
	assert_int_equal(proc_maps_read(pid, &maps), 0);
	memory_of_process(&m, pid);
	m.maps = maps.v;
	m.nmaps = maps.n;
	m.deadline_ns = UINT64_MAX;
	stack_ends_init(&s.ends, &m, &piece, 1);
	stack_ends_find(&s.ends, NULL, 0);
	malloc_free_find(&m, &s.freed);
	assert_int_equal(search_run(&s), 0);
	assert_false(s.partial);
	assert_true(s.bytes > PAGE);
	assert_true(graph_spread(&s.g));
	bool is = s.g.reached[graph_group(&s.g, 0)];
	search_deinit(&s);
	memory_close(&m);
	proc_maps_deinit(&maps);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(shared, sizeof(*shared));
	return is;
}

static void words_and_what_they_stand_in(void **state)
{
	(void)state;
	if (not_under(SANITIZED, "memory is full of the sanitizer's own notes"))
		skip();
	assert_false(is_referenced(NOWHERE));
	assert_false(is_referenced(IN_ITSELF));
	assert_true(is_referenced(IN_STATIC_STORAGE));
	assert_true(is_referenced(JUST_BEHIND));
	assert_false(is_referenced(IN_A_BLOCK_OF_ITS_OWN));
	assert_true(is_referenced(IN_A_BLOCK_THAT_IS_LED_TO));
	assert_false(is_referenced(IN_A_FREED_BLOCK));
}

// Is the first byte of an object of so many bytes reached by words with a tag, which lie at no multiple of
// eight: `even` of them lead to multiples of eight in the object, `odd` to other places?
static bool by_tagged(uint64_t bytes, unsigned even, unsigned odd)
{
	const uint64_t lo = 1ULL << 44, tag = 0x5aULL << 48;
	unsigned char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct maps_line map = {.lo = (uintptr_t)at, .hi = (uintptr_t)at + PAGE, .perms = "rw-p", .path = ""};
	struct memory m;
	struct search_piece piece = {.at = {lo, lo + bytes}};
	struct search s = {.memory = &m, .pieces = &piece, .npieces = 1, .nodes = 1};
	for (unsigned i = 0; i < even + odd; i++) {
		uint64_t word = tag | (lo + 0x10238 + 64 * i + (i < odd));
		memcpy(at + 16 * i + 3, &word, sizeof(word));
	}
	memory_of_process(&m, getpid());
	m.maps = &map;
	m.nmaps = 1;
	m.deadline_ns = UINT64_MAX;
	assert_int_equal(search_run(&s), 0);
	assert_true(graph_spread(&s.g));
	bool is = s.g.reached[graph_group(&s.g, 0)];
	search_deinit(&s);
	memory_close(&m);
	munmap(at, PAGE);
	return is;
}

static void tags_and_chance(void **state)
{
	const uint64_t small = 1 << 20, large = 1ULL << 40; // chance hits the large one
	(void)state;
	assert_false(by_tagged(small, 0, 0));
	assert_true(by_tagged(small, 1, 0));
	assert_true(by_tagged(small, 0, 1));
	assert_true(by_tagged(large, 1, 0));
	assert_false(by_tagged(large, 0, 8));
	assert_false(by_tagged(large, 1, 8));
	assert_true(by_tagged(large, 12, 8)); // too many for that
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(words_and_what_they_stand_in), cmocka_unit_test(tags_and_chance)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
