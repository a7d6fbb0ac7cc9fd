// SPDX-License-Identifier: MIT
//
// engine.h - the ctp-run of a process, and what it answers.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include <jansson.h>

enum engine_why {
	ENGINE_NO_PROCESS = 1,
	ENGINE_NONE,   // no ctp-run of this user traces it
	ENGINE_SILENT, // one that may be the one does not answer: it is stopped, or busy
	ENGINE_GONE,   // it went away while it was asked
};

// Asks; *answer is an object with "state" and "text". 0; enum engine_why; -EACCES: it is another user's;
// -errno.
int engine_ask(pid_t pid, const char *verb, const char *arg, int seconds, json_t **answer);
