// SPDX-License-Identifier: MIT
//
// color.h - whether to write in colors: --color, NO_COLOR, and where it goes.
#pragma once

#include <stdbool.h>

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER }; // in the order of --color=auto|always|never

// fd: where it is written to; -1: to a file.
bool color_wanted(enum color c, int fd);
// Can it show colors, and erase what was written?
bool color_is_terminal(int fd);
