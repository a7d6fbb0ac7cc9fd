// SPDX-License-Identifier: MIT
//
// A bit map passes over nearly all words, a hash table finds the values of the rest. How often chance would
// hit so many is told by the Poisson distribution: decoys give its rate.
#include "search/disguise/handles.h"

#include <math.h>
#include <stdlib.h>

enum { FILTER_LEAST = 16, APART_LEAST = 10, FILTER_MOST = 25, PER_VALUE = 5, NONE_OF = 8, SURE_OF = 2 };
static const double CHANCE = 2.5e-3;      // that so many hits are no sign of anything
static const double CHANCE_UNUSED = 1e-6; // the same, where the program keeps none of its living so

bool handles_init(struct handles *h, size_t nforms)
{
	*h = (struct handles){.nforms = nforms, .forms = calloc(nforms + 1, sizeof(*h->forms))};
	return h->forms;
}

void handles_deinit(struct handles *h)
{
	free(h->v);
	free(h->forms);
	free(h->filter);
	free(h->filter_apart);
	free(h->slots);
	*h = (struct handles){0};
}

void handles_add(struct handles *h, uint32_t value, uint32_t form, enum handles_class class, size_t index)
{
	if (h->n == h->room) {
		size_t room = h->room ? 2 * h->room : 1024;
		struct handles_value *more = realloc(h->v, room * sizeof(*more));
		if (!more) {
			h->failed = true;
			return;
		}
		h->v = more;
		h->room = room;
	}
	h->v[h->n++] = (struct handles_value){value, form, (uint32_t)index, (uint8_t) class, 0, false};
	h->forms[form].n[class]++;
}

// Of one value and form, decoys come last.
static int by_value(const void *a, const void *b)
{
	const struct handles_value *x = a, *y = b;
	if (x->value != y->value)
		return x->value < y->value ? -1 : 1;
	if (x->form != y->form)
		return x->form < y->form ? -1 : 1;
	return (x->class == HANDLES_DECOY) - (y->class == HANDLES_DECOY);
}

// A decoy whose value is somebody's, in its own form, is none.
static void drop_shared(struct handles *h)
{
	size_t kept = 0;
	for (size_t i = 0; i < h->n; i++) {
		const struct handles_value *v = &h->v[i], *last = kept ? &h->v[kept - 1] : NULL;
		if (v->class == HANDLES_DECOY && last && last->value == v->value && last->form == v->form &&
		    last->class != HANDLES_DECOY)
			h->forms[v->form].n[HANDLES_DECOY]--;
		else
			h->v[kept++] = *v;
	}
	h->n = kept;
}

static unsigned bits_for(size_t n, unsigned least)
{
	unsigned bits = least;
	while (bits < FILTER_MOST && (size_t)1 << bits < n)
		bits++;
	return bits;
}

static bool is_apart(const struct handles *h, uint32_t form)
{
	return h->apart && form == h->apart;
}

bool handles_ready(struct handles *h)
{
	size_t apart = 0;
	for (size_t i = 0; i < h->n; i++)
		apart += is_apart(h, h->v[i].form);
	h->filter_bits = bits_for((h->n - apart) << PER_VALUE, FILTER_LEAST);
	h->apart_bits = bits_for(apart << PER_VALUE, APART_LEAST);
	h->filter_apart = calloc((size_t)1 << (h->apart_bits - 6), sizeof(*h->filter_apart));
	h->slot_bits = bits_for(2 * h->n, 4);
	h->filter = calloc((size_t)1 << (h->filter_bits - 6), sizeof(*h->filter));
	h->slots = calloc((size_t)1 << h->slot_bits, sizeof(*h->slots));
	if (h->failed || !h->filter || !h->filter_apart || !h->slots ||
	    h->n >= (size_t)1 << (FILTER_MOST - 1))
		return false;
	if (h->n)
		qsort(h->v, h->n, sizeof(*h->v), by_value);
	drop_shared(h);
	uint32_t mask = (1u << h->slot_bits) - 1;
	for (size_t i = 0; i < h->n; i++) {
		bool by_itself = is_apart(h, h->v[i].form);
		uint32_t value = h->v[i].value,
			 bit = handles_hash(value, by_itself ? h->apart_bits : h->filter_bits);
		(by_itself ? h->filter_apart : h->filter)[bit >> 6] |= 1ULL << (bit & 63);
		uint32_t k = handles_hash(value, h->slot_bits);
		while (h->slots[k].first && h->slots[k].value != value)
			k = (k + 1) & mask;
		if (!h->slots[k].first)
			h->slots[k] = (struct handles_slot){value, (uint32_t)i + 1};
	}
	return true;
}

size_t handles_find(const struct handles *h, uint32_t value, struct handles_value **first)
{
	uint32_t mask = (1u << h->slot_bits) - 1, k = handles_hash(value, h->slot_bits);
	while (h->slots[k].first && h->slots[k].value != value)
		k = (k + 1) & mask;
	if (!h->slots[k].first)
		return 0;
	size_t i = h->slots[k].first - 1, n = 1;
	while (i + n < h->n && h->v[i + n].value == value)
		n++;
	*first = &h->v[i];
	return n;
}

void handles_note(struct handles *h, struct handles_value *v)
{
	h->forms[v->form].hits[v->class] += !v->hit;
	v->hit = true;
}

// That `hits` or more of what happens `mean` times are seen.
static double tail(double mean, uint32_t hits)
{
	if (mean > 500) {
		double off = (hits - mean) / sqrt(mean);
		return off > 0 ? exp(-off * off / 2) : 1;
	}
	double term = exp(-mean), below = 0;
	for (uint32_t k = 0; k < hits; k++) {
		below += term;
		term *= mean / (k + 1);
	}
	return 1 - below;
}

// What hits no decoy at all is not there by chance, be it one word.
static bool is_sign(const struct handles_tally *t, enum handles_class class, double chance)
{
	double decoys = t->n[HANDLES_DECOY] + 1.0, rate = (t->hits[HANDLES_DECOY] + 0.5) / decoys;
	bool rare = !t->hits[HANDLES_DECOY] && chance >= CHANCE;
	return t->hits[class] && (rare || tail(rate * t->n[class], t->hits[class]) < chance);
}

bool handles_in_use(const struct handles_tally *t, bool calibrated)
{
	bool none = !t->hits[HANDLES_LIVING] && t->n[HANDLES_LIVING] >= NONE_OF;
	if (!t->hits[HANDLES_TARGET])
		return false;
	return (t->hits[HANDLES_LIVING] >= SURE_OF && is_sign(t, HANDLES_LIVING, CHANCE)) ||
	       is_sign(t, HANDLES_TARGET, none && calibrated ? CHANCE_UNUSED : CHANCE);
}
