// SPDX-License-Identifier: MIT
//
// proof.h - the obligations of a verdict. ctp-run answers those that need the
// live process, ctp-analyze adds the rest and concludes, ctp-ps shows the
// answers while they are written. The words are those of "evidence" in
// spec/trace.md and in the reports; the order is the one in which they are printed.
#pragma once

#include <stdbool.h>
#include <string.h>

// id, word, meaning
#define PROOF_EACH(X) \
	X(P0, "P0", "complete") \
	X(P1, "P1", "suspended now") \
	X(P2, "P2", "one known wait") \
	X(P3, "P3", "kernel") \
	X(P4, "P4", "nothing in flight") \
	X(P5, "P5", "had its chance") \
	X(P6A, "P6a", "memory") \
	X(P6B, "P6b", "quiet") \
	X(P7, "P7", "not part of the exit")

#define PROOF_ID(id, word, meaning) PROOF_##id,
enum proof { PROOF_EACH(PROOF_ID) PROOFS };
#undef PROOF_ID

// The answer to one obligation. In JSON: false, null, true.
enum holds { HOLDS_FALSE = -1, HOLDS_OPEN = 0, HOLDS_TRUE = 1 };

static inline const char *proof_word(enum proof p)
{
#define PROOF_WORD(id, word, meaning) [PROOF_##id] = word,
	static const char *const words[PROOFS] = {PROOF_EACH(PROOF_WORD)};
#undef PROOF_WORD
	return words[p];
}

static inline const char *proof_meaning(enum proof p)
{
#define PROOF_MEANING(id, word, meaning) [PROOF_##id] = meaning,
	static const char *const meanings[PROOFS] = {PROOF_EACH(PROOF_MEANING)};
#undef PROOF_MEANING
	return meanings[p];
}

// PROOFS if there is none of that word, or no word.
static inline enum proof proof_find(const char *word)
{
	unsigned p = 0;
	while (p < PROOFS && !(word && !strcmp(word, proof_word(p))))
		p++;
	return p;
}

// ctp-run answers these. P1 and P7 need the tables as they were at the end: they are ctp-analyze's.
static inline bool proof_is_witnessed(enum proof p)
{
	return p != PROOF_P1 && p != PROOF_P7;
}

// What P6b says where it holds, of every coroutine of the program.
#define PROOF_QUIET \
	"every thread sleeps without a timeout and nothing outside can wake one, unless the program is stopped " \
	"and continued"

// A set of obligations, as those that hold.
static inline unsigned proof_bit(enum proof p)
{
	return 1u << p;
}

// Nothing can resume the coroutine: no word in memory references it, or nothing can happen any more.
static inline bool proof_beyond_reach(unsigned held)
{
	return held & (proof_bit(PROOF_P6A) | proof_bit(PROOF_P6B));
}

// All that ctp-run's witness has to show for PROVEN. P5 is not asked for: a loop that never sleeps does
// not make a coroutine reachable. P1 and P7 come from the last tables.
static inline bool proof_witnessed(unsigned held)
{
	unsigned all = proof_bit(PROOF_P0) | proof_bit(PROOF_P2) | proof_bit(PROOF_P3) | proof_bit(PROOF_P4);
	return (held & all) == all && proof_beyond_reach(held);
}
