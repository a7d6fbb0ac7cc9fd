// SPDX-License-Identifier: MIT
//
// context.h - x86_64: what a ucontext_t holds, and what trampolines hand over.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

// The program's argument registers as the trampoline saved them: what a hook
// stores here is what the real function gets.
struct arguments {
	uint64_t area, rax, r9, r8, arg[4], reserved, sp; // arg[3] is the first
};
_Static_assert(sizeof(struct arguments) == 80, "trampoline.S");
#define ARGUMENT(a, n) ((a)->arg[3 - (n)])

static inline uint64_t context_sp(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RSP]; }
static inline uint64_t context_pc(const ucontext_t *u) { return (uint64_t)u->uc_mcontext.gregs[REG_RIP]; }
// glibc's makecontext leaves these two alone, and they survive copies of the context.
static inline uint64_t *context_function(ucontext_t *u) { return (uint64_t *)&u->uc_mcontext.gregs[REG_R12]; }
static inline uint64_t *context_record(ucontext_t *u) { return (uint64_t *)&u->uc_mcontext.gregs[REG_R13]; }

// For ctp_ext: gregs, and rdi rsi rdx rcx r8 r9 (r10, r11 and rax are not saved).
#define CONTEXT_OFF offsetof(ucontext_t, uc_mcontext.gregs)
#define CONTEXT_WORDS NGREG
#define CONTEXT_SCRATCH (1u << REG_RDI | 1u << REG_RSI | 1u << REG_RDX | 1u << REG_RCX | 1u << REG_R8 | 1u << REG_R9)
