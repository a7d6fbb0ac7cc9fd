// SPDX-License-Identifier: MIT
//
// entry.h - aarch64: no body of a switch function is known, and nothing is patched.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/guest/switcher.h"

#define CPU_RETURN 0xc0 // the first byte of an empty function
#define CPU_PATCHES 0

static uint8_t cpu_pool[1] __attribute__((unused));

typedef const uint8_t *cpu_scan(const uint8_t *p, const uint8_t *end);

static inline const uint8_t *cpu_next_sp(const uint8_t *p, const uint8_t *end)
{
	(void)p;
	return end;
}
static inline cpu_scan *cpu_next_sp_best(void)
{
	return cpu_next_sp;
}
static inline size_t cpu_landing_pad(const uint8_t *at)
{
	(void)at;
	return 0;
}
static inline void cpu_entry(uint8_t *out, const struct switcher *s)
{
	(void)out;
	(void)s;
}
static inline uint8_t *cpu_live_entry(uint8_t *at)
{
	(void)at;
	return NULL;
}
static inline uint8_t *cpu_live_led(const uint8_t *at)
{
	return (uint8_t *)at;
}
static inline uint64_t cpu_live_word(const uint8_t *at, const uint8_t *to)
{
	(void)at;
	(void)to;
	return 0;
}
static inline void cpu_piece(uint8_t *out, const uint8_t *at, size_t prefix)
{
	(void)out;
	(void)at;
	(void)prefix;
}
static inline bool cpu_is_empty(const uint8_t *at, size_t bytes)
{
	(void)at;
	(void)bytes;
	return false;
}
