// SPDX-License-Identifier: MIT
//
// The keys and the columns, in short; the manual page has the full text.
#include "ps/watch/watch_view.h"

void watch_help_page(struct watch_page *text)
{
	static const char *const lines[] = {
		"Keys",
		"  arrows PgUp PgDn Home End  move; the cursor stays with its coroutine",
		"  Enter                      show its stack, last events, findings; open a group",
		"  < >                        sort by the column to the left, to the right",
		"  I N S W F T X P L          sort by ID or N, ENTRY (name), STATE (findings",
		"                             first), WHERE, WAITS FOR (fd), SINCE (time),",
		"                             SW/S, CPU%, SLICE (longest)",
		"  r                          reverse the order",
		"  /                          show only those whose name, state, descriptors or",
		"                             stack contain a text",
		"  g                          single coroutines, or groups with the same",
		"                             function, state and stack",
		"  space                      pause",
		"  d + -                      set the time between two refreshes",
		"  ? F1, q F10                this help, quit; Esc goes back",
		"Columns",
		"  WHERE   the innermost line of the program's own code on the saved stack",
		"  SINCE   time in this state; after >, how long each refresh has seen it so",
		"  SW/S    how often it was resumed a second, since the last refresh; exact",
		"  CPU%    of one CPU; an estimate from up to 50 samples a second",
		"  SLICE   the longest time seen without a switch; a lower bound",
		"  STACK   how much of its stack was ever used; an upper bound",
		"  STATE   closed: what it waits for was closed; !: a finding, which Enter shows",
		"  proven so far: all that can be checked now holds; ctp-analyze decides",
		"  -       unknown",
	};
	watch_page_clear(text);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		watch_page_line(text);
		watch_page_put(text, *lines[i] == ' ' ? WATCH_PLAIN : WATCH_BOLD, "%s", lines[i]);
	}
}
