// SPDX-License-Identifier: MIT
//
// Finds the bodies of switchers.def in code. One pass stops at the few instructions that set the
// stack pointer from a register or from memory (cpu_next_sp, arch/<cpu>); there the rows whose
// anchor it is are compared as a whole. What sets no stack pointer (make_fcontext) is looked for
// at every byte, but only near a body of its kind. A body with a breakpoint in it is not patched,
// and told apart from code that is no body at all: one byte is a breakpoint's, and some other
// byte in its place makes it one.
#include "preload/patch/match.h"

#include <string.h>

#include "entry.h"

enum { NEAR = 4096, BREAKPOINT = 0xcc };

// Of FNV-1a; their product is 1.
#define PRIME 0x100000001b3ULL
#define INVERSE 0xce965057aff6957bULL

const struct switcher_row match_rows[] = {
#define ROW(kind, family, length, hole, anchor_at, anchor, prefix, bytes, sp_at, pc_at, hash) \
	{kind, SWITCHER_##family, hole, anchor_at, prefix, bytes, sp_at, pc_at, length, anchor, hash},
#if CPU_PATCHES
#include "preload/patch/switchers.def"
#else
	{0}
#endif
#undef ROW
};
const size_t match_rows_count = CPU_PATCHES ? sizeof(match_rows) / sizeof(match_rows[0]) : 0;

static uint32_t anchor(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
}

static uint8_t byte(const struct switcher_row *r, const uint8_t *at, unsigned i)
{
	return r->hole && i - r->hole < 4 ? 0 : at[i];
}

static uint64_t hash(const struct switcher_row *r, const uint8_t *at, unsigned n)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	for (unsigned i = 0; i < n; i++)
		h = (h ^ byte(r, at, i)) * PRIME;
	return h;
}

// Pushes or pops six registers, those that a function has to keep: 1 byte each, or 2 behind a prefix of 0x41.
// Which, in their order; how many bytes, or 0.
static unsigned six_registers(const uint8_t *at, uint8_t push, uint8_t is[6])
{
	enum { RBX = 3, RBP = 5, R12 = 12, R15 = 15, ALL = 1 << RBX | 1 << RBP | 0xf << R12 };
	unsigned seen = 0, i = 0;
	for (unsigned k = 0; k < 6; k++) {
		unsigned high = at[i] == 0x41 ? 8 : 0;
		i += high ? 1 : 0;
		is[k] = (uint8_t)(at[i++] - push + high);
		if (is[k] > R15 || (is[k] < R12) != !high)
			return 0;
		seen |= 1U << is[k];
	}
	return seen == ALL ? i : 0;
}

// A body of any order: it pushes these registers, stores the stack pointer where the first argument says,
// takes the other's (the anchor), pops them in reverse, and returns.
static bool is_any_order(const struct switcher_row *r, const uint8_t *at)
{
	static const uint8_t store[] = {0x48, 0x89, 0x27}, jump[] = {0x59, 0xff, 0xe1};
	uint8_t pushed[6], popped[6];
	const uint8_t *p = at + cpu_landing_pad(at);
	unsigned n = six_registers(p, 0x50, pushed);
	if (!n || memcmp(p + n, store, sizeof(store)) != 0 || p + n + sizeof(store) != at + r->anchor_at)
		return false;
	p = at + r->anchor_at + 3;
	if (anchor(p - 3) != r->anchor || !(n = six_registers(p, 0x58, popped)))
		return false;
	for (unsigned k = 0; k < 6; k++)
		if (pushed[k] != popped[5 - k])
			return false;
	p += n;
	return r->length == p - at + 1 ? *p == 0xc3 : memcmp(p, jump, sizeof(jump)) == 0;
}

static bool is_body(const struct switcher_row *r, const uint8_t *at)
{
	return r->hash ? hash(r, at, r->length) == r->hash : is_any_order(r, at);
}

