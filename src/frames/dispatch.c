// SPDX-License-Identifier: MIT
//
// The resume function begins with a few branches, or a jump through a table, that one field of the frame
// decides alone. Run without any knowledge of the frame it stops at the first of them, which tells the field;
// run again with a value in that field, it goes through all of them: where the last one leads is where the
// coroutine goes on. The other end of the same thing is the instruction that stored the value.
#include "frames/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "frames/stores.h"

enum { STEPS_MOST = 20000, CODE_MOST = 1 << 20, LANDINGS_MOST = 4096, FIELDS_FROM = 16, RSP = 4 };

static struct machine *machine_new(const struct dispatch_code *code)
{
	struct machine *m = calloc(1, sizeof(*m));
	if (m) {
		m->peek = code->peek;
		m->ctx = code->ctx;
	}
	return m;
}

// ----------------------------------------------------------------- the field

static void find_field(struct dispatch *d, struct machine *m, const struct pair *p)
{
	struct machine_value by;
	enum machine_step s = MACHINE_ON;
	machine_begin(m, p->resume);
	for (unsigned i = 0; i < STEPS_MOST && (s == MACHINE_ON || s == MACHINE_BRANCHED); i++)
		s = machine_step(m, &by);
	if (s != MACHINE_UNDECIDED || by.mixed || !by.of.width || by.of.offset < 16)
		return;
	d->known = true;
	d->asks = m->pc;
	d->index = by.of;
	if (p->maker == PAIR_GCC)
		d->index.width = 2; // it may have asked for the lowest bit alone
	if (d->index.width > 4)
		d->known = false;
}

static bool is_index(const struct dispatch *d, const struct machine_value *by)
{
	return !by->mixed && by->of.width == d->index.width && by->of.offset == d->index.offset;
}

static uint64_t landing_of(const struct dispatch *d, const struct pair *p, const struct dispatch_code *code,
			   uint64_t value)
{
	struct machine *m = d->known && !d->alone ? machine_new(code) : NULL;
	struct machine_value by;
	uint64_t landing = 0;
	if (!m)
		return 0;
	m->field = d->index;
	m->value = value;
	machine_begin(m, p->resume);
	for (unsigned i = 0; i < STEPS_MOST; i++) {
		enum machine_step s = machine_step(m, &by);
		bool decided = s == MACHINE_BRANCHED && by.of.width;
		if (decided && is_index(d, &by))
			landing = m->pc;
		else if (decided || (s == MACHINE_BRANCHED && landing && by.known) ||
			 (s != MACHINE_ON && s != MACHINE_BRANCHED))
			break;
	}
	// A trap: no coroutine is in that state.
	uint8_t there[2];
	if (landing && code->peek(code->ctx, landing, there, 2) == 2 && there[0] == 0x0f && there[1] == 0x0b)
		landing = 0;
	free(m);
	return landing;
}

// The row of the branch whose other side goes on there, from 1; 0: there is none.
static size_t branch_of(const struct dispatch *d, const struct dispatch_code *code, uint64_t value,
			uint64_t landing)
{
	for (size_t i = 0; landing && i < d->nbranches; i++)
		if (d->branches[i].value == value && stores_meet(code, landing, d->branches[i].other))
			return i + 1;
	return 0;
}

uint64_t dispatch_landing(struct dispatch *d, const struct pair *p, const struct dispatch_code *code,
			  uint64_t value)
{
	for (size_t i = 0; i < d->nlandings; i++)
		if (d->landings[i].value == value)
			return d->landings[i].at;
	uint64_t at = landing_of(d, p, code, value);
	if (d->nlandings < LANDINGS_MOST && !GROW(d->landings, d->nlandings, d->landings_room))
		d->landings[d->nlandings++] =
			(struct dispatch_landing){value, at, branch_of(d, code, value, at)};
	return at;
}

// ---------------------------------------------------------------- the stores

// A function that suspends at one place alone (and at its end) does not ask where to go on. Clang's ramp
// stores the state all the same: the one byte of the frame to which it stores 0 is that field, if it is the
// only one.
static void find_stored(struct dispatch *d, const uint8_t *b, size_t n, uint64_t at)
{
	struct x86 x;
	uint64_t store = 0;
	uint32_t offset = 0;
	for (size_t i = 0; i < n && x86_decode(b + i, n - i, &x); i += x.length) {
		bool zero = x.map == X86_ONE_BYTE && !x.vex && x.opcode == 0xc6 && x.memory &&
			    x.reg % 8 == 0 && !x.immediate && x.base != X86_NO_REGISTER && x.base != RSP &&
			    x.index == X86_NO_REGISTER && x.displacement >= FIELDS_FROM;
		if (!zero)
			continue;
		if (store && x.displacement != offset)
			return;
		offset = (uint32_t)x.displacement;
		store = store ? store : at + i;
	}
	if (!store || GROW(d->stores, d->n, d->room))
		return;
	d->stores[d->n++] = (struct dispatch_store){.at = store, .ramp = true, .alone = true};
	d->index = (struct machine_field){offset, 1};
	d->known = d->alone = true;
}

static int read_ramp(struct dispatch *d, const struct pair *p, const struct dispatch_code *code)
{
	size_t n = p->codes[1].bytes < CODE_MOST ? (size_t)p->codes[1].bytes : CODE_MOST;
	uint8_t *b = malloc(n);
	if (!b)
		return -ENOMEM;
	find_stored(d, b, code->peek(code->ctx, p->codes[1].at, b, n), p->codes[1].at);
	free(b);
	return 0;
}

int dispatch_learn(struct dispatch *d, const struct pair *p, const struct dispatch_code *code)
{
	struct machine *m = machine_new(code);
	int e = 0;
	*d = (struct dispatch){0};
	if (!m)
		return -ENOMEM;
	find_field(d, m, p);
	free(m);
	if (!d->known && p->maker == PAIR_CLANG && p->ncodes > 1)
		return read_ramp(d, p, code);
	for (unsigned i = 0; d->known && i < p->ncodes && !e; i++) {
		size_t n = p->codes[i].bytes < CODE_MOST ? (size_t)p->codes[i].bytes : CODE_MOST;
		uint8_t *b = malloc(n);
		if (!b)
			return -ENOMEM;
		e = stores_sweep(d, b, code->peek(code->ctx, p->codes[i].at, b, n), p->codes[i].at, i > 0);
		free(b);
	}
	return e;
}

void dispatch_deinit(struct dispatch *d)
{
	free(d->stores);
	free(d->branches);
	free(d->landings);
	*d = (struct dispatch){0};
}

// Another object may have a zero at the same offset, and its first state is stored by whoever makes it.
static unsigned weight(const struct dispatch_store *s)
{
	return 2 * s->alone + (s->ramp == !s->value);
}

const struct dispatch_store *dispatch_store(const struct dispatch *d, uint64_t value)
{
	const struct dispatch_store *best = NULL;
	for (size_t i = 0; i < d->n; i++)
		if (d->stores[i].value == value && (!best || weight(&d->stores[i]) > weight(best)))
			best = &d->stores[i];
	return best;
}

const struct dispatch_branch *dispatch_branch(const struct dispatch *d, uint64_t value)
{
	for (size_t i = 0; i < d->nlandings; i++)
		if (d->landings[i].value == value)
			return d->landings[i].branch ? &d->branches[d->landings[i].branch - 1] : NULL;
	return NULL;
}
