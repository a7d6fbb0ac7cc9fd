// SPDX-License-Identifier: MIT
//
// 50 coroutines of Boost.Context, one after the other, whose function ends by a jump as its very last
// instruction: nothing of it is left on the stack then but what make_fcontext put there.
#include <stddef.h>
#include <stdlib.h>

struct transfer {
	void *from, *data;
};

void *make_fcontext(void *top, size_t bytes, void (*fn)(struct transfer));
struct transfer jump_fcontext(void *to, void *data);
void leave(void *to);

__asm__(".globl leave\n"
	".type leave, @function\n"
	"leave:\n"
	"	.cfi_startproc\n"
	"	jmp jump_fcontext@PLT\n"
	"	.cfi_endproc\n"
	".size leave, . - leave\n");

static __attribute__((noinline)) void *work(void *to)
{
	return jump_fcontext(to, NULL).from;
}

static void entry(struct transfer t)
{
	leave(work(t.from));
}

int main(void)
{
	enum { BYTES = 65536 };
	for (int i = 0; i < 50; i++) {
		char *stack = malloc(BYTES);
		if (!stack)
			return 1;
		void *at = make_fcontext(stack + BYTES, BYTES, entry);
		jump_fcontext(jump_fcontext(at, NULL).from, NULL);
		free(stack);
	}
	return 0;
}
