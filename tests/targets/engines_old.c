// SPDX-License-Identifier: MIT
//
// engines_old.c - before Boost 1.61 the functions of these names took other
// arguments: jump_fcontext(from *, to, word, keep_fpu) stores the handle where the
// first points to and returns the word. Such a library is built of this file with
// -DLIBRARY; the program counts its switches by it.
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef LIBRARY
// A handle points to r12 to r15, rbx, rbp and the address to go on at.
__asm__(".text\n.globl jump_fcontext\n.type jump_fcontext, @function\njump_fcontext:\n"
	"	endbr64\n	push %rbp\n	push %rbx\n	push %r15\n	push %r14\n	push %r13\n	push %r12\n"
	"	mov %rsp, (%rdi)\n	mov %rsi, %rsp\n"
	"	pop %r12\n	pop %r13\n	pop %r14\n	pop %r15\n	pop %rbx\n	pop %rbp\n"
	"	mov %rdx, %rax\n	mov %rdx, %rdi\n	pop %r8\n	jmp *%r8\n"
	".size jump_fcontext, . - jump_fcontext\n"
	".globl make_fcontext\n.type make_fcontext, @function\nmake_fcontext:\n"
	"	endbr64\n	mov %rdi, %rax\n	and $-16, %rax\n	sub $0x40, %rax\n"
	"	mov %rdx, 0x30(%rax)\n	lea 1f(%rip), %rcx\n	mov %rcx, 0x38(%rax)\n	ret\n"
	"1:	ud2\n.size make_fcontext, . - make_fcontext\n");
#else
#include "engines.h"
#include "must.h"

void *make_fcontext(void *top, size_t bytes, void (*fn)(intptr_t));
intptr_t jump_fcontext(void **from, void *to, intptr_t word, bool keep_fpu);

static void *home, *at[8];
static int now;

static intptr_t go(void **from, void *to, intptr_t word)
{
	switched();
	return jump_fcontext(from, to, word, true);
}

static void echo(intptr_t word)
{
	int me = now;
	for (;;)
		word = go(&at[me], home, word + 1);
}

static void begin(int n)
{
	for (int i = 0; i < n; i++) {
		made();
		at[i] = make_fcontext((char *)must_map(STACK) + STACK, STACK, echo);
	}
}

static void ask(int i, intptr_t word)
{
	now = i;
	check(go(&home, at[i], word) == word + 1);
}

static void ping(void)
{
	begin(1);
	for (int i = 0; i < 500; i++)
		ask(0, i);
	ended(0, 0);
}

static void several(void)
{
	begin(8);
	for (int i = 0; i < 800; i++)
		ask(i % 8, i);
	ended(0, 0);
}

static void *on_thread(void *arg)
{
	for (int i = 0; i < 8; i++)
		ask(i, 9);
	return arg;
}

static void migrate(void)
{
	begin(8);
	for (int i = 0; i < 5; i++) {
		on_thread(NULL);
		pthread_join(thread(on_thread, NULL), NULL);
	}
	ended(0, 0);
}

const struct engines_case cases[] = {{"ping", ping}, {"several", several}, {"migrate", migrate}, {NULL, NULL}};
#endif
