// SPDX-License-Identifier: MIT
//
// word_names.h - how a report names a word that leads to a coroutine.
#pragma once

#include "engine/inspect/inspect.h"
#include "engine/memory/owners.h"
#include "search/disguise/disguised.h"

struct word_names {
	const struct inspection *l;
	const struct disguised *disguised; // words that it has found are named with their form
	struct owners owners;              // of stacks; made when first asked for
};

// "the word at links+0x10, as a complement,"
void word_names_word(struct word_names *w, uint64_t at, char *text, size_t bytes);
void word_names_deinit(struct word_names *w);
