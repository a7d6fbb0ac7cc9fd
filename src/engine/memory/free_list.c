// SPDX-License-Identifier: MIT
//
// Free lists of coroutines. All members of a list are laid out alike: the word that references a member
// points `shift` bytes past the start of its stack, or of its context, and the link to the next member lies
// `link` bytes past that place. A list with a living coroutine in it is no free list: it may be the list of
// all coroutines. Nor is a list whose first word lies in a living coroutine's memory.
#include "engine/memory/free_list.h"

#include <stdlib.h>

#include "base/search.h"
#include "engine/target/proc.h"

enum { BEFORE = 8, BEHIND = 64, LONGEST = 1 << 16 }; // words around where a list leads to; members

struct by_key {
	uint64_t key;
	const struct free_list_coroutine *c;
};

struct free_lists {
	pid_t pid;
	struct by_key *by[FREE_LIST_KEYS]; // sorted; of one key those that live come first
	size_t n;
	struct free_list_member *members;
};

// How a list is linked.
struct links {
	unsigned key;
	uint64_t shift, link;
};

static int rank(const struct free_list_coroutine *c)
{
	return c->living ? 0 : c->member != FREE_LIST_NO_MEMBER ? 1 : 2;
}

static int by_key(const void *a, const void *b)
{
	const struct by_key *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return rank(x->c) - rank(y->c);
}

static bool word(const struct free_lists *f, uint64_t at, uint64_t *value)
{
	return proc_peek(f->pid, at, value, sizeof(*value), false) == sizeof(*value);
}

// The coroutine to whose memory a word leads in the manner of the list; NULL: to none.
static const struct free_list_coroutine *led_to(const struct free_lists *f, const struct links *l,
						uint64_t value)
{
	const struct by_key *by = f->by[l->key];
	uint64_t key = value - l->shift;
	size_t i = FIRST_NOT(f->n, k, by[k].key < key);
	return key && i < f->n && by[i].key == key ? by[i].c : NULL;
}

// The members from `first` to the null at the list's end; 0: it is no free list. mark: they are.
static size_t follow(const struct free_lists *f, const struct free_list_member *first, const struct links *l,
		     bool mark)
{
	uint64_t at = first->value + l->link, value = at;
	size_t n = 1;
	for (; word(f, at, &value) && value && n < LONGEST; n++, at = value + l->link) {
		const struct free_list_coroutine *c = led_to(f, l, value);
		if (!c || c->living)
			return 0;
		struct free_list_member *m = c->member == FREE_LIST_NO_MEMBER ? NULL : &f->members[c->member];
		if (m && (m->ended == first->ended || m->at != at))
			return 0; // a wait queue, or something else leads there
		if (m && mark)
			m->listed = true;
	}
	return value || n == LONGEST ? 0 : n;
}

static bool begins_list(const struct free_lists *f, struct free_list_member *m, const struct links *l)
{
	const struct free_list_coroutine *before = led_to(f, l, m->at - l->link);
	if ((before && (before->living || before->member != FREE_LIST_NO_MEMBER)) ||
	    follow(f, m, l, false) < 2)
		return false;
	m->listed = true;
	follow(f, m, l, true);
	return true;
}

// Where in its memory may the link stand? Where a word leads to another of its kind.
static void find_links(const struct free_lists *f, struct free_list_member *m, struct links *l)
{
	uint64_t words[BEFORE + BEHIND], from = m->value - BEFORE * sizeof(*words);
	size_t n = proc_peek(f->pid, from, words, sizeof(words), false) / sizeof(*words);
	if (!n) { // it begins where its mapping does
		from = m->value;
		n = proc_peek(f->pid, from, words, sizeof(words), false) / sizeof(*words);
	}
	for (size_t i = 0; i < n; i++) {
		l->link = from + i * sizeof(*words) - m->value;
		if (words[i] && led_to(f, l, words[i]) && begins_list(f, m, l))
			return;
	}
}

// An array, with members only in a run of two or more.
static void find_array(const struct free_lists *f, struct free_list_member *m, const struct links *l)
{
	const struct free_list_coroutine *c = NULL;
	uint64_t at = m->at - sizeof(uint64_t), value;
	size_t n = 1;
	if (word(f, at, &value) && value && led_to(f, l, value))
		return; // it is not the first
	for (at = m->at + sizeof(value); word(f, at, &value) && value && (c = led_to(f, l, value)); n++) {
		if (c->member == FREE_LIST_NO_MEMBER || f->members[c->member].at != at ||
		    f->members[c->member].ended == m->ended)
			return;
		at += sizeof(value);
	}
	for (at -= sizeof(value); n > 1 && at >= m->at; at -= sizeof(value))
		if (word(f, at, &value) && (c = led_to(f, l, value)) && c->member != FREE_LIST_NO_MEMBER)
			f->members[c->member].listed = true;
}

static bool sort(struct free_lists *f, const struct free_list_coroutine *all)
{
	for (unsigned k = 0; k < FREE_LIST_KEYS; k++) {
		f->by[k] = calloc(f->n + 1, sizeof(*f->by[k]));
		if (!f->by[k])
			return false;
		for (size_t i = 0; i < f->n; i++)
			f->by[k][i] = (struct by_key){all[i].keys[k], &all[i]};
		if (f->n)
			qsort(f->by[k], f->n, sizeof(*f->by[k]), by_key);
	}
	return true;
}

void free_list_find(pid_t pid, const struct free_list_coroutine *all, size_t n,
		    struct free_list_member *members)
{
	struct free_lists f = {.pid = pid, .n = n, .members = members};
	bool sorted = sort(&f, all);
	for (size_t i = 0; sorted && i < n; i++) {
		struct free_list_member *m = all[i].member == FREE_LIST_NO_MEMBER ? NULL :
										    &members[all[i].member];
		for (unsigned k = 0; m && k < FREE_LIST_KEYS && !m->listed; k++) {
			struct links l = {.key = k, .shift = m->value - all[i].keys[k]};
			find_links(&f, m, &l);
			if (!m->listed)
				find_array(&f, m, &l);
		}
	}
	for (unsigned k = 0; k < FREE_LIST_KEYS; k++)
		free(f.by[k]);
}
