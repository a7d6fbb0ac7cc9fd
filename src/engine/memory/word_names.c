// SPDX-License-Identifier: MIT
//
// On a stack a word belongs to a coroutine or a thread, in static storage to a variable; elsewhere its
// mapping is all that is known of it.
#include "engine/memory/word_names.h"

#include <stdio.h>
#include <string.h>

#include "engine/target/names.h"

static void name_place(struct word_names *w, uint64_t at, char *text, size_t bytes)
{
	const struct inspection *l = w->l;
	char symbol[160];
	const struct maps_line *m = proc_maps_find(&l->maps, at);
	if (!w->owners.v)
		owners_init(&w->owners, l);
	uint64_t owner = owners_find(&w->owners, at);
	if (owner) {
		snprintf(text, bytes, "the word at 0x%llx on the stack of coroutine %llu",
			 (unsigned long long)at, (unsigned long long)owner);
		return;
	}
	for (size_t i = 0; m && i < l->tasks.n; i++)
		if (l->tasks.v[i].sp >= m->lo && l->tasks.v[i].sp < m->hi && at >= l->tasks.v[i].sp - 128) {
			snprintf(text, bytes, "the word at 0x%llx on the stack of thread %d (live)",
				 (unsigned long long)at, l->tasks.v[i].tid);
			return;
		}
	if (m && !signals_late(l->deadline_ns) && names_static(l->pid, &l->maps, at, symbol, sizeof(symbol)))
		snprintf(text, bytes, "the word at %s", symbol);
	else
		snprintf(text, bytes, "the word at 0x%llx (%s)", (unsigned long long)at,
			 !m || !*m->path            ? "memory" :
			 !strcmp(m->path, "[heap]") ? "heap" :
						      m->path);
}

static void name_key(struct word_names *w, uint64_t at, char *text, size_t bytes)
{
	char key[96] = "glibc's pointer guard";
	if (at)
		name_place(w, at, key, sizeof(key));
	snprintf(text, bytes, ", xored with %s,", key);
}

void word_names_word(struct word_names *w, uint64_t at, char *text, size_t bytes)
{
	enum disguise form = disguised_at(w->disguised, at);
	name_place(w, at, text, bytes);
	size_t n = strlen(text);
	if (form == DISGUISE_XOR)
		name_key(w, disguised_hit_at(w->disguised, at)->key, text + n, bytes - n);
	else if (form != DISGUISE_NONE)
		snprintf(text + n, bytes - n, ", %s,", disguise_text(form));
}

void word_names_deinit(struct word_names *w)
{
	owners_deinit(&w->owners);
}
