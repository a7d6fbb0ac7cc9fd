// SPDX-License-Identifier: MIT
//
// preflight.h - whether a program can be traced, found out before it is started.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct preflight {
	char path[PATH_MAX];      // what will be executed
	char loaded[PATH_MAX];    // the ELF file that will run in the end: of a script, its interpreter
	char why[PATH_MAX + 256]; // if it cannot be traced
	char libasan[64];         // soname, if it needs a shared libasan or libtsan
};

enum preflight_verdict { PREFLIGHT_FINE = 0, PREFLIGHT_CANNOT = 126, PREFLIGHT_NOT_FOUND = 127 };

// name: as given, sought in PATH. preload: libctp.so is to be loaded into it.
enum preflight_verdict preflight_program(struct preflight *c, const char *name, bool preload);
