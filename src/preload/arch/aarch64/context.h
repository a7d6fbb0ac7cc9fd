// SPDX-License-Identifier: MIT
//
// context.h - aarch64: what a ucontext_t, a jmp_buf and an fcontext_t hold, and
// what trampolines hand over.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

// The program's argument registers as the trampoline saved them: what a hook
// stores here is what the real function gets.
struct arguments {
	uint64_t ctx, sp, x8, lr, x[8];
};
_Static_assert(sizeof(struct arguments) == 96, "trampoline.S");
#define ARGUMENT(a, n) ((a)->x[n])

static inline uint64_t context_sp(const ucontext_t *u)
{
	return u->uc_mcontext.sp;
}
static inline uint64_t context_pc(const ucontext_t *u)
{
	return u->uc_mcontext.pc;
}
// Where the function that has just been called returns to; 0: its stack pointer points there.
static inline uint64_t context_link(const ucontext_t *u)
{
	return u->uc_mcontext.regs[30];
}
static inline void context_regs(const ucontext_t *u, uint64_t *regs) // in the order of enum ctp_reg
{
	static const int in_order[] = {29, 19, 20, 21, 22, 23};
	regs[0] = u->uc_mcontext.pc;
	regs[1] = u->uc_mcontext.sp;
	for (unsigned i = 0; i < sizeof(in_order) / sizeof(in_order[0]); i++)
		regs[2 + i] = u->uc_mcontext.regs[in_order[i]];
}
// glibc's makecontext puts uc_link into x19 and leaves these two alone, and they
// survive copies of the context.
static inline uint64_t *context_function(ucontext_t *u)
{
	return (uint64_t *)&u->uc_mcontext.regs[20];
}
static inline uint64_t *context_record(ucontext_t *u)
{
	return (uint64_t *)&u->uc_mcontext.regs[21];
}

// glibc's jmp_buf: x19 to x28, x29, x30, nothing, sp, d8 to d15; x30 and sp are
// xored with the process's pointer guard. (sysdeps/aarch64/jmpbuf-offsets.h)
enum { JMPBUF_PC = 11, JMPBUF_SP = 13, JMPBUF_ROTATE = 0 };
uint64_t jmpbuf_guard(void) __attribute__((visibility("hidden"))); // (trampoline.S)
static inline uint64_t jmpbuf_word(const void *env, int n)
{
	return ((const uint64_t *)env)[n] ^ jmpbuf_guard();
}
static inline uint64_t jmpbuf_sp(const void *env)
{
	return jmpbuf_word(env, JMPBUF_SP);
}
static inline uint64_t jmpbuf_pc(const void *env)
{
	return jmpbuf_word(env, JMPBUF_PC);
}

// Boost.Context saves the outgoing coroutine on its own stack, this far below where it will
// go on: what the library does today, and where a guess begins (hook_fcontext.c).
#define FCONTEXT_BYTES 0xb0

// For ctp_ext: x0 to x30, sp and pc; x0 to x17 are the callee's.
#define CONTEXT_OFF offsetof(ucontext_t, uc_mcontext.regs)
#define CONTEXT_WORDS 33
#define CONTEXT_SCRATCH 0x3ffffu
