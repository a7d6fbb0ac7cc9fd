// SPDX-License-Identifier: MIT
//
// The keys and the columns, in short; the manual page has the full text.
#include "ps/watch/watch_view.h"

void watch_help_page(struct watch_page *text)
{
	static const char *const lines[] = {
		"Keys",
		"  arrows PgUp PgDn Home End  move; the cursor stays with its coroutine",
		"  Enter                      its stack, last events and findings; a group opens",
		"  < >                        sort by the column to the left, to the right",
		"  I N S W F T X P L          sort by ID or N, ENTRY (name), STATE (findings",
		"                             first), WHERE, WAITS FOR (fd), SINCE (time),",
		"                             SW/S, CPU%, SLICE (longest)",
		"  r                          the other way round",
		"  /                          those in whose name, state, descriptors or stack",
		"                             a text is found",
		"  g                          one by one; or those of one function, state, stack",
		"  space                      pause",
		"  d + -                      how long from one look to the next",
		"  ? F1, q F10                this, quit; Esc goes back",
		"Columns",
		"  WHERE   the innermost line of the program's own code on the saved stack",
		"  SINCE   how long it has been as it is",
		"  SW/S    how often it was entered, a second, since the look before: exact",
		"  CPU%    of one CPU: an estimate, from up to 50 samples a second",
		"  SLICE   the longest that it was seen to run without a switch: at least that",
		"  STACK   how much of its stack was ever in use: at most that",
		"  STATE   closed: what it waits for was closed; !: a finding, Enter shows it",
		"  certain so far: nothing to be seen speaks against it; ctp-analyze decides",
		"  -       not known",
	};
	watch_page_clear(text);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		watch_page_line(text);
		watch_page_put(text, *lines[i] == ' ' ? WATCH_PLAIN : WATCH_BOLD, "%s", lines[i]);
	}
}
