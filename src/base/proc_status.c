// SPDX-License-Identifier: MIT
#include "base/proc_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long proc_status_number(pid_t pid, const char *key, bool last)
{
	char path[40], line[512];
	long value = -1;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	FILE *f = fopen(path, "re");
	while (f && value < 0 && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		char *at = line + strlen(key), *end;
		for (long v; v = strtol(at, &end, 10), end != at && (last || value < 0); at = end)
			value = v;
	}
	if (f)
		fclose(f);
	return value;
}
