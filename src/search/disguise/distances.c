// SPDX-License-Identifier: MIT
//
// A base is in use if it is not likely that any base finds so many coroutines by chance, of the living or of
// the targets. How likely that is for one of them, decoys show: numbers of the same size, nearly as round;
// but they lead to the middle of something: at the same distance from each other begin others of its kind.
#include "search/disguise/distances.h"

#include <math.h>
#include <stdlib.h>

#define FOUR_GIB (1ULL << 32)
enum { SHIFTS = 5, SAMPLE = 8, TRIED_MOST = 4096 };
enum { DECOYS = 1 << 16, DECOYS_MOST = 1024, DECOYS_LEAST = 16, DECOYS_SMALL = 1 << 18 };
enum { LEAST_ODD = 64 }; // of a number that tells anything in a small memory
static const unsigned shifts[SHIFTS] = {0, 3, 4, 6, 12};
static const double CHANCE = 0.005; // that a base which is not in use finds so many

// One that was found.
struct distance {
	uint32_t form, value, index; // index: of the address in its class
	uint8_t class;
	uint32_t decoys, hits;
};

size_t distances_forms(const struct handle_forms *f)
{
	return f->bases.n * SHIFTS * HANDLE_KINDS;
}

uint64_t distances_base(const struct handle_forms *f, uint32_t form)
{
	return f->bases.v[(form - DISGUISES) / HANDLE_KINDS / SHIFTS];
}

unsigned distances_shift(uint32_t form)
{
	return shifts[(form - DISGUISES) / HANDLE_KINDS % SHIFTS];
}

unsigned distances_kind(uint32_t form)
{
	return (form - DISGUISES) % HANDLE_KINDS;
}

static bool is_telling(const struct handle_forms *f, uint64_t distance)
{
	return f->bytes >= HANDLE_FORMS_LARGE ?
		       handle_forms_telling(distance) :
		       distance && distance >> __builtin_ctzll(distance) >= LEAST_ODD;
}

static void add(struct handle_forms *f, uint32_t form, uint64_t address, bool all, enum handles_class class,
		size_t index)
{
	unsigned shift = distances_shift(form);
	uint64_t base = distances_base(f, form), distance = (address - base) >> shift;
	if (address >= base && distance << shift == address - base && distance < FOUR_GIB &&
	    (all || is_telling(f, distance)))
		handles_add(&f->values, (uint32_t)distance, form, class, index);
}

// Of one kind of addresses; some of all.
static void sample(struct handle_forms *f, uint32_t form, const struct handle_address *v, size_t n,
		   enum handles_class class)
{
	for (size_t i = 0, had = 0; i < n && had < SAMPLE; i++)
		if (v[i].kind == distances_kind(form)) {
			add(f, form, v[i].at, false, class, i);
			had++;
		}
}

void distances_sample(struct handle_forms *f)
{
	for (uint32_t form = DISGUISES; form < DISGUISES + distances_forms(f); form++) {
		if (distances_kind(form) == HANDLE_INNER && f->bytes >= HANDLE_FORMS_LARGE)
			continue;
		sample(f, form, f->living, f->nliving, HANDLES_LIVING);
		sample(f, form, f->targets, f->ntargets, HANDLES_TARGET);
	}
}

// ------------------------------------------------------------------- those that were found

static int by_form(const void *a, const void *b)
{
	const struct distance *x = a, *y = b;
	if (x->form != y->form)
		return x->form < y->form ? -1 : 1;
	return (int)x->class - (int)y->class;
}

static bool take_found(struct handle_forms *f)
{
	struct distances *d = &f->distances;
	d->v = calloc(f->values.n + 1, sizeof(*d->v));
	for (size_t i = 0; d->v && i < f->values.n; i++) {
		const struct handles_value *v = &f->values.v[i];
		if (v->form >= DISGUISES && v->hit)
			d->v[d->n++] = (struct distance){
				.form = v->form, .value = v->value, .index = v->index, .class = v->class};
	}
	if (d->n)
		qsort(d->v, d->n, sizeof(*d->v), by_form);
	return d->v;
}

// Where those end that are of the same form and class as number i.
static size_t group_end(const struct distances *d, size_t i)
{
	size_t end = i + 1;
	while (end < d->n && !by_form(&d->v[i], &d->v[end]))
		end++;
	return end;
}

// One alone, unless it is no number as there are many, tells nothing.
static void leave_single(struct distances *d)
{
	size_t n = 0;
	for (size_t i = 0, end; i < d->n; i = end) {
		end = group_end(d, i);
		if (end - i == 1 && !handle_forms_telling(d->v[i].value))
			continue;
		for (size_t k = i; k < end; k++)
			d->v[n++] = d->v[k];
	}
	d->n = n;
}

