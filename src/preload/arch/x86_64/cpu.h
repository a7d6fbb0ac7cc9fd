// SPDX-License-Identifier: MIT
//
// cpu.h - x86_64: the clock, raw system calls, and the registers of a caller.
#pragma once

#include <stdint.h>

#include "preload/guest/guest.h"

enum { CPU_HAS_TSC = 1 };
// The time stamp counter. Not serializing: a reading can be some nanoseconds early.
static inline uint64_t cpu_ticks(void)
{
	uint32_t lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

// Whether a function finds where to return to on the stack, not in a register.
enum { CPU_RETURNS_BY_STACK = 1 };

#define CPU_ELF_MACHINE EM_X86_64        // what its programs say in their header
#define CPU_AUDIT_ARCH AUDIT_ARCH_X86_64 // what a filter sees
// User addresses have at most this many bits.
#define CPU_STANDS_IN 1 // Names of switch functions have stand-ins, which go by the code (patch/exported.c)
enum { CPU_ADDRESS_BITS = 47 };

// The thread-local pointer to the calling thread's context. Read anew each time: a
// compiler may keep the address of a thread-local across a call after which we
// run on another thread.
static inline struct thread_ctx *cpu_self_at(uint64_t place)
{
	struct thread_ctx *g;
	__asm__ volatile("movq %%fs:(%1), %0" : "=r"(g) : "r"(place));
	return g;
}
static inline int cpu_self_is(uint64_t place, const struct thread_ctx *g)
{
	int is;
	__asm__ volatile("cmpq %%fs:(%1), %2" : "=@cce"(is) : "r"(place), "r"(g));
	return is;
}
// Where it stands, as seen from the thread pointer: the same for all threads. (Volatile, so that no register
// is kept for it across a call.)
static inline uint64_t cpu_self_place(void)
{
	uint64_t place;
	__asm__ volatile("movq ctp_self@gottpoff(%%rip), %0" : "=r"(place));
	return place;
}
static inline struct thread_ctx *cpu_self(void)
{
	return cpu_self_at(cpu_self_place());
}

// Takes a guard. False: it was taken. One instruction, as a signal's handler may swap us away
// behind any, for as long as another hook takes; it is no other thread's guard but for a moment.
static inline int cpu_shut(uint32_t *guard)
{
	int was;
	__asm__ volatile("btrl $0, %1" : "=@ccc"(was), "+m"(*guard) : : "memory");
	return was;
}

// True if the CPU checks return addresses against a shadow stack (user SHSTK):
// then the exit stub's changed return address would kill the program.
static inline int cpu_shadow_stack(void)
{
	uint64_t ssp = 0;
	__asm__ volatile("rdsspq %0" : "+r"(ssp));
	return ssp != 0;
}

// An address above every frame of the calling thread's own stack, if it is not
// the main thread: glibc puts the thread control block there.
static inline uint64_t cpu_thread_pointer(void)
{
	uint64_t tp;
	__asm__ volatile("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

// Writes `jmp *slot(%rip)` to `entry`, behind the endbr64 that it begins with, if any.
static inline void cpu_jump_through(void *entry, const void *slot)
{
	static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
	uint8_t *at = entry;
	if (__builtin_memcmp(at, endbr64, sizeof(endbr64)) == 0)
		at += sizeof(endbr64);
	int32_t off = (int32_t)((const uint8_t *)slot - (at + 6));
	at[0] = 0xff;
	at[1] = 0x25;
	__builtin_memcpy(at + 2, &off, sizeof(off));
}

// A system call that leaves errno alone: the kernel's answer, -errno on failure.
static inline long cpu_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long r;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

// f(arg) on the thread's private stack, which must not be in use. (trampoline.S)
uint64_t cpu_on_private(struct thread_ctx *g, uint64_t (*f)(void *), void *arg)
	__attribute__((visibility("hidden")));

// Whether we stand on the thread's private stack already.
static inline int cpu_is_private(const struct thread_ctx *g)
{
	return (uint64_t)__builtin_frame_address(0) - (uint64_t)g < g->stack_top - (uint64_t)g;
}

// The frame that called the C hook in which this stands: the hook must be
// compiled with a frame pointer. A macro, as it speaks of its own function.
#define CPU_CALLER(f) \
	do { \
		const uint64_t *fa_ = __builtin_frame_address(0); \
		(f)->fp = fa_[0]; \
		(f)->pc = fa_[1]; \
		(f)->sp = (uint64_t)(fa_ + 2); \
	} while (0)

// Where %gs points to, which the C library leaves to the program. Readable where
// the kernel says so (AT_HWCAP2): else it would be a system call.
static inline int cpu_base_readable(uint64_t hwcap2)
{
	return hwcap2 >> 1 & 1;
}
static inline uint64_t cpu_base(void)
{
	uint64_t base;
	__asm__ volatile("rdgsbase %0" : "=r"(base));
	return base;
}

// The callee-saved registers as they are now, in the order of enum ctp_reg.
// What the caller had in them is either still there or in our own frame, which
// is live stack: so these and the stack from here up hold all the caller has.
#define CPU_SAVED(regs) \
	do { \
		struct frame f_; \
		CPU_CALLER(&f_); \
		(regs)[CTP_REG_PC] = f_.pc; \
		(regs)[CTP_REG_SP] = f_.sp; \
		(regs)[CTP_REG_FP] = f_.fp; \
		__asm__ volatile("movq %%rbx, %0\n\tmovq %%r12, %1\n\tmovq %%r13, %2\n\t" \
				 "movq %%r14, %3\n\tmovq %%r15, %4" \
				 : "=m"((regs)[CTP_REG_S0]), "=m"((regs)[CTP_REG_S1]), \
				   "=m"((regs)[CTP_REG_S2]), "=m"((regs)[CTP_REG_S3]), \
				   "=m"((regs)[CTP_REG_S4])); \
	} while (0)
