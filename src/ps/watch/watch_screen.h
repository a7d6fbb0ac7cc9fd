// SPDX-License-Identifier: MIT
//
// watch_screen.h - the terminal.
#pragma once

#include "ps/watch/watch_keys.h"

// NULL if there is one on which a screen can be shown; else why not, and the way out.
const char *watch_screen_missing(void);
int watch_screen_open(bool color, bool *utf8); // 0 or -ENOTTY
void watch_screen_close(void);
struct watch_size watch_screen_size(void);
void watch_screen_draw(const struct watch_page *p);
int watch_screen_key(void); // WATCH_KEY_NONE: none is there now
// The signal that asked for the end, or 0.
int watch_screen_signal(void);
