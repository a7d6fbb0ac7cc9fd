// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// Whoever is evicted is a number in code that was made at run time, in two halves, as code for a small
// instruction set has it.
#include <sys/mman.h>

#include "evicted.h"

enum { KEPT = 4, ROOM = 4096, FUNCTION = 32 };
static unsigned char *code;

// mov eax, upper; shl rax, 32; mov ecx, lower; or rax, rcx; ret
static NOINLINE void keep(int i, struct co *c)
{
	unsigned char *at = code + i * FUNCTION;
	uint32_t upper = (uint32_t)((uintptr_t)c >> 32), lower = (uint32_t)(uintptr_t)c;
	must(mprotect(code, ROOM, PROT_READ | PROT_WRITE));
	memcpy(at, "\xb8....\x48\xc1\xe0\x20\xb9....\x48\x09\xc8\xc3", 18);
	memcpy(at + 1, &upper, sizeof(upper));
	memcpy(at + 10, &lower, sizeof(lower));
	must(mprotect(code, ROOM, PROT_READ | PROT_EXEC));
}

static NOINLINE struct co *find(int i)
{
	return ((struct co * (*)(void))(uintptr_t)(code + i * FUNCTION))();
}

int main(void)
{
	code = must_map(ROOM);
	return evict_and_serve(6, KEPT);
}
