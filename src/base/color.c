// SPDX-License-Identifier: MIT
//
// Colours are on for a terminal that can show them, unless an option or the environment says otherwise.
#include "base/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool color_is_terminal(int fd)
{
	const char *term = getenv("TERM");
	return isatty(fd) && !(term && !strcmp(term, "dumb"));
}

bool color_wanted(enum color c, int fd)
{
	const char *no = getenv("NO_COLOR");
	if (c != COLOR_AUTO)
		return c == COLOR_ALWAYS;
	return (!no || !*no) && color_is_terminal(fd);
}
