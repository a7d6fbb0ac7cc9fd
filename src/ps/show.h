// SPDX-License-Identifier: MIT
//
// show.h - lists the coroutines of one process, or of one core file. Both return the exit status.
#pragma once

#include <sys/types.h>

#include "ps/settings.h"

int show_process(const struct settings *o, pid_t pid);
int show_core(const struct settings *o, const char *path);
