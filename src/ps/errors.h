// SPDX-License-Identifier: MIT
//
// errors.h - the exit statuses of ctp-ps, and its lines on stderr. Only main.c, show.c and this print
// messages.
#pragma once

#include <sys/types.h>

#include "ps/model/report.h"
#include "ps/settings.h"

enum { EXIT_NOTHING = 1, EXIT_USAGE = 2, EXIT_UNDECIDED = 3 };

// The status if there is nothing to look at. With --lost, 1 says that some are lost, and nothing else does.
int errors_nothing(const struct settings *o);
// The status after a list was written, with the error e, or 0: what stdout still holds is written now.
int errors_flush(int e);
// Why a process cannot be shown: FIND_... or -errno. Returns the status.
int errors_say(const struct settings *o, pid_t pid, int why);
// The same of a core file; why: in words, or NULL.
int errors_say_core(const char *path, int e, const char *why);
// A coroutine that was asked for, and is not there. 0: each is there.
int errors_say_missing(const struct settings *o, const struct report *r);
