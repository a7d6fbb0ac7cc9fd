// SPDX-License-Identifier: MIT
//
// serve.h - ctp-run as the engine of a program that was started with LD_PRELOAD=libctp.so
// alone: libctp.so has made the region and started ctp-run.
#pragma once

#include "engine/start/options.h"

// Never says a word. Returns the exit status, which nobody waits for.
int serve(const struct options *o);
// The arguments of a process, from /proc. The strings lie in *room; both are the caller's to free.
char **serve_command(int pid, char **room);