// Which byte in a breakpoint's place makes it the body: the hash of what is before it, and what that of the
// body must be behind it, say that.
static bool is_broken(const struct switcher_row *r, const uint8_t *at)
{
	enum { MOST = 4 }; // bodies have one such byte of their own at most
	unsigned seen = 0;
	for (unsigned i = 0; r->hash && i < r->length && seen < MOST; i++) {
		if (at[i] != BREAKPOINT || (r->hole && i - r->hole < 4))
			continue;
		uint64_t behind = r->hash;
		for (unsigned k = r->length; k-- > i + 1;)
			behind = (behind * INVERSE) ^ byte(r, at, k);
		if ((hash(r, at, i) ^ (behind * INVERSE)) <= UINT8_MAX)
			return true;
		seen++;
	}
	return false;
}

bool match_is(const struct switcher_row *r, const uint8_t *at, const uint8_t *hi)
{
	return (size_t)(hi - at) >= r->length && is_body(r, at);
}

const struct switcher_row *match_at(const uint8_t *at, const uint8_t *hi)
{
	for (size_t i = 0; i < match_rows_count; i++)
		if (match_is(&match_rows[i], at, hi))
			return &match_rows[i];
	return NULL;
}

static size_t note(const struct switcher_row *r, uint8_t *at, struct match *out, size_t n, size_t most)
{
	bool body = is_body(r, at);
	if (n == most || (!body && !is_broken(r, at)))
		return n;
	for (size_t i = 0; i < n; i++) // found already, or part of another's
		if ((size_t)(at - out[i].at) < out[i].row->length)
			return n;
	out[n] = (struct match){r, at, !body};
	return n + 1;
}

static bool sets_sp(const struct switcher_row *r)
{
	return r->family != SWITCHER_MAKE && r->family != SWITCHER_SAVE && r->family != SWITCHER_GREENLET;
}

// Bodies of m's kind that set no stack pointer.
static size_t near(const struct match *m, uint8_t *lo, uint8_t *hi, struct match *out, size_t n, size_t most)
{
	uint8_t *from = m->at - lo > NEAR ? m->at - NEAR : lo, *to = hi - m->at > NEAR ? m->at + NEAR : hi;
	for (size_t i = 0; i < match_rows_count; i++) {
		const struct switcher_row *r = &match_rows[i];
		if (sets_sp(r) || strcmp(r->kind, m->row->kind) != 0)
			continue;
		for (uint8_t *at = from; to - at >= r->length; at++)
			if (anchor(at) == r->anchor && is_body(r, at))
				n = note(r, at, out, n, most);
	}
	return n;
}

// An instruction that sets the stack pointer.
static size_t at_anchor(uint8_t *p, uint8_t *lo, uint8_t *hi, struct match *out, size_t n, size_t most)
{
	uint32_t is = anchor(p);
	for (size_t i = 0; i < match_rows_count; i++) {
		const struct switcher_row *r = &match_rows[i];
		if (r->anchor != is || p - lo < r->anchor_at || hi - p < r->length - r->anchor_at)
			continue;
		size_t was = n;
		n = note(r, p - r->anchor_at, out, n, most);
		if (n > was) {
			struct match m = out[was];
			n = near(&m, lo, hi, out, n, most);
		}
	}
	return n;
}

size_t match_copy(const uint8_t *copy, size_t bytes, uint8_t *at, uint8_t *lo, uint8_t *hi, struct match *out,
		  size_t n, size_t most)
{
	cpu_scan *next = cpu_next_sp_best();
	for (const uint8_t *p = copy, *end = copy + bytes; (p = next(p, end)) < end; p++)
		n = at_anchor(at + (p - copy), lo, hi, out, n, most);
	return n;
}

size_t match_all(uint8_t *lo, uint8_t *hi, struct match *out, size_t most)
{
	return match_copy(lo, (size_t)(hi - lo), lo, lo, hi, out, 0, most);
}

bool match_calls(const uint8_t *lo, const uint8_t *hi, const uint8_t *target)
{
	for (const uint8_t *p = lo; hi - p >= 5; p++) {
		int32_t off;
		if (*p != 0xe8 && *p != 0xe9)
			continue;
		memcpy(&off, p + 1, sizeof(off));
		if (p + 5 + off == target)
			return true;
	}
	return false;
}