static uint64_t mixed(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15;
	n ^= n >> 29;
	n *= 0xbf58476d1ce4e5b9;
	return n ^ n >> 32;
}

// Numbers of half to twice its size that end in one zero less.
static void add_decoys(struct handle_forms *f, struct distance *d, size_t number, size_t most)
{
	unsigned zeros = (unsigned)__builtin_ctz(d->value), less = zeros ? zeros - 1 : 0;
	uint64_t lo = d->value >> (less + 1), range = (d->value >> less) + lo;
	for (uint64_t k = 0; k < most; k++) {
		uint64_t n = (range <= most ? lo + k : lo + mixed(k) % range) | (zeros ? 1 : 0);
		if (n > lo + range || n << less >= FOUR_GIB || n << less == d->value)
			continue;
		handles_add(&f->values, (uint32_t)(n << less), d->form, HANDLES_DECOY, number);
		d->decoys++;
	}
}

// In place of the former ones, which are in *was then.
static bool begin_anew(struct handle_forms *f, struct handles *was)
{
	struct handles next;
	if (!handles_init(&next, f->values.nforms)) {
		f->values.failed = true;
		return false;
	}
	*was = f->values;
	f->values = next;
	f->values.failed = was->failed;
	return true;
}

static bool ready(struct handle_forms *f)
{
	bool any = f->values.n;
	f->values.failed |= any && !handles_ready(&f->values);
	return any && !f->values.failed;
}

bool distances_try(struct handle_forms *f)
{
	struct distances *d = &f->distances;
	struct handles was;
	if (!take_found(f)) {
		f->values.failed = true;
		return false;
	}
	leave_single(d);
	if (!d->n || d->n > TRIED_MOST || !begin_anew(f, &was)) {
		d->n = 0;
		return false;
	}
	bool small = f->bytes < HANDLE_FORMS_LARGE; // then one coroutine may be enough
	size_t all = small ? DECOYS_SMALL : DECOYS, most = all / d->n;
	most = most < DECOYS_LEAST ? DECOYS_LEAST : most > DECOYS_MOST && !small ? DECOYS_MOST : most;
	for (size_t i = 0; i < d->n; i++)
		add_decoys(f, &d->v[i], i, most);
	for (uint32_t form = DISGUISES; form < was.nforms; form++) // how many were looked for
		for (unsigned class = 0; class < HANDLES_CLASSES; class ++)
			if (class != HANDLES_DECOY)
				f->values.forms[form].n[class] = was.forms[form].n[class];
	handles_deinit(&was);
	return ready(f);
}

// ------------------------------------------------------------------- those in use

static void count_decoys(struct handle_forms *f)
{
	for (size_t i = 0; i < f->values.n; i++)
		if (f->values.v[i].hit)
			f->distances.v[f->values.v[i].index].hits++;
}

// How many bases, kinds and shifts could have found any.
static size_t tried(const struct handle_forms *f, enum handles_class class)
{
	size_t n = 0;
	for (uint32_t form = DISGUISES; form < f->values.nforms; form++)
		n += f->values.forms[form].n[class] > 0;
	return n;
}

// That some `hits` of n are found by chance, each as likely as its decoys are.
static bool is_chance(const struct handle_forms *f, const struct distance *v, size_t hits)
{
	uint32_t n = f->values.forms[v->form].n[v->class];
	double p = (double)tried(f, v->class);
	for (size_t i = 0; i < hits; i++)
		p *= (n - i) / (i + 1.0) * (v[i].hits + 0.5) / (v[i].decoys + 1.0);
	return p >= CHANCE;
}

bool distances_settle(struct handle_forms *f)
{
	struct distances *d = &f->distances;
	struct handles was;
	d->settled = true;
	if (!d->n)
		return false;
	count_decoys(f);
	bool *used = calloc(f->values.nforms, sizeof(*used));
	for (size_t i = 0, end; used && i < d->n; i = end) {
		end = group_end(d, i);
		used[d->v[i].form] |= !is_chance(f, &d->v[i], end - i);
	}
	if (!used || !begin_anew(f, &was)) {
		free(used);
		f->values.failed = true;
		return false;
	}
	for (uint32_t form = DISGUISES; form < was.nforms; form++)
		for (size_t i = 0; used[form] && i < f->ntargets; i++)
			add(f, form, f->targets[i].at, true, HANDLES_TARGET, i);
	handles_deinit(&was);
	free(used);
	return ready(f);
}

void distances_deinit(struct distances *d)
{
	free(d->v);
	*d = (struct distances){0};
}
