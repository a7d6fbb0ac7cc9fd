// SPDX-License-Identifier: MIT
//
// The table of passes, in the order of their rules. CONTRIBUTING.md says what else a new one needs.
#include <string.h>

#include "analyze/case/pass.h"

extern const struct pass pass_lost_wakeup, pass_removed, pass_parked, pass_missed_edge, pass_oneshot,
	pass_reused, pass_stale, pass_delivered, pass_wrong_waiter, pass_running, pass_ended, pass_released,
	pass_leak, pass_cycle, pass_starved, pass_blocking, pass_lock, pass_held, pass_highwater,
	pass_overflow, pass_busy, pass_herd, pass_badfd, pass_set_closed, pass_forked, pass_timer,
	pass_abandoned, pass_never_started, pass_unresumable, pass_coverage, pass_signal;

const struct pass *const passes[] = {
	&pass_lost_wakeup, &pass_removed,  &pass_parked,    &pass_missed_edge,   &pass_oneshot,
	&pass_reused,      &pass_stale,    &pass_delivered, &pass_wrong_waiter,  &pass_running,
	&pass_ended,       &pass_released, &pass_leak,      &pass_never_started, &pass_cycle,
	&pass_starved,     &pass_blocking, &pass_lock,      &pass_held,          &pass_highwater,
	&pass_overflow,    &pass_busy,     &pass_herd,      &pass_badfd,         &pass_set_closed,
	&pass_forked,      &pass_timer,    &pass_abandoned, &pass_unresumable,   &pass_coverage,
	&pass_signal,
};
const size_t npasses = sizeof(passes) / sizeof(*passes);

const struct pass *pass_find(const char *rule)
{
	for (size_t i = 0; i < npasses; i++)
		if (!strcasecmp(passes[i]->rule, rule))
			return passes[i];
	return NULL;
}
