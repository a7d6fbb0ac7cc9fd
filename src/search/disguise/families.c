// SPDX-License-Identifier: MIT
//
// A row is a number at every so many bytes, as members of equal structs are. Living coroutines count as
// members of it; at least one must be looked for. A decoy must not be the family of another base. Where such
// numbers are so many that the search would take long, all rows count as chance.
#include "search/disguise/families.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "search/disguise/distances.h"

enum {
	MEMBERS_LEAST = 3,
	MEMBERS_MOST = 32,
	ROW_LEAST = 3,
	VALUES_MOST = 1 << 19,
	ROWS_MOST = 1 << 12,
	TRIES_MOST = 1 << 24
};
enum { NUMBER = 4, STRIDES = 16, LEAST_VALUE = 1 };
#define FOUR_GIB (1ULL << 32)

// Added to decoys: odd, for numbers that count up, and as round as numbers like to be.
static const uint32_t added[] = {0, 37, 53, 112, 176, 448, 704};
enum { ADDED = sizeof(added) / sizeof(*added) };

struct members { // of one kind, sorted by address
	struct member {
		uint64_t address;
		bool wanted;
	} v[MEMBERS_MOST];
	unsigned n;
};

struct family {
	uint64_t base;
	uint32_t form, added;
	uint8_t shift, kind;
};

static int by_address(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

// False: there are too many.
static bool take(struct members *to, const struct handle_address *v, size_t n, unsigned kind, bool wanted)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].kind != kind)
			continue;
		if (to->n == MEMBERS_MOST)
			return false;
		to->v[to->n++] = (struct member){v[i].at, wanted};
	}
	return true;
}

static bool gather(struct members *to, const struct handle_forms *f, unsigned kind)
{
	bool all = take(to, f->targets, f->ntargets, kind, true);
	bool any = all && to->n;
	all = all && take(to, f->living, f->nliving, kind, false);
	if (to->n)
		qsort(to->v, to->n, sizeof(*to->v), by_address);
	return any && all && to->n >= MEMBERS_LEAST;
}

static const struct member *member(const struct families *s, const struct family *f, uint32_t number)
{
	const struct members *m = &s->members[f->kind];
	uint64_t address = f->base + ((uint64_t)(number - f->added) << f->shift);
	size_t i = FIRST_NOT(m->n, k, m->v[k].address < address);
	return number >= f->added && i < m->n && m->v[i].address == address ? &m->v[i] : NULL;
}

// As a family of another base has the same numbers.
static bool is_real(const struct handle_forms *f, uint64_t base, uint64_t apart)
{
	size_t i = FIRST_NOT(f->bases.n, k, f->bases.v[k] < base - apart);
	return i < f->bases.n && f->bases.v[i] == base - apart;
}

static void add(struct families *s, struct family f)
{
	const struct members *m = &s->members[f.kind];
	unsigned n = 0;
	if (f.added && is_real(s->f, f.base, (uint64_t)f.added << f.shift))
		return;
	for (unsigned i = 0; i < m->n; i++) {
		uint64_t distance = m->v[i].address - f.base, units = distance >> f.shift;
		n += m->v[i].address > f.base && units << f.shift == distance && units >= LEAST_VALUE &&
		     units + f.added < FOUR_GIB;
	}
	if (n < MEMBERS_LEAST || s->values.n + m->n > VALUES_MOST)
		return;
	for (unsigned i = 0; i < m->n; i++) {
		uint64_t distance = m->v[i].address - f.base, units = distance >> f.shift;
		if (m->v[i].address > f.base && units << f.shift == distance && units >= LEAST_VALUE &&
		    units + f.added < FOUR_GIB)
			handles_add(&s->values, (uint32_t)units + f.added, (uint32_t)s->n, HANDLES_TARGET, i);
	}
	s->v[s->n++] = f;
}

