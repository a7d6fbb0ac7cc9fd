// SPDX-License-Identifier: MIT
//
// Predicts each switch from the slots before it: the incoming coroutine, the stack
// that the outgoing one leaves from, and the number with which the incoming one
// resumes. Only wrong predictions are written, and the times, in a unit of which all
// times of most machines are multiples. One function predicts in both directions, so
// the reader cannot differ from the writer. The slots may hold anything.
#include "codec/predict.h"

#include <stdlib.h>
#include <string.h>

#include "ctp/record.h"
#include "ctp/ring.h"

enum {
	KNOWN = 8192,       // entities that are told apart, by their low bits
	NOT_SHORT = 7 << 3, // in PLANE_KIND
	MISS_TO = 1,
	MISS_NUMBER = 2,
	MISS_STACK = 4,
	NO_MULTIPLE = 255, // in PLANE_TIME
	LAST_SYMBOL = 128 + 2 * 53 + 1,
	KINDS = 16,
	NUMBER_SHIFT = CTP_SHORT_BITS + CTP_SHORT_STACK_BITS,
};

// What an entity did last. It is of this packet if `packet` is; else nothing is known.
struct known {
	uint32_t packet;
	uint32_t number, stack; // with which it was entered, from which it left
	uint32_t step;          // whom it entered, less the one from whom it had been entered
	uint32_t after;         // whom the one entered that it had entered
	bool left, followed;    // stack and step are known; after is
};

struct foresight {
	struct known known[KNOWN];
	uint32_t packet;
};

// What is remembered of a packet's slots so far.
struct memory {
	struct foresight *f;
	struct planes *p;
	uint64_t time;
	uint32_t from, current;     // who ran before, who runs
	struct known *before, *now; // they
	struct known fresh;         // what the last one did of which nothing was known
	struct ctp_record first[KINDS], second[KINDS];
	unsigned kind; // of the record whose second slot is due, if `is_second`
	bool is_second, bad;
	uint64_t inverse, most; // how multiples of the unit are told
	unsigned shift;
	uint64_t acc; // raw bits: so many of them
	unsigned held;
};

#define INLINE static inline __attribute__((always_inline))

// ---- numbers: a byte that says how large, and raw bits that say what else

INLINE void bits_write(struct memory *m, uint64_t bits, unsigned n) // n <= 32
{
	unsigned char **at = &m->p->at[PLANE_BITS];
	m->acc |= bits << m->held;
	m->held += n;
	memcpy(*at, &m->acc, sizeof(m->acc));
	*at += m->held / 8;
	m->acc >>= m->held & ~7u;
	m->held %= 8;
}

INLINE uint64_t bits_read(struct memory *m, unsigned n) // n <= 32
{
	unsigned char **at = &m->p->at[PLANE_BITS];
	uint64_t word;
	if (*at > m->p->end[PLANE_BITS]) {
		m->bad = true;
		return 0;
	}
	memcpy(&word, *at, sizeof(word));
	word = word >> m->held & ((1ULL << n) - 1);
	m->held += n;
	*at += m->held / 8;
	m->held %= 8;
	return word;
}

INLINE void number_write(struct memory *m, enum plane p, uint64_t v)
{
	if (v < 64) {
		*m->p->at[p]++ = (unsigned char)v;
		return;
	}
	unsigned top = 63 - (unsigned)__builtin_clzll(v), raw = top - (top < 10 ? 4 : 1);
	*m->p->at[p]++ = (unsigned char)((top < 10 ? 64 + (top - 6) * 16 - 16 : 128 + (top - 10) * 2 - 2) +
					 (v >> raw));
	v &= (1ULL << raw) - 1;
	if (raw > 32) {
		bits_write(m, v & 0xffffffff, 32);
		v >>= 32;
		raw -= 32;
	}
	bits_write(m, v, raw);
}

INLINE unsigned byte_read(struct memory *m, enum plane p)
{
	if (m->p->at[p] < m->p->end[p])
		return *m->p->at[p]++;
	m->bad = true;
	return 0;
}

INLINE uint64_t number_of(struct memory *m, unsigned symbol)
{
	if (symbol < 64)
		return symbol;
	m->bad |= symbol > LAST_SYMBOL;
	unsigned top = symbol < 128 ? 6 + (symbol - 64) / 16 : 10 + (symbol - 128) / 2;
	unsigned raw = (top < 10 ? top - 4 : top - 1) & 63, low = 0;
	uint64_t v = top < 10 ? 16 + symbol % 16 : 2 + symbol % 2, bits = 0;
	if (raw > 32) {
		bits = bits_read(m, 32);
		low = 32;
	}
	return v << raw | bits_read(m, raw - low) << low | bits;
}

