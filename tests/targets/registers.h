// SPDX-License-Identifier: MIT
//
// registers.h - a word in the registers that no call preserves (x86-64), as far as this CPU
// has them. It comes disguised, from memory, and is in no other register afterwards.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum registers { REGISTERS_MM, REGISTERS_XMM, REGISTERS_YMM, REGISTERS_ZMM, REGISTERS_MASK, REGISTERS_KINDS };
#define REGISTERS_KEY 0x0000101010101010 // with it, an address looks like one that is not mapped

static inline bool registers_have(enum registers kind)
{
	switch (kind) {
	case REGISTERS_YMM:
		return __builtin_cpu_supports("avx");
	case REGISTERS_ZMM:
		return __builtin_cpu_supports("avx512f");
	case REGISTERS_MASK:
		return __builtin_cpu_supports("avx512bw");
	default:
		return true;
	}
}

#define REGISTERS_INLINE static inline __attribute__((always_inline))
#define REGISTERS_FROM_RAX(moves, ...) \
	__asm__ volatile("movq %0, %%rax\n\txorq %1, %%rax\n\t" moves "xorl %%eax, %%eax" \
			 : : "m"(*disguised), "r"(REGISTERS_KEY) : "rax", "memory", ##__VA_ARGS__)
#define REGISTERS_TO_RAX(moves) __asm__ volatile(moves : "=a"(word) : : "memory")

// Into mm3, xmm8, the upper half of ymm9, xmm31 or k1; no C between this and registers_get may use those.
REGISTERS_INLINE void registers_put(enum registers kind, const uint64_t *disguised)
{
	if (kind == REGISTERS_MM)
		REGISTERS_FROM_RAX("movq %%rax, %%mm3\n\t", "mm3");
	else if (kind == REGISTERS_XMM)
		REGISTERS_FROM_RAX("movq %%rax, %%xmm8\n\t", "xmm8");
	else if (kind == REGISTERS_YMM)
		REGISTERS_FROM_RAX("vmovq %%rax, %%xmm10\n\tvpxor %%xmm9, %%xmm9, %%xmm9\n\t"
				   "vinsertf128 $1, %%xmm10, %%ymm9, %%ymm9\n\tvpxor %%xmm10, %%xmm10, %%xmm10\n\t",
				   "xmm9", "xmm10");
	else if (kind == REGISTERS_ZMM)
		REGISTERS_FROM_RAX("vmovq %%rax, %%xmm31\n\t");
	else if (kind == REGISTERS_MASK)
		REGISTERS_FROM_RAX("kmovq %%rax, %%k1\n\t");
}

REGISTERS_INLINE uint64_t registers_get(enum registers kind)
{
	uint64_t word = 0;
	if (kind == REGISTERS_MM)
		REGISTERS_TO_RAX("movq %%mm3, %0\n\temms");
	else if (kind == REGISTERS_XMM)
		REGISTERS_TO_RAX("movq %%xmm8, %0");
	else if (kind == REGISTERS_YMM)
		REGISTERS_TO_RAX("vextractf128 $1, %%ymm9, %%xmm9\n\tvmovq %%xmm9, %0");
	else if (kind == REGISTERS_ZMM)
		REGISTERS_TO_RAX("vmovq %%xmm31, %0");
	else if (kind == REGISTERS_MASK)
		REGISTERS_TO_RAX("kmovq %%k1, %0");
	return word;
}

// Into all of them.
#define REGISTERS_8(move, a) move(a##0) move(a##1) move(a##2) move(a##3) move(a##4) move(a##5) move(a##6) move(a##7)
#define REGISTERS_16(move) REGISTERS_8(move, ) move(8) move(9) move(10) move(11) move(12) move(13) move(14) move(15)
#define REGISTERS_UPPER(move) \
	move(16) move(17) move(18) move(19) REGISTERS_8(move, 2) move(28) move(29) move(30) move(31)
#define REGISTERS_TO_MM(n) "movq %%rax, %%mm" #n "\n\t"
#define REGISTERS_TO_XMM(n) "movq %%rax, %%xmm" #n "\n\tpunpcklqdq %%xmm" #n ", %%xmm" #n "\n\t"
#define REGISTERS_TO_YMM(n) "vinsertf128 $1, %%xmm" #n ", %%ymm" #n ", %%ymm" #n "\n\t"
#define REGISTERS_TO_ZMM(n) "vpbroadcastq %%rax, %%zmm" #n "\n\t"
#define REGISTERS_TO_MASK(n) "kmovq %%rax, %%k" #n "\n\t"

REGISTERS_INLINE void registers_fill(const uint64_t *disguised)
{
	REGISTERS_FROM_RAX(REGISTERS_8(REGISTERS_TO_MM, ) REGISTERS_16(REGISTERS_TO_XMM));
	if (registers_have(REGISTERS_YMM))
		REGISTERS_FROM_RAX(REGISTERS_16(REGISTERS_TO_YMM));
	if (registers_have(REGISTERS_ZMM))
		REGISTERS_FROM_RAX(REGISTERS_UPPER(REGISTERS_TO_ZMM));
	if (registers_have(REGISTERS_MASK))
		REGISTERS_FROM_RAX(REGISTERS_8(REGISTERS_TO_MASK, ));
}