bool families_ready(struct families *s, const struct handle_forms *f)
{
	size_t forms = distances_forms(f);
	bool any = false, of[HANDLE_KINDS] = {0};
	s->f = f;
	s->members = calloc(HANDLE_KINDS, sizeof(*s->members));
	s->v = f->bytes < HANDLE_FORMS_LARGE ? calloc(forms * ADDED + 1, sizeof(*s->v)) : NULL;
	if (f->bytes >= HANDLE_FORMS_LARGE)
		return true;
	if (!s->members || !s->v || !handles_init(&s->values, forms * ADDED))
		return false;
	for (unsigned kind = 0; kind < HANDLE_OUTER; kind++)
		any |= of[kind] = gather(&s->members[kind], f, kind);
	for (uint32_t form = DISGUISES; any && form < DISGUISES + forms; form++)
		for (unsigned i = 0; i < ADDED; i++) {
			struct family one = {distances_base(f, form), form, added[i],
					     (uint8_t)distances_shift(form), (uint8_t)distances_kind(form)};
			if (of[one.kind])
				add(s, one);
		}
	return !s->n || handles_ready(&s->values);
}

// ------------------------------------------------------------------- rows

static void keep(struct families *s, const struct family *f, const unsigned char *b, uint64_t at,
		 unsigned stride, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++) {
		uint32_t number;
		memcpy(&number, b + (size_t)i * stride, NUMBER);
		const struct member *m = member(s, f, number);
		if (!m || !m->wanted || s->nrows == ROWS_MOST)
			continue;
		if (s->nrows == s->room) {
			size_t room = s->room ? 2 * s->room : 64;
			struct families_row *more = realloc(s->rows, room * sizeof(*more));
			if (!more) {
				s->failed = true;
				return;
			}
			s->rows = more;
			s->room = room;
		}
		s->rows[s->nrows++] =
			(struct families_row){at + (uint64_t)i * stride, m->address, f->form, length};
	}
}

// How long is the row that begins at b, of different members?
static uint32_t length_of(const struct families *s, const struct family *f, const unsigned char *b, size_t n,
			  unsigned stride)
{
	const struct members *m = &s->members[f->kind];
	uint32_t seen = 0, length = 0;
	for (size_t i = 0; i + NUMBER <= n; i += stride, length++) {
		uint32_t number;
		memcpy(&number, b + i, NUMBER);
		const struct member *one = handles_may(&s->values, number) ? member(s, f, number) : NULL;
		uint32_t bit = one ? 1u << (one - m->v) : 0;
		if (!one || (seen & bit))
			break;
		seen |= bit;
	}
	return length;
}

// At which strides may the number after the first be one of a family? Bit k: at k + 1 numbers.
static uint32_t strides(const struct families *s, const unsigned char *b, size_t n)
{
	uint32_t which = 0;
	for (unsigned k = 0; k < STRIDES && (k + 2) * NUMBER <= n; k++) {
		uint32_t number;
		memcpy(&number, b + (size_t)(k + 1) * NUMBER, NUMBER);
		which |= (uint32_t)handles_may(&s->values, number) << k;
	}
	return which;
}

static void try_rows(struct families *s, const struct family *f, const unsigned char *b, size_t n,
		     uint64_t at, uint32_t which)
{
	for (; which; which &= which - 1) {
		unsigned stride = NUMBER * ((unsigned)__builtin_ctz(which) + 1);
		uint32_t length = length_of(s, f, b, n, stride);
		s->tries++;
		if (length < ROW_LEAST || !s->counts(s->ctx, at))
			continue;
		if (!f->added)
			keep(s, f, b, at, stride, length);
		else if (length > s->by_chance)
			s->by_chance = length;
	}
}

void families_find(struct families *s, const unsigned char *b, size_t n, uint64_t at)
{
	struct handles_value *v;
	for (size_t i = -at & (NUMBER - 1); s->n && i + NUMBER <= n && s->tries < TRIES_MOST; i += NUMBER) {
		uint32_t number, which;
		memcpy(&number, b + i, NUMBER);
		if (!handles_may(&s->values, number) || !(which = strides(s, b + i, n - i)))
			continue;
		size_t found = handles_find(&s->values, number, &v);
		for (size_t k = 0; k < found; k++)
			try_rows(s, &s->v[v[k].form], b + i, n - i, at + i, which);
	}
}

void families_settle(struct families *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->nrows && s->tries < TRIES_MOST; i++)
		if (s->rows[i].length > s->by_chance)
			s->rows[n++] = s->rows[i];
	s->nrows = n;
}

void families_deinit(struct families *s)
{
	handles_deinit(&s->values);
	free(s->v);
	free(s->members);
	free(s->rows);
	*s = (struct families){0};
}