// A field of so many bits, as what it is more or less than was predicted.
INLINE void field(struct memory *m, enum plane p, uint64_t *v, uint64_t predicted, unsigned bits,
		  bool writing)
{
	if (writing) {
		int64_t d = (int64_t)((*v - predicted) << (64 - bits)) >> (64 - bits);
		number_write(m, p, (uint64_t)d << 1 ^ (uint64_t)(d >> 63));
	} else {
		uint64_t d = number_of(m, byte_read(m, p));
		*v = (predicted + (d >> 1 ^ -(d & 1))) & (~0ULL >> (64 - bits));
	}
}

// ---- times

static void unit_set(struct memory *m, uint64_t unit)
{
	m->shift = (unsigned)__builtin_ctzll(unit);
	uint64_t odd = unit >> m->shift,
		 inverse = odd; // right in its low 3 bits, and in twice as many each time
	for (int i = 0; i < 5; i++)
		inverse *= 2 - odd * inverse;
	m->inverse = inverse;
	m->most = ~0ULL / unit;
}

// The time of a first slot: since the one before.
INLINE uint64_t time_of(struct memory *m, uint64_t time, bool writing)
{
	uint64_t on = (time - m->time) & CTP_TIME_MASK;
	if (writing) {
		uint64_t units = on * m->inverse;
		units = units >> m->shift | units << (-m->shift & 63);
		if (units <= m->most) {
			number_write(m, PLANE_TIME, units);
		} else {
			*m->p->at[PLANE_TIME]++ = NO_MULTIPLE;
			number_write(m, PLANE_LONG, on);
		}
	} else {
		unsigned symbol = byte_read(m, PLANE_TIME);
		on = symbol == NO_MULTIPLE ? number_of(m, byte_read(m, PLANE_LONG)) :
					     number_of(m, symbol) * m->p->unit;
		time = (m->time + on) & CTP_TIME_MASK;
	}
	return m->time = time;
}

