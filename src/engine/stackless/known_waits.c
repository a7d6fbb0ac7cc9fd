// SPDX-License-Identifier: MIT
//
// The awaiter decides in which form a handle is kept, so coroutines that are suspended at the same place are
// of one kind. A registration's data is given back by the kernel, so what it leads to can be resumed by it.
// A word in memory may be a copy that nobody uses any more: a queue of what was resumed last is full of them.
// There is none of a coroutine that was not resumed since it was made. Of others it proves something only of
// a coroutine that was itself found by a word, which was taken away without another one being put there.
#include "engine/stackless/known_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"

enum { PLACES_MOST = 65536, WORDS_MOST = 4096, OF_ONE_OFFSET = 2 };
enum { NO_WORD, PERHAPS_LEFT, IN_USE };

static bool is_before(const struct known_wait *a, const struct known_wait *b)
{
	return a->resume < b->resume || (a->resume == b->resume && a->index < b->index);
}

static bool is_same(const struct known_wait *a, const struct known_wait *b)
{
	return a->resume == b->resume && a->index == b->index;
}

static size_t at_of(const struct known_waits *k, const struct known_wait *p)
{
	return FIRST_NOT(k->n, i, is_before(&k->v[i].at, p));
}

static struct known_place *place(struct known_waits *k, const struct known_wait *p)
{
	size_t at = at_of(k, p);
	if (at < k->n && is_same(&k->v[at].at, p))
		return &k->v[at];
	if (k->n >= PLACES_MOST || GROW(k->v, k->n, k->room))
		return NULL;
	memmove(k->v + at + 1, k->v + at, (k->n - at) * sizeof(*k->v));
	k->v[at] = (struct known_place){.at = *p};
	k->n++;
	return &k->v[at];
}

void known_waits_sure(struct known_waits *k, struct known_wait p)
{
	struct known_place *there = place(k, &p);
	if (there)
		there->sure = true;
}

void known_waits_armed(struct known_waits *k, struct known_wait p)
{
	struct known_place *there = place(k, &p);
	if (there)
		there->armed = true;
}

// Two of a kind are enough; those that were not resumed are better.
void known_waits_word(struct known_waits *k, const struct known_word *w)
{
	struct known_word *worse = NULL;
	size_t same = 0;
	for (size_t i = 0; i < k->nwords; i++) {
		struct known_word *o = &k->words[i];
		if (!is_same(&o->place, &w->place) || o->offset != w->offset || o->single != w->single)
			continue;
		if (o->coroutine == w->coroutine && o->created == w->created) {
			o->at = w->at;
			o->fresh |= w->fresh;
			o->gone = false;
			return;
		}
		same++;
		worse = o->fresh ? worse : o;
	}
	if (same < OF_ONE_OFFSET) {
		if (k->nwords < WORDS_MOST && !GROW(k->words, k->nwords, k->words_room))
			k->words[k->nwords++] = *w;
	} else if (worse && w->fresh) {
		*worse = *w;
	}
}

void known_waits_left(struct known_waits *k, uint64_t at)
{
	for (size_t i = 0; i < k->nwords; i++)
		k->words[i].fresh &= k->words[i].at != at;
}

// A single word may be left of something that was there before, unless another one leads to another
// coroutine in the same way.
static int by_words(const struct known_waits *k, const struct known_wait *p)
{
	int best = NO_WORD;
	for (size_t i = 0; i < k->nwords; i++) {
		const struct known_word *a = &k->words[i];
		if (!is_same(&a->place, p))
			continue;
		int is = a->single ? (a->fresh ? IN_USE : PERHAPS_LEFT) : NO_WORD;
		for (size_t j = 0; j < i; j++) {
			const struct known_word *b = &k->words[j];
			if (!is_same(&b->place, p) || b->offset != a->offset || b->coroutine == a->coroutine)
				continue;
			int both = a->fresh && b->fresh ? IN_USE : PERHAPS_LEFT;
			is = both > is ? both : is;
		}
		best = is > best ? is : best;
	}
	return best;
}

enum known_how known_waits_how(const struct known_waits *k, struct known_wait p, bool intact)
{
	size_t at = at_of(k, &p);
	bool told = at < k->n && is_same(&k->v[at].at, &p);
	int words = told && k->v[at].sure ? IN_USE : by_words(k, &p);
	if (words == NO_WORD)
		return KNOWN_NEVER;
	if (told && k->v[at].armed)
		return KNOWN_ARMED;
	return words == IN_USE || intact ? KNOWN_FOUND : KNOWN_LEFT;
}

const char *known_how_name(enum known_how how)
{
	static const char *const names[] = {
		[KNOWN_NEVER] = "never",   [KNOWN_LEFT] = "left", [KNOWN_ARMED] = "armed",
		[KNOWN_UNUSED] = "unused", [KNOWN_ENDS] = "ends", [KNOWN_FOUND] = "found"};
	return names[how];
}

void known_waits_deinit(struct known_waits *k)
{
	free(k->v);
	free(k->words);
	*k = (struct known_waits){0};
}
