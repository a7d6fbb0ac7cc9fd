// SPDX-License-Identifier: MIT
//
// context.h - where glibc's ucontext_t keeps registers, by CPU.
#pragma once

#include <stddef.h>
#include <ucontext.h>

#if defined(__x86_64__)
#define CONTEXT_REG(r) (uint32_t)(offsetof(ucontext_t, uc_mcontext.gregs) + (r) * sizeof(greg_t))
#define CONTEXT_REGS CONTEXT_REG(0)
#define CONTEXT_REGS_BYTES (NGREG * sizeof(greg_t))
// Caller-saved: r8 r9, rdi rsi, rdx, rcx.
#define CONTEXT_SCRATCH { \
	{CONTEXT_REG(REG_R8), CONTEXT_REG(REG_R9 + 1)}, {CONTEXT_REG(REG_RDI), CONTEXT_REG(REG_RSI + 1)}, \
	{CONTEXT_REG(REG_RDX), CONTEXT_REG(REG_RDX + 1)}, {CONTEXT_REG(REG_RCX), CONTEXT_REG(REG_RCX + 1)}}
#else
#error "where does this CPU's ucontext_t keep its registers?"
#endif
