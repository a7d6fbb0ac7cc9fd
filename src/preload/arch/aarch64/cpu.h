// SPDX-License-Identifier: MIT
//
// cpu.h - aarch64: the clock, raw system calls, and the registers of a caller.
#pragma once

#include <stdint.h>

#include "dwarf.h"
#include "preload/guest/guest.h"

// A region that keeps time by a TSC is refused: time is CLOCK_MONOTONIC here.
enum { CPU_HAS_TSC = 0 };
static inline uint64_t cpu_ticks(void)
{
	__builtin_unreachable();
}

// Takes a guard. False: it was taken. One step, as a signal's handler may swap us away
// behind any instruction, for as long as another hook takes.
static inline int cpu_shut(uint32_t *guard)
{
	uint32_t was, failed;
	do
		__asm__ volatile("ldxr %w0, %2\n\tstxr %w1, wzr, %2"
				 : "=&r"(was), "=&r"(failed), "+Q"(*guard)
				 :
				 : "memory");
	while (failed);
	return was;
}

// Whether a function finds where to return to on the stack, not in a register.
enum { CPU_RETURNS_BY_STACK = 0 };

#define CPU_ELF_MACHINE EM_AARCH64        // what its programs say in their header
#define CPU_AUDIT_ARCH AUDIT_ARCH_AARCH64 // what a filter sees
// User addresses have at most this many bits.
#define CPU_STANDS_IN 0 // Names of switch functions have trampolines of their own
enum { CPU_ADDRESS_BITS = 48 };

// The thread-local pointer to the calling thread's context. Read anew each time: a
// compiler may keep the address of a thread-local across a call after which we
// run on another thread.
static inline struct thread_ctx *cpu_self_at(uint64_t place)
{
	struct thread_ctx *g;
	__asm__ volatile("mrs %0, tpidr_el0\n\t"
			 "ldr %0, [%0, %1]"
			 : "=&r"(g)
			 : "r"(place));
	return g;
}
static inline int cpu_self_is(uint64_t place, const struct thread_ctx *g)
{
	return cpu_self_at(place) == g;
}
// Where it stands, as seen from the thread pointer: the same for all threads. (Volatile, so that no register
// is kept for it across a call.)
static inline uint64_t cpu_self_place(void)
{
	uint64_t place;
	__asm__ volatile("adrp %0, :gottprel:ctp_self\n\t"
			 "ldr %0, [%0, :gottprel_lo12:ctp_self]"
			 : "=r"(place));
	return place;
}
static inline struct thread_ctx *cpu_self(void)
{
	return cpu_self_at(cpu_self_place());
}

// True if the CPU checks return addresses against a shadow stack (GCS): then the
// exit stub's changed return address would kill the program.
static inline int cpu_shadow_stack(void)
{
	register uint64_t features __asm__("x16") = 1; // GCS
	__asm__ volatile("hint 40" : "+r"(features));  // chkfeat x16: clears what is on
	return features == 0;
}

// An address above every frame of the calling thread's own stack, if it is not
// the main thread: glibc puts the thread control block there.
static inline uint64_t cpu_thread_pointer(void)
{
	uint64_t tp;
	__asm__ volatile("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

// Not on this CPU: a disabled hook looks first, then jumps.
static inline void cpu_jump_through(void *entry, const void *slot) {}

// A system call that leaves errno alone: the kernel's answer, -errno on failure.
static inline long cpu_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;
	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
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
		(f)->pc = dwarf_return_address(fa_[1]); \
		(f)->sp = (uint64_t)__builtin_dwarf_cfa(); \
	} while (0)

// A base register that the C library leaves to the program: there is none.
static inline int cpu_base_readable(uint64_t hwcap2)
{
	(void)hwcap2;
	return 0;
}
static inline uint64_t cpu_base(void)
{
	return 0;
}

// The callee-saved registers as they are now, in the order of enum ctp_reg.
// What the caller had in them is either still there or in our own frame, which
// is live stack: so these and the stack from here up hold all the caller has.
// There is no room for x24 to x28: as they are clobbered, our frame has them.
#define CPU_SAVED(regs) \
	do { \
		struct frame f_; \
		CPU_CALLER(&f_); \
		(regs)[CTP_REG_PC] = f_.pc; \
		(regs)[CTP_REG_SP] = f_.sp; \
		(regs)[CTP_REG_FP] = f_.fp; \
		__asm__ volatile("str x19, %0\n\tstr x20, %1\n\tstr x21, %2\n\t" \
				 "str x22, %3\n\tstr x23, %4" \
				 : "=m"((regs)[CTP_REG_S0]), "=m"((regs)[CTP_REG_S1]), \
				   "=m"((regs)[CTP_REG_S2]), "=m"((regs)[CTP_REG_S3]), \
				   "=m"((regs)[CTP_REG_S4]) \
				 : \
				 : "x24", "x25", "x26", "x27", "x28"); \
	} while (0)
