// SPDX-License-Identifier: MIT
//
// reach_answers.h - the answer for P6a of each suspect, once it is known what leads where.
#pragma once

#include "engine/inspect/inspect.h"
#include "engine/memory/hidden_holder.h"
#include "engine/memory/opaque.h"
#include "engine/memory/word_names.h"
#include "search/search.h"

#define REACH_TOO_LITTLE "memory was searched, but ctp-run had too little of its own to judge it"

struct reach_answers {
	struct inspection *l;
	struct search *s; // nodes: suspects
	const struct disguised *disguised;
	struct word_names names;
	char **reported;               // by group: the first word that references it
	bool *second;                  // by suspect: nothing but words in disguise led to it
	struct hidden_holder *holders; // by suspect
	struct opaque opaque;          // of all to whom nothing leads
};

// Once the groups are known. False: out of memory.
bool reach_answers_begin(struct reach_answers *r);
// Once the graph has been spread for the last time.
void reach_answers(struct reach_answers *r);
void reach_answers_deinit(struct reach_answers *r);
