// SPDX-License-Identifier: MIT
//
// It has no tables and no history, so no rule can be tried on it. That nothing leads to a coroutine can be
// found in its memory, which ctp-ps --lost does; its exit statuses mean the same as ours.
#include "analyze/untraced.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"

int untraced_report(const char *folder)
{
	char tool[PATH_MAX + 32], kernel[PATH_MAX];
	struct stat st;
	snprintf(kernel, sizeof(kernel), "%s/fdinfo", folder);
	if (stat(kernel, &st))
		return -errno;
	int e = beside_find("ctp-ps", "ps", tool, sizeof(tool));
	if (e)
		return e;
	printf("Saved of a program that ctp-run had not started: without its history no rule can be tried.\n"
	       "What nothing in its memory leads to, as ctp-ps --lost finds it:\n");
	fflush(stdout);
	execl(tool, tool, "--lost", "--", folder, (char *)NULL);
	return -errno;
}
