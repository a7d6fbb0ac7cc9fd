// SPDX-License-Identifier: MIT
//
// pass.h - a pass: the model in, what it found out. A pass is pure; it keeps
// nothing and prints nothing. To add one: a row in passes.c and a body.
#pragma once

#include "analyze/obligations.h"

struct pass;

// What a pass says of one coroutine.
struct verdict_case {
	const struct pass *pass;
	struct suspect about;
	struct obligations proof;
};

// What is merely so.
struct fact {
	char rule[8]; // "CTP003", or "INFO"
	uint64_t count;
	char *message;
};

struct found {
	struct verdict_case *cases;
	size_t ncases, cases_capacity;
	struct fact *facts;
	size_t nfacts, facts_capacity;
};

struct pass {
	const char *rule;  // "CTP001"
	const char *title; // "lost wakeup"
	const char *claim; // what is said of the coroutine in the first line
	const char *fix;
	const char *explain;
	bool is_fact; // reports facts, never findings
	int (*run)(const struct pass *pass, const struct world *w, struct found *out);
};

extern const struct pass passes[];
extern const size_t npasses;
const struct pass *pass_find(const char *rule);

int pass_lost_wakeup(const struct pass *pass, const struct world *w, struct found *out);
int pass_removed(const struct pass *pass, const struct world *w, struct found *out);
int pass_parked(const struct pass *pass, const struct world *w, struct found *out);
int pass_coverage(const struct pass *pass, const struct world *w, struct found *out);

int found_case(struct found *f, const struct verdict_case *c);
int found_fact(struct found *f, const char *rule, uint64_t count, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void found_deinit(struct found *f);
