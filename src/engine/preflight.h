// SPDX-License-Identifier: MIT
//
// check.h - can this program be traced? Found out before it is started.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct check {
	char path[PATH_MAX];   // what will be executed
	char loaded[PATH_MAX]; // the ELF file that will run in the end: of a script, its interpreter
	char why[PATH_MAX + 256]; // if it cannot be traced
	char libasan[64];      // soname, if it needs a shared libasan or libtsan
};

enum check_verdict { CHECK_FINE = 0, CHECK_CANNOT = 126, CHECK_NOT_FOUND = 127 };

// name: as given, sought in PATH. preload: libctp.so is to be loaded into it.
enum check_verdict check_program(struct check *c, const char *name, bool preload);
