// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 1 coroutine
// order: SIGUSR1
//
// Who is evicted is kept as a function that was made for it: the code blinds its numbers, as that of
// just-in-time compilers does, so that no operand is an address or half of one.
#include <string.h>
#include <sys/mman.h>

#include "evicted.h"

enum { PAGE = 4096 };
static struct co *(*made)(void);

static unsigned char *number(unsigned char *to, const char *op, uint32_t value)
{
	memcpy(to, op, 2);
	memcpy(to + 2, &value, sizeof(value));
	return to + 2 + sizeof(value);
}

// mov $a, %eax (with a nop before it); xor $b, %eax; rol $32, %rax; mov $c, %ecx; xor $d, %ecx; or %rcx, %rax; ret
static NOINLINE void keep(int i, struct co *c)
{
	static const unsigned char turn[] = {0x48, 0xc1, 0xc0, 0x20}, rest[] = {0x48, 0x09, 0xc8, 0xc3};
	uint64_t v = (uintptr_t)c;
	uint32_t blind = 0x5a17c3e9u + (uint32_t)i;
	unsigned char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char *to = number(page, "\x90\xb8", (uint32_t)(v >> 32) ^ blind);
	to = number(to, "\x90\x35", blind);
	memcpy(to, turn, sizeof(turn));
	to = number(to + sizeof(turn), "\x90\xb9", (uint32_t)v ^ (blind * 3));
	to = number(to, "\x81\xf1", blind * 3);
	memcpy(to, rest, sizeof(rest));
	must(mprotect(page, PAGE, PROT_READ | PROT_EXEC));
	memcpy(&made, &page, sizeof(made));
}

static NOINLINE struct co *find(int i)
{
	(void)i;
	return made();
}

int main(void)
{
	return evict_and_serve(5, 1);
}
