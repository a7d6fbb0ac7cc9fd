// SPDX-License-Identifier: MIT
//
// pass.h - a pass reads the model and adds cases and facts. It is pure: it keeps nothing
// and prints nothing. A new one needs pass_<name>.c and a row in passes.c.
#pragma once

#include "analyze/case/obligations.h"
#include "ctp/rules.h"

struct pass;

// Somebody who did something: closed it, resumed it, holds the lock.
struct case_party {
	const char *did;  // the label: "closed by"; NULL = there is nobody
	const char *call; // "dup2", or NULL
	uint64_t id;      // entity
	uint64_t ticks;   // when; 0 = not known
	uint32_t stack;   // where; 0 = not captured
};

struct case_event {  // of the timeline
	uint64_t ns; // by the trace's clock
	uint64_t id; // entity; 0 = nobody's
	const char *what;
};
#define CASE_EVENTS 6

// What a pass says of one coroutine. case_of_*() fills in what the evidence
// holds; the pass adds what it alone knows. Texts belong to the results (results_text).
struct verdict_case {
	const struct pass *pass;
	struct suspect about; // state is NULL where the station was recycled
	struct obligations proof;
	uint64_t id;       // entity, a coroutine in all rules that speak of waits
	uint32_t stack;    // where it waits, or did it
	const char *label; // before that stack: "waiting"
	const char *doing; // after the label, as "4.2 s in nanosleep"
	struct case_party actor, opener;
	struct case_party maker; // whose call made it, if about.state does not tell
	int32_t fd;              // -1: it is about none
	uint32_t gen;
	unsigned fd_kind;
	const char *fd_name; // "127.0.0.1:8080 <- 127.0.0.1:51122", or NULL
	struct case_event events[CASE_EVENTS];
	unsigned nevents;
	const char *claim;   // instead of the pass's
	const char *message; // what follows the claim in one sentence, or NULL
	const char *refuted; // instead of what the obligations say
	const char *fix;     // instead of the pass's
	bool stackless;      // the id is a frame's address
	bool leads;          // of all in its finding this one is shown
};

// What is merely so.
struct fact {
	char rule[8]; // "CTP003", or "INFO"
	uint64_t count;
	char *message;
};

struct results {
	struct verdict_case *cases;
	size_t ncases, cases_capacity;
	struct fact *facts;
	size_t nfacts, facts_capacity;
	char **texts;
	size_t ntexts, texts_capacity;
	uint64_t *ran; // those that were shown to be lost, and ran: of all one fact tells
	size_t nran, ran_capacity, ran_fact;
};

struct pass {
	const char *rule;  // its id (rules_id)
	const char *title; // "lost wakeup"
	// What is said of the coroutine in the first line, by verdict; NULL: as of the one before.
	const char *claim, *likely, *suspect;
	const char *fix;
	const char *explain;
	bool is_fact; // reports facts, never findings
	bool waits;   // of a coroutine that waits: it stands in one finding of these at most
	bool idle;   // of one that waits for what may never come, as a circle: it is no healthy waiter either
	bool unwell; // of one that goes on, but whose wait is not as it should be: nor is that one
	int (*run)(const struct pass *pass, const struct world *w, struct results *out);
};

extern const struct pass *const passes[];
extern const size_t npasses;
const struct pass *pass_find(const char *rule); // in capitals or not; NULL: there is none

// Found, unless the obligations say that there is nothing, or what is said of a
// snapshot came to nothing, as the coroutine ran after it.
int results_add(struct results *f, const struct verdict_case *c);
// This one was shown to be lost, and ran: one fact tells of all such.
int results_ran_again(struct results *f, uint64_t id);
// A text that lives as long as f; "" if there is no memory.
const char *results_text(struct results *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
int results_fact(struct results *f, const char *rule, uint64_t count, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void results_deinit(struct results *f);

// A coroutine and what it waits for: s->cand if that ended, else s->wait. The
// obligations are the caller's to decide.
void case_of_wait(struct verdict_case *c, const struct pass *pass, const struct suspect *s,
		  struct results *f);
// Something that happened at an instant (spec/cTP.md, 2.6): complete tables and
// the incident itself are its evidence. `did`: the label of the other party.
void case_of_incident(struct verdict_case *c, const struct pass *pass, const struct world *w,
		      const struct image *m, const struct ctp_incident *i, const char *did);
// Adds to the timeline, in the order of time. ticks 0: left out.
void case_event(struct verdict_case *c, uint64_t ticks, uint64_t id, const char *what);
// Who opened its descriptor, and where: `fd` is that one's entry.
void case_opener(struct verdict_case *c, const struct ctp_fd *fd, struct results *f);
// Who made its coroutine, and where: the id and the stack; 0: not known.
uint64_t case_creator(const struct verdict_case *c);
uint32_t case_creator_stack(const struct verdict_case *c);
// How long it had been suspended when the tables were read; 0: it was not, or that is not known.
uint64_t case_suspended_ns(const struct verdict_case *c);
// By so much that may be too long (ctp/late.h); 0: by less than 2 us, or a hundredth.
uint64_t case_late_ns(const struct verdict_case *c);
// Whether CTP021 speaks of this coroutine: it has died of what CTP020 warns of.
bool pass_overflowed(const struct world *w, const struct image *m, uint64_t id);
// Nothing was missed in this image: what P0 says without a witness.
bool case_complete(const struct world *w, const struct image *m);
// P0, where that is all there is to it.
struct obligation case_completeness(bool complete);
