// SPDX-License-Identifier: MIT
//
// All facts that rest on the whole report, in the order in which they are told. Those of one rule are its
// pass's.
#include "analyze/facts/facts.h"

#include <inttypes.h>

#include "analyze/facts/last_used.h"
#include "analyze/facts/parked_longer.h"
#include "analyze/facts/parked_never.h"
#include "analyze/facts/parked_places.h"
#include "analyze/facts/silent_peers.h"
#include "analyze/facts/stackless_destroyed.h"
#include "analyze/facts/stackless_waits.h"
#include "analyze/facts/taken.h"
#include "analyze/facts/undecided_waits.h"
#include "analyze/facts/unheard_waits.h"

// Those that are parked, and where the longest of them stand.
static int say_parked(struct report *r)
{
	char places[PARKED_PLACES_BYTES];
	int e = parked_places_text(r, places, sizeof(places));
	return e ? e :
		   results_fact(&r->results, rules_id[RULE_PARKED], r->parked,
				"%" PRIu64 " coroutine%s suspended without a known wait: parked%s", r->parked,
				r->parked == 1 ? " is" : "s are", places);
}

int facts_counts(struct report *r, bool parked)
{
	uint64_t destroyed = r->world->counts.destroyed;
	int e = 0;
	if (parked && r->healthy)
		e = results_fact(&r->results, "INFO", r->healthy,
				 "%" PRIu64 " coroutine%s on live descriptors: healthy", r->healthy,
				 r->healthy == 1 ? " waits" : "s wait");
	if (!e && parked && r->parked)
		e = say_parked(r);
	if (!e && destroyed)
		e = results_fact(&r->results, "INFO", destroyed,
				 "%" PRIu64 " coroutine%s destroyed while suspended%s", destroyed,
				 destroyed == 1 ? " was" : "s were",
				 r->world->counts.finished ? "" : ", or had ended with a last switch");
	return e;
}

int facts_make(struct report *r, const struct report_settings *settings)
{
	bool parked = report_selects_rule(settings, RULE_PARKED);
	int e = facts_counts(r, parked);
	e = e ? e : last_used_facts(r, parked);
	e = e || !parked ? e : parked_longer_facts(r);
	e = e || !parked ? e : silent_peers_facts(r);
	e = e || !parked ? e : unheard_waits_facts(r);
	e = e || !parked ? e : undecided_waits_facts(r);
	e = e || !parked ? e : parked_never_facts(r);
	if (!e && report_selects_rule(settings, RULE_WRONG_WAITER))
		e = taken_facts(r);
	e = e ? e : stackless_waits_facts(r);
	return e ? e : stackless_destroyed_facts(r);
}
