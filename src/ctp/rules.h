// SPDX-License-Identifier: MIT
//
// rules.h - the rules by number and by id. An incident, a candidate's suspect
// and a line of witness.jsonl or slices.jsonl carry the number; reports and
// command lines have the id, "CTP" and three digits. Numbers are never reused.
#pragma once

// name, the digits of its id
#define RULES_EACH(X) \
	X(LOST_WAKEUP, 001) \
	X(REMOVED, 002) \
	X(PARKED, 003) \
	X(MISSED_EDGE, 004) \
	X(ONESHOT, 005) \
	X(REUSED, 006) \
	X(STALE, 007) \
	X(DELIVERED, 008) \
	X(WRONG_WAITER, 009) \
	X(RUNNING, 010) \
	X(ENDED, 011) \
	X(RELEASED, 012) \
	X(LEAK, 013) \
	X(NEVER_STARTED, 014) \
	X(CYCLE, 015) \
	X(STARVED, 016) \
	X(BLOCKING, 017) \
	X(LOCK, 018) \
	X(HELD, 019) \
	X(HIGHWATER, 020) \
	X(OVERFLOW, 021) \
	X(BUSY, 022) \
	X(HERD, 023) \
	X(BADFD, 024) \
	X(SET_CLOSED, 025) \
	X(FORKED, 026) \
	X(TIMER, 027) \
	X(ABANDONED, 028) \
	X(UNRESUMABLE, 029) \
	X(COVERAGE, 030) \
	X(SIGNAL, 031)

// 1 before the digits, so that they are no octal number.
#define RULES_NUMBER(name, digits) RULE_##name = 1##digits - 1000,
enum ctp_rule { RULE_NONE, RULES_EACH(RULES_NUMBER) RULES };
#undef RULES_NUMBER

#define RULES_ID_BYTES 8
// By number: "CTP005"; empty where no rule has the number.
extern const char rules_id[RULES][RULES_ID_BYTES];
// 5 of "CTP005"; of a number that is no rule's, too, as a newer engine may have written it. 0: it is no id.
unsigned rules_number(const char *id);
