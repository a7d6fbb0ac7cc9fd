// SPDX-License-Identifier: MIT
//
// What an exec would close is what has FD_CLOEXEC; close_range(2) cannot tell it from the rest.
#include "engine/target/inherited.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

void inherited_drop(const int *but, unsigned n)
{
	DIR *d = opendir("/proc/self/fd");
	for (struct dirent *e; d && (e = readdir(d));) {
		int fd = isdigit((unsigned char)*e->d_name) ? atoi(e->d_name) : -1;
		int flags = fd < 0 || fd == dirfd(d) ? -1 : fcntl(fd, F_GETFD);
		bool kept = flags < 0 || !(flags & FD_CLOEXEC);
		for (unsigned i = 0; i < n; i++)
			kept |= fd == but[i];
		if (!kept)
			close(fd);
	}
	if (d)
		closedir(d);
}
