// SPDX-License-Identifier: MIT
//
// GCC's destroy function sets the lowest bit of the state, which has two bytes, and goes on as the resume
// function does. Clang's asks first whether the frame's first word is zero, as it is at the last suspension,
// and then for the state, which has one byte. Either's resume function asks for the same state, first of all.
#include "frames/destroys.h"

#include <string.h>

enum { STEPS_MOST = 96, FIELDS_FROM = 16, CALL = 0xe8, CALL_BYTES = 5, REX_W = 0x48 };

// ----------------------------------------------------------------------- GCC

static bool goes_on(enum machine_step s, const struct machine_value *by)
{
	return s == MACHINE_ON || (s == MACHINE_BRANCHED && !by->of.width);
}

// Runs from `at` on until something is stored into the frame; NULL: nothing is.
static const struct machine_store *first_store(struct machine *m, uint64_t at)
{
	struct machine_value by;
	enum machine_step s = MACHINE_ON;
	machine_begin(m, at);
	for (unsigned i = 0; i < STEPS_MOST && goes_on(s, &by); i++) {
		size_t had = m->nstores;
		s = machine_step(m, &by);
		const struct machine_store *last = m->nstores > had ? &m->stores[had] : NULL;
		if (last && last->at >= MACHINE_FRAME && last->at < MACHINE_FRAME + MACHINE_FRAME_BYTES)
			return last;
	}
	return NULL;
}

// Where the run goes from here: to another function, by a jump or a call.
static uint64_t goes_to(struct machine *m, uint64_t from)
{
	struct machine_value by;
	uint8_t b[CALL_BYTES];
	int32_t far;
	for (unsigned i = 0; i < STEPS_MOST; i++) {
		enum machine_step s = machine_step(m, &by);
		if (s == MACHINE_ENDS && m->peek(m->ctx, m->pc, b, sizeof(b)) == sizeof(b) && *b == CALL) {
			memcpy(&far, b + 1, sizeof(far));
			return m->pc + sizeof(b) + (uint64_t)(int64_t)far;
		}
		if (s == MACHINE_BRANCHED && !by.of.width && (m->pc < from || m->pc - from > STEPS_MOST))
			return m->pc;
		if (!goes_on(s, &by))
			break;
	}
	return 0;
}

static bool by_gcc(struct destroys *out, struct machine *m, uint64_t at)
{
	static const uint64_t states[] = {3, 8, 2};
	m->field = (struct machine_field){0};
	const struct machine_store *s = first_store(m, at);
	uint64_t offset = s ? s->at - MACHINE_FRAME : 0;
	if (!s || s->bytes > 2 || offset < FIELDS_FROM || s->value.mixed || s->value.of.offset != offset ||
	    !s->value.of.width)
		return false;
	m->field = (struct machine_field){(uint32_t)offset, 2};
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
		m->value = states[i];
		s = first_store(m, at);
		if (!s || s->at != MACHINE_FRAME + offset || !s->value.known || s->value.v != (states[i] | 1))
			return false;
	}
	*out = (struct destroys){PAIR_GCC, (uint32_t)offset, goes_to(m, at)};
	return true;
}

// --------------------------------------------------------------------- Clang

// By which field is the first branch decided that is not decided yet? False: by none alone.
static bool first_field(struct machine *m, uint64_t at, struct machine_field *out)
{
	struct machine_value by;
	enum machine_step s = MACHINE_ON;
	machine_begin(m, at);
	for (unsigned i = 0; i < STEPS_MOST && (s == MACHINE_ON || s == MACHINE_BRANCHED); i++)
		s = machine_step(m, &by);
	*out = by.of;
	return s == MACHINE_UNDECIDED && by.of.width && !by.mixed;
}

static bool by_clang(struct destroys *out, struct machine *m, uint64_t at)
{
	struct machine_field f;
	m->field = (struct machine_field){0};
	if (!first_field(m, at, &f) || f.offset != 0 || f.width != 8)
		return false;
	m->field = f;
	m->value = at; // anything but zero
	if (!first_field(m, at, &f) || f.width != 1 || f.offset < FIELDS_FROM)
		return false;
	*out = (struct destroys){PAIR_CLANG, f.offset, 0};
	return true;
}

// ----------------------------------------------------------------------- both

bool destroys_learn(struct destroys *out, struct machine *m, uint64_t at)
{
	return by_gcc(out, m, at) || by_clang(out, m, at);
}

bool destroys_fits(const struct destroys *d, struct machine *m, uint64_t at)
{
	struct machine_field f;
	m->field = (struct machine_field){0};
	// GCC may load more than the state, and use two bytes of it.
	return first_field(m, at, &f) && f.offset == d->index && f.width <= (d->maker == PAIR_GCC ? 4 : 1);
}

// A store of two bytes, or `or` of a byte; or a comparison of what another register leads to with zero.
bool destroys_may(const uint8_t *b, size_t n)
{
	bool loaded = false;
	for (size_t i = 0; i + 4 <= n; i++) {
		const uint8_t *op = b + i + 1 + ((b[i + 1] & 0xf0) == 0x40);
		bool wide = (b[i] & 0xf8) == REX_W;
		if (b[i] == 0x66 && (*op == 0x83 || *op == 0x81 || *op == 0x89 || *op == 0x09))
			return true;
		if (b[i] == 0x80 && (b[i + 1] & 0x38) == 0x08)
			return true;
		if (wide && b[i + 1] == 0x83 && (b[i + 2] & 0xf8) == 0x38 && !b[i + 3])
			return true;
		loaded |= wide && b[i + 1] == 0x8b && b[i + 2] < 0x40;
		if (wide && loaded && b[i + 1] == 0x85)
			return true;
	}
	return false;
}
