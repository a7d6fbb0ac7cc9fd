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

enum {
	STEPS_MOST = 20000,
	CODE_MOST = 1 << 20,
	STORES_MOST = 4096,
	LANDINGS_MOST = 4096,
	FIELDS_FROM = 16,
	RSP = 4
};

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

uint64_t dispatch_landing(struct dispatch *d, const struct pair *p, const struct dispatch_code *code,
			  uint64_t value)
{
	for (size_t i = 0; i < d->nlandings; i++)
		if (d->landings[i].value == value)
			return d->landings[i].at;
	uint64_t at = landing_of(d, p, code, value);
	if (d->nlandings < LANDINGS_MOST && !GROW(d->landings, d->nlandings, d->landings_room))
		d->landings[d->nlandings++] = (struct dispatch_store){value, at};
	return at;
}

// ---------------------------------------------------------------- the stores

struct sweep {
	struct dispatch *d;
	bool known[MACHINE_REGISTERS]; // registers that hold a constant
	uint64_t v[MACHINE_REGISTERS];
	int64_t shift[MACHINE_REGISTERS]; // how far behind the frame's begin, if it leads there, a register
					  // does
	bool pushed;
	uint64_t pushed_v;
	int error;
};

static void forget(struct sweep *s)
{
	memset(s->known, 0, sizeof(s->known));
}

// Registers that lead to the frame may be moved on within it.
static void follow_shifts(struct sweep *s, const struct x86 *x)
{
	unsigned op = x->map == X86_ONE_BYTE && !x->vex ? x->opcode : 0x100;
	bool plain = x->memory && !x->rip && !x->segment && x->base != X86_NO_REGISTER &&
		     x->index == X86_NO_REGISTER && x->base != RSP;
	if (op == 0xe8 || (op == 0xff && x->reg % 8 == 2))
		return; // those that the callee keeps
	if (op == 0xe9 || op == 0xeb || op == 0xc3 || op == 0xff)
		memset(s->shift, 0, sizeof(s->shift));
	else if ((op == 0x81 || op == 0x83) && !x->memory && (x->reg % 8 == 0 || x->reg % 8 == 5))
		s->shift[x->rm] += x->reg % 8 ? -x->immediate : x->immediate;
	else if (op == 0x8d)
		s->shift[x->reg] = plain ? s->shift[x->base] + x->displacement : 0;
	else if ((op == 0x89 || op == 0x8b) && !x->memory)
		s->shift[op == 0x89 ? x->rm : x->reg] = s->shift[op == 0x89 ? x->reg : x->rm];
	else if (op == 0x8b)
		s->shift[x->reg] = 0;
}

// Does it write to memory only, or compare?
static bool writes_no_register(const struct x86 *x)
{
	unsigned op = x->opcode;
	if (x->map == X86_0F)
		return op == 0x1f || (op & 0xf0) == 0x80 || op == 0x11 || op == 0x29 || op == 0x7f ||
		       op == 0xd6;
	if (x->map != X86_ONE_BYTE || x->vex)
		return false;
	return (op >= 0x38 && op < 0x3c) || op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9 ||
	       (op & 0xf0) == 0x70 || (op >= 0x50 && op < 0x58) || op == 0x68 || op == 0x6a ||
	       (x->memory && (op == 0x88 || op == 0x89 || op == 0xc6 || op == 0xc7));
}

static void follow_constants(struct sweep *s, const struct x86 *x)
{
	unsigned op = x->map == X86_ONE_BYTE && !x->vex ? x->opcode : 0x100;
	bool was_pushed = s->pushed;
	s->pushed = op == 0x6a || op == 0x68;
	s->pushed_v = (uint64_t)x->immediate;
	if (writes_no_register(x))
		return;
	if ((op >= 0xb8 && op < 0xc0) || (op == 0xc7 && !x->memory)) {
		s->known[x->rm] = true;
		s->v[x->rm] = (uint64_t)x->immediate;
	} else if ((op == 0x31 || op == 0x33) && !x->memory && x->reg == x->rm) {
		s->known[x->rm] = true;
		s->v[x->rm] = 0;
	} else if (op >= 0x58 && op < 0x60) {
		s->known[x->rm] = was_pushed;
		s->v[x->rm] = s->pushed_v;
	} else if (op == 0xe8 || op == 0xff || op == 0xe9 || op == 0xeb || op == 0xc3) {
		forget(s);
	} else if (x->has_modrm) {
		s->known[x->reg] = false;
		if (!x->memory)
			s->known[x->rm] = false;
	} else {
		forget(s);
	}
}

// Does it store a known value to the field?
static bool stores_index(const struct sweep *s, const struct x86 *x, uint64_t *value)
{
	const struct machine_field f = s->d->index;
	if (x->map != X86_ONE_BYTE || x->vex || !x->memory || x->segment || x->rip ||
	    x->base == X86_NO_REGISTER || x->base == RSP || x->index != X86_NO_REGISTER)
		return false;
	unsigned bytes = x->opcode & 1 ? x->size : 1;
	bool immediate = (x->opcode == 0xc6 || x->opcode == 0xc7) && x->reg % 8 == 0;
	bool of_register = x->opcode == 0x89 || (x->opcode == 0x88 && (x->rex || x->reg < 4));
	int64_t at = x->displacement + s->shift[x->base];
	if ((!immediate && (!of_register || !s->known[x->reg])) || at < 0 || at > f.offset ||
	    at + bytes < f.offset + f.width)
		return false;
	uint64_t v = immediate ? (uint64_t)x->immediate : s->v[x->reg];
	v >>= 8 * (f.offset - (unsigned)at);
	*value = v & ((1ULL << 8 * f.width) - 1);
	return true;
}

static void sweep_code(struct sweep *s, const uint8_t *b, size_t n, uint64_t at)
{
	struct x86 x;
	uint64_t value;
	forget(s);
	memset(s->shift, 0, sizeof(s->shift));
	for (size_t i = 0; i < n && !s->error; i += x.length) {
		if (!x86_decode(b + i, n - i, &x))
			return;
		if (stores_index(s, &x, &value) && s->d->n < STORES_MOST) {
			s->error = GROW(s->d->stores, s->d->n, s->d->room);
			if (!s->error)
				s->d->stores[s->d->n++] = (struct dispatch_store){value, at + i};
		}
		follow_constants(s, &x);
		follow_shifts(s, &x);
	}
}

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
	d->stores[d->n++] = (struct dispatch_store){0, store};
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
	struct sweep s = {.d = d};
	*d = (struct dispatch){0};
	if (!m)
		return -ENOMEM;
	find_field(d, m, p);
	free(m);
	if (!d->known && p->maker == PAIR_CLANG && p->ncodes > 1)
		return read_ramp(d, p, code);
	for (unsigned i = 0; d->known && i < p->ncodes && !s.error; i++) {
		size_t n = p->codes[i].bytes < CODE_MOST ? (size_t)p->codes[i].bytes : CODE_MOST;
		uint8_t *b = malloc(n);
		if (!b)
			return -ENOMEM;
		sweep_code(&s, b, code->peek(code->ctx, p->codes[i].at, b, n), p->codes[i].at);
		free(b);
	}
	return s.error;
}

void dispatch_deinit(struct dispatch *d)
{
	free(d->stores);
	free(d->landings);
	*d = (struct dispatch){0};
}

uint64_t dispatch_store(const struct dispatch *d, uint64_t value)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->stores[i].value == value)
			return d->stores[i].at;
	return 0;
}
