// SPDX-License-Identifier: MIT
#include "base/beside.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int beside_find(const char *name, const char *room, char *out, size_t bytes)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n <= 0)
		return -ENOENT;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	if (snprintf(out, bytes, "%s/%s", self, name) < (int)bytes && !access(out, X_OK))
		return 0;
	if (snprintf(out, bytes, "%s/../%s/%s", self, room, name) < (int)bytes && !access(out, X_OK))
		return 0;
	return -ENOENT;
}
