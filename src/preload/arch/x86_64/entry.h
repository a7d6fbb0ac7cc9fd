// SPDX-License-Identifier: MIT
//
// entry.h - x86_64: how the entry of a function is overwritten, and what lies behind it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/platform/x86.h>

#include "preload/guest/switcher.h"

#define CPU_RETURN 0xc3 // the first byte of an empty function
#define CPU_PATCHES 1
#define CPU_JUMP_BYTES 5 // jmp

// The first instruction in [p, end) that sets the stack pointer from a register or from memory; `end` if
// there is none. May pass over one that lies less than 18 bytes before the end. (scan.S)
typedef const uint8_t *cpu_scan(const uint8_t *p, const uint8_t *end);
cpu_scan cpu_next_sp __attribute__((visibility("hidden"))),
	cpu_next_sp_avx2 __attribute__((visibility("hidden")));

static inline cpu_scan *cpu_next_sp_best(void)
{
	return CPU_FEATURE_ACTIVE(AVX2) ? cpu_next_sp_avx2 : cpu_next_sp;
}

// Room in our own code for what entries displace: SWITCHERS_MOST pieces. (transfer.S)
extern uint8_t cpu_pool[] __attribute__((visibility("hidden")));

// Where a patched function goes, by family: rax is the instance. (transfer.S)
#define CPU_TRANSFER(name) __attribute__((visibility("hidden"))) void transfer_##name(void)
CPU_TRANSFER(handle);
CPU_TRANSFER(ontop);
CPU_TRANSFER(from);
CPU_TRANSFER(enter);
CPU_TRANSFER(slot);
CPU_TRANSFER(slot_back);
CPU_TRANSFER(helper);
CPU_TRANSFER(struct);
CPU_TRANSFER(save);
CPU_TRANSFER(restore);
CPU_TRANSFER(make);
CPU_TRANSFER(greenlet);

// Where stand-ins of Boost.Context's C++ names go, if nothing of it is patched. (trampoline.S; exported_make
// is in hook_fcontext.c)
__attribute__((visibility("hidden"))) void exported_jump(void), exported_ontop(void);

// Bytes of an endbr64 that a function begins with.
static inline size_t cpu_landing_pad(const uint8_t *at)
{
	static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
	return memcmp(at, endbr64, sizeof(endbr64)) == 0 ? sizeof(endbr64) : 0;
}

// movabs $s, %rax; jmp *(%rax)
static inline void cpu_entry(uint8_t *out, const struct switcher *s)
{
	out[0] = 0x48;
	out[1] = 0xb8;
	memcpy(out + 2, &s, sizeof(s));
	out[10] = 0xff;
	out[11] = 0x20;
}

// Where a body can get a jump to any place nearby while threads run it: at an instruction of five bytes in
// one aligned word, which one store replaces, so that a thread runs either, and none can stand inside. What
// comes before it may copy an argument. `lea -N(%rsp), %rsp`, alone or behind `mov %rdx, %r8`. NULL: nowhere.
static inline uint8_t *cpu_live_entry(uint8_t *at)
{
	static const uint8_t copy[3] = {0x49, 0x89, 0xd0}, room[4] = {0x48, 0x8d, 0x64, 0x24};
	at += memcmp(at, copy, sizeof(copy)) == 0 ? sizeof(copy) : 0;
	return memcmp(at, room, sizeof(room)) == 0 && ((uint64_t)at & 7) + CPU_JUMP_BYTES <= 8 ? at : NULL;
}

// Where a jump at `at` leads if its first byte alone is written, so that what follows stays the code that it
// is: those bytes are the distance, too.
static inline uint8_t *cpu_live_led(const uint8_t *at)
{
	int32_t rel;
	memcpy(&rel, at + 1, sizeof(rel));
	return (uint8_t *)((uint64_t)at + CPU_JUMP_BYTES + (uint64_t)(int64_t)rel);
}

// The aligned word of code that holds the byte `at`, with as much of a jump to `to` as lies in it. 0: it is
// too far.
static inline uint64_t cpu_live_word(const uint8_t *at, const uint8_t *to)
{
	uint64_t word, begin = (uint64_t)at & 7;
	int64_t off = to - (at + CPU_JUMP_BYTES);
	int32_t rel = (int32_t)off;
	uint8_t *bytes = (uint8_t *)&word + begin;
	size_t room = sizeof(word) - 1 - begin;
	memcpy(&word, (const void *)((uint64_t)at & ~7ULL), sizeof(word));
	bytes[0] = 0xe9;
	memcpy(bytes + 1, &rel, room < sizeof(rel) ? room : sizeof(rel));
	return off == rel ? word : 0;
}

// The first `prefix` bytes of a function, then: jmp *0(%rip), and where to.
static inline void cpu_piece(uint8_t *out, const uint8_t *at, size_t prefix)
{
	static const uint8_t jump[6] = {0xff, 0x25, 0, 0, 0, 0};
	const uint8_t *back = at + prefix;
	memset(out, 0xcc, SWITCHER_PIECE);
	memcpy(out, at, prefix);
	memcpy(out + prefix, jump, sizeof(jump));
	memcpy(out + prefix + sizeof(jump), &back, sizeof(back));
}
_Static_assert(SWITCHER_PREFIX_MOST + 6 + 8 <= SWITCHER_PIECE, "a piece");

// Bytes of the padding instruction at p; 0: it is something else.
static inline size_t cpu_nop(const uint8_t *p)
{
	size_t n = 0;
	while (p[n] == 0x66 || p[n] == 0x2e)
		n++;
	if (p[n] == 0x90 || p[n] == 0xcc)
		return n + 1;
	if (p[n] != 0x0f || p[n + 1] != 0x1f)
		return 0;
	uint8_t form = p[n + 2];
	n += 3 + ((form & 7) == 4);
	return n + (form >> 6 == 1 ? 1 : form >> 6 == 2 ? 4 : 0);
}

// Is that a function that only returns, with padding up to `bytes` behind its landing pad?
static inline bool cpu_is_empty(const uint8_t *at, size_t bytes)
{
	size_t pad = cpu_landing_pad(at), n = 1;
	if (at[pad] != 0xc3)
		return false;
	while (n < bytes) {
		size_t more = cpu_nop(at + pad + n);
		if (!more)
			return false;
		n += more;
	}
	return pad == 0;
}
