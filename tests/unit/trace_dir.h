// SPDX-License-Identifier: MIT
//
// trace_dir.h - a folder for one test's traces, which is removed with all that is in it. One at a time.
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char dir[32], trace_dir[64]; // the folder, and a trace in it

// 0 or -1.
static inline int trace_dir_begin(void)
{
	strcpy(dir, "/tmp/ctp-test.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(trace_dir, sizeof(trace_dir), "%s/t", dir);
	return 0;
}

static inline int trace_dir_remove_one(const char *path, const struct stat *st, int flag, struct FTW *f)
{
	(void)st;
	(void)flag;
	(void)f;
	return remove(path);
}

// A test's teardown.
static inline int trace_dir_end(void **state)
{
	(void)state;
	return nftw(dir, trace_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
