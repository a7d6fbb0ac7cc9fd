// SPDX-License-Identifier: MIT
//
// A second file with the header's inline functions.
#include "events_off.h"

C_NAMES
LOOP called(void)
{
	__asm__ volatile("");
}

void other_file(void);
void other_file(void)
{
	in_header(1);
}
C_NAMES_END