static uint64_t common(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

// The unit of most times, by some of them from all over the packet. Clocks of two CPUs count the
// same units, but not from the same time on: where a thread goes from one to the other is none.
static uint64_t unit_of(const struct ctp_record *slots, size_t n)
{
	enum { PLACES = 8, EACH = 8, FEW = 4 };
	uint64_t on[PLACES * EACH], unit = 1;
	size_t k = 0;
	for (size_t place = 0; place < PLACES; place++) {
		uint64_t last = 0;
		size_t got = 0;
		for (size_t i = place * n / PLACES; i < (place + 1) * n / PLACES && got <= EACH; i++) {
			if (ctp_record_kind(&slots[i]) == CTP_EV_REST)
				continue;
			if (got++)
				on[k++] = ((slots[i].w0 >> 8) - last) & CTP_TIME_MASK;
			last = slots[i].w0 >> 8;
		}
	}
	for (size_t i = 0; i + FEW <= k; i += FEW) {
		uint64_t may = common(common(on[i], on[i + 1]), common(on[i + 2], on[i + 3]));
		size_t fits = 0;
		for (size_t j = 0; may > unit && j < k; j++)
			fits += on[j] % may == 0;
		if (fits * 8 >= k * 7)
			unit = may;
	}
	return unit;
}

// ---- slots

INLINE struct known *known_of(struct memory *m, uint32_t id)
{
	struct known *k = &m->f->known[id % KNOWN];
	if (k->packet != m->f->packet)
		*k = (struct known){.packet = m->f->packet};
	return k;
}

INLINE void entered(struct memory *m, uint32_t id, struct known *k)
{
	m->from = m->current;
	m->before = m->now;
	m->current = id;
	m->now = k;
}

// A switch in one slot. Of `missed`, what was not predicted, a writer makes what it returns.
INLINE unsigned short_slot(struct memory *m, uint64_t *w1, unsigned missed, bool writing)
{
	struct known *outgoing = m->now, *before = m->before;
	const struct known *like = outgoing->left ? outgoing : &m->fresh;
	uint64_t to = before->followed ? before->after : (m->from + like->step) & CTP_SHORT_MASK;
	uint64_t stack = like->stack, number, was;
	if (writing) {
		was = to;
		to = *w1 & CTP_SHORT_MASK;
		missed = to != was ? MISS_TO : 0;
	}
	if (missed & MISS_TO)
		field(m, PLANE_TO, &to, m->from, CTP_SHORT_BITS, writing);
	if (writing) {
		was = stack;
		stack = *w1 >> CTP_SHORT_BITS & ((1u << CTP_SHORT_STACK_BITS) - 1);
		missed |= stack != was ? MISS_STACK : 0;
	}
	if (missed & MISS_STACK)
		field(m, PLANE_STACK, &stack, like->stack, CTP_SHORT_STACK_BITS, writing);
	outgoing->stack = (uint32_t)stack;
	outgoing->step = ((uint32_t)to - m->from) & CTP_SHORT_MASK;
	if (!outgoing->left) {
		m->fresh.stack = outgoing->stack;
		m->fresh.step = outgoing->step;
	}
	outgoing->left = before->followed = true;
	before->after = (uint32_t)to;
	struct known *k = known_of(m, (uint32_t)to);
	number = was = k->number ? (k->number + 2) & CTP_SHORT_MASK : m->fresh.number;
	if (writing) {
		number = *w1 >> NUMBER_SHIFT;
		missed |= number != was ? MISS_NUMBER : 0;
	}
	if (missed & MISS_NUMBER)
		field(m, PLANE_NUMBER, &number, was, CTP_SHORT_BITS, writing);
	if (!k->number)
		m->fresh.number = (uint32_t)number;
	k->number = (uint32_t)number;
	entered(m, (uint32_t)to, k);
	*w1 = to | stack << CTP_SHORT_BITS | number << NUMBER_SHIFT;
	return missed;
}

// A first slot of any other kind: against the last of that kind.
INLINE void long_slot(struct memory *m, struct ctp_record *r, uint64_t *kind, bool writing)
{
	field(m, PLANE_LONG, kind, 0, 8, writing);
	m->kind = *kind % KINDS;
	m->is_second = ctp_kind_is_long((unsigned)*kind);
	struct ctp_record *last = &m->first[m->kind];
	uint64_t id = r->w1 & CTP_ID_MASK, stack = r->w1 >> CTP_ID_BITS;
	field(m, PLANE_LONG, &id, last->w1 & CTP_ID_MASK, CTP_ID_BITS, writing);
	field(m, PLANE_LONG, &stack, last->w1 >> CTP_ID_BITS, 64 - CTP_ID_BITS, writing);
	last->w1 = r->w1 = id | stack << CTP_ID_BITS;
}

INLINE void second_slot(struct memory *m, struct ctp_record *r, bool writing)
{
	struct ctp_record *last = &m->second[m->kind];
	uint64_t outer = (r->w0 & 0xffff) | r->w0 >> 56 << 16, id = r->w0 >> 16 & CTP_ID_MASK;
	field(m, PLANE_LONG, &outer, (last->w0 & 0xffff) | last->w0 >> 56 << 16, 24, writing);
	field(m, PLANE_LONG, &id, last->w0 >> 16 & CTP_ID_MASK, CTP_ID_BITS, writing);
	field(m, PLANE_LONG, &r->w1, last->w1, 64, writing);
	r->w0 = (outer & 0xffff) | id << 16 | outer >> 16 << 56;
	*last = *r;
	m->is_second = false;
	if (m->kind != CTP_EV_SWITCH)
		return;
	uint32_t to = (uint32_t)m->first[m->kind].w1 & CTP_SHORT_MASK;
	struct known *k = known_of(m, to);
	k->number = (uint32_t)(r->w1 >> 32) & CTP_SHORT_MASK;
	entered(m, to, k);
}

INLINE void slot(struct memory *m, struct ctp_record *r, bool writing)
{
	if (m->is_second) {
		second_slot(m, r, writing);
		return;
	}
	unsigned symbol = writing ? 0 : byte_read(m, PLANE_KIND);
	uint64_t time = time_of(m, r->w0 >> 8, writing), kind = ctp_record_kind(r);
	if (writing ? ctp_kind_is_short((unsigned)kind) : symbol < NOT_SHORT) {
		unsigned missed = short_slot(m, &r->w1, symbol % 8, writing);
		if (writing)
			*m->p->at[PLANE_KIND]++ = (unsigned char)((kind - CTP_EV_SHORT - 1) << 3 | missed);
		else
			kind = CTP_EV_SHORT + 1 + symbol / 8;
	} else {
		if (writing)
			*m->p->at[PLANE_KIND]++ = NOT_SHORT;
		m->bad |= symbol > NOT_SHORT;
		long_slot(m, r, &kind, writing);
	}
	r->w0 = kind | time << 8;
}

static void begin(struct memory *m, struct foresight *f, struct planes *p)
{
	*m = (struct memory){.f = f, .p = p};
	if (!++f->packet) { // once in 2^32
		memset(f->known, 0, sizeof(f->known));
		f->packet = 1;
	}
	m->now = m->before = known_of(m, 0);
	unit_set(m, p->unit);
}

struct foresight *predict_new(void)
{
	return calloc(1, sizeof(struct foresight));
}

void predict_free(struct foresight *f)
{
	free(f);
}

void predict_write(struct foresight *f, struct planes *p, const struct ctp_record *slots, size_t n)
{
	struct memory m;
	p->unit = unit_of(slots, n);
	begin(&m, f, p);
	for (size_t i = 0; i < n; i++) {
		struct ctp_record r = slots[i];
		slot(&m, &r, true);
	}
	p->at[PLANE_BITS] += m.held > 0;
	memcpy(p->end, p->at, sizeof(p->end));
}

bool predict_read(struct foresight *f, struct planes *p, struct ctp_record *slots, size_t n)
{
	struct memory m;
	if (!p->unit)
		return false;
	begin(&m, f, p);
	for (size_t i = 0; i < n && !m.bad; i++) {
		slots[i] = (struct ctp_record){0};
		slot(&m, &slots[i], false);
	}
	p->at[PLANE_BITS] += m.held > 0;
	return !m.bad && !memcmp(p->at, p->end, sizeof(p->at));
}
