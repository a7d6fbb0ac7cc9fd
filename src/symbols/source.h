// SPDX-License-Identifier: MIT
//
// source.h - one line of a source file that an object file names.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

// Whose word it is that a file is the source. Not trusted: nobody's.
struct source_teller {
	bool trusted;
	uid_t owner;
};

// Is it a name of a source file of a compiled language, or of a header of the system's?
bool source_is_name(const char *path);
// May the owner of an object file let this file's lines be shown to the caller?
bool source_may_show(const struct source_teller *by, uid_t reader, uid_t owner, mode_t mode);
// The line without blanks around it and fit for a terminal: a new string. NULL: there is none, or it is not
// shown.
char *source_line(const char *path, int number, const struct source_teller *by);
