// SPDX-License-Identifier: MIT
//
// context.h - x86_64: what a ucontext_t, a jmp_buf and an fcontext_t hold, and
// what trampolines hand over.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

// The program's argument registers as the trampoline saved them: what a hook
// stores here is what the real function gets.
struct arguments {
	uint64_t ctx, rax, r9, r8, arg[4], reserved, sp; // arg[3] is the first
};
_Static_assert(sizeof(struct arguments) == 80, "trampoline.S");
#define ARGUMENT(a, n) ((a)->arg[3 - (n)])

_Static_assert(offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]) == 160 &&
		       offsetof(ucontext_t, uc_mcontext.fpregs) == 224,
	       "CONTEXT_*, asm.h");
static inline uint64_t context_sp(const ucontext_t *u)
{
	return (uint64_t)u->uc_mcontext.gregs[REG_RSP];
}
static inline uint64_t context_pc(const ucontext_t *u)
{
	return (uint64_t)u->uc_mcontext.gregs[REG_RIP];
}
// Where the function that has just been called returns to; 0: its stack pointer points there.
static inline uint64_t context_link(const ucontext_t *u)
{
	return 0;
}
static inline void context_regs(const ucontext_t *u, uint64_t *regs) // in the order of enum ctp_reg
{
	static const int in_order[] = {REG_RIP, REG_RSP, REG_RBP, REG_RBX,
				       REG_R12, REG_R13, REG_R14, REG_R15};
	for (unsigned i = 0; i < sizeof(in_order) / sizeof(in_order[0]); i++)
		regs[i] = (uint64_t)u->uc_mcontext.gregs[in_order[i]];
}
// glibc's makecontext leaves these two alone, and they survive copies of the context.
static inline uint64_t *context_function(ucontext_t *u)
{
	return (uint64_t *)&u->uc_mcontext.gregs[REG_R12];
}
static inline uint64_t *context_record(ucontext_t *u)
{
	return (uint64_t *)&u->uc_mcontext.gregs[REG_R13];
}

// glibc's jmp_buf: rbx, rbp, r12 to r15, rsp, rip; of these rbp, rsp and rip are
// mangled: xored with the thread's pointer guard (fs:0x30), rotated left by 17.
// (sysdeps/unix/sysv/linux/x86_64/sysdep.h, PTR_MANGLE)
enum { JMPBUF_SP = 6, JMPBUF_PC = 7, JMPBUF_ROTATE = 17 };
_Static_assert(8 * JMPBUF_SP == 48 && JMPBUF_ROTATE == 17, "JMPBUF_*, asm.h");
static inline uint64_t jmpbuf_guard(void)
{
	uint64_t guard;
	__asm__ volatile("movq %%fs:0x30, %0" : "=r"(guard));
	return guard;
}
static inline uint64_t jmpbuf_word(const void *env, int n)
{
	uint64_t w = ((const uint64_t *)env)[n];
	return (w >> JMPBUF_ROTATE | w << (64 - JMPBUF_ROTATE)) ^ jmpbuf_guard();
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
#define FCONTEXT_BYTES 0x40

// For ctp_ext: gregs, and rdi rsi rdx rcx r8 r9 (r10, r11 and rax are not saved).
#define CONTEXT_OFF offsetof(ucontext_t, uc_mcontext.gregs)
#define CONTEXT_WORDS NGREG
#define CONTEXT_SCRATCH \
	(1u << REG_RDI | 1u << REG_RSI | 1u << REG_RDX | 1u << REG_RCX | 1u << REG_R8 | 1u << REG_R9)
