// SPDX-License-Identifier: MIT
//
// obligations.h - P0 to P7 of one coroutine and one descriptor, and the verdict that
// follows from them.
#pragma once

#include "trace/world.h"

enum verdict {
	VERDICT_NONE,
	VERDICT_INCONCLUSIVE,
	VERDICT_SUSPECT,
	VERDICT_LIKELY,
	VERDICT_PROVEN,
};
// What may not be missing where a verdict says that nothing was missed (P0).
#define OBLIGATIONS_GAPS \
	(CTP_GAP_STATIONS | CTP_GAP_CANDS | CTP_GAP_FDS | CTP_GAP_THREADS | CTP_GAP_URING | CTP_GAP_MEMORY | \
	 CTP_GAP_BLIND | CTP_GAP_OWN_FDS)
extern const char *const verdict_words[]; // lower case, by verdict

// What is judged. `wait` is NULL if its last slice left none, `witness` if nobody looked.
struct suspect {
	const struct world *world;
	const struct image *image;
	const struct ctp_state *state;
	const struct ctp_cand *cand;
	const struct ctp_wait *wait;
	const struct witness *witness;
	int32_t fd; // where none of these says it, and gen is not 0: what was learned to wake it
	uint32_t gen;
	bool through; // `cand` is the end of the epoll set through which it waits, not of what it waits for
};

struct obligation {
	enum holds holds;
	const char *text;
};

// Another descriptor, open, that leads to the coroutine as well. Partner: struct beside in the engine.
enum beside {
	BESIDE_NONE,
	BESIDE_AWAY,  // its registration leads there
	BESIDE_THERE, // and the coroutine may wait for it as it does for this one: SUSPECT at most
};

struct obligations {
	struct obligation items[PROOFS];
	const char *closure;   // "unreachable", "quiet" or NULL
	const char *also_open; // a way that the tables know of, or NULL
	bool queued;           // an event woke it, and its turn had not come at the last look
	bool by_hand;          // the program has resumed such a waiter before
	bool weak;             // it said EAGAIN; that the registration is its own is not known
	bool told;      // EAGAIN of this descriptor alone told it to wait, and it was registered for that
	bool pooled;    // it waits for whatever comes
	bool cancelled; // it was put into a pool of the program's own, or is discarded: SUSPECT at most
	bool late;      // ctp-run attached while the program ran
	enum beside beside;
	enum verdict verdict;
};

// Those that hold, as a set of proof_bit().
unsigned obligations_held(const struct obligations *o);
void obligations_decide(struct obligations *o, const struct suspect *s);

// Those that do not depend on what became of the descriptor: P0, P1, what P6a needs, and
// the time after which the run was only ending (ns, 0 = none). For obligations_stuck.c.
void obligations_complete(struct obligations *o, const struct suspect *s);
void obligations_suspended(struct obligations *o, const struct suspect *s);
void obligations_reach(struct obligations *o, const struct suspect *s);
uint64_t obligations_end(const struct suspect *s);
// Had its own threads nothing in flight any more, by then? Another process that shares a set may have.
bool obligations_passed(const struct suspect *s, uint64_t ns);
// P7: of what began at `ns`, the time (ns) of a signal that may have told the program to end; 0 = none.
uint64_t obligations_asked(const struct suspect *s, uint64_t ns);
#define OBLIGATIONS_ASKED "the program had taken SIGHUP, SIGINT or SIGQUIT, and may be ending"
// P7: had a listener been closed by then, and none begun to listen since? A program that drains may discard
// its coroutines. Not if F was accepted later, and a listener is open still.
bool obligations_draining(const struct suspect *s, const struct ctp_fd *f, uint64_t at);

// That nothing moves any more is the end of all who wait for that descriptor. But pools, too, are quiet when
// there is no work: by that alone it must be certain (`told`) for what it waits, else P2 is open.
void obligations_quiet(struct obligations *o, bool told);
// By which of P6 nobody else can resume it, where one holds.
const char *obligations_closure(const struct obligations *o);
// Can nobody but the coroutine be meant by the registration of `fd`? Its data leads there, or names the
// descriptor only.
bool obligations_names(const struct ctp_fd *f, int32_t fd, const struct ctp_state *c);

// What the engine saw of another descriptor, at least `is`.
void obligations_beside(struct obligations *o, const struct suspect *s, enum beside is);

// Of a coroutine whose descriptor is open (cand is NULL): by the witness alone. The verdict
// is the pass's to conclude; VERDICT_NONE says that there is none, SUSPECT that there may be.
void obligations_stuck(struct obligations *o, const struct suspect *s);
