// SPDX-License-Identifier: MIT
//
// Only of file systems that the kernel itself serves: another one's process may be the one that is held. What
// ctp-run may not read, the program, with the same rights, may not either.
#include "engine/stored/queues.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

enum { VALUE_MOST = 1 << 16, XFS_MAGIC = 0x58465342 }; // as the kernel limits both

bool queues_local(const char *path)
{
	struct statfs fs;
	if (statfs(path, &fs))
		return false;
	switch ((unsigned long)fs.f_type) {
	case TMPFS_MAGIC:
	case EXT4_SUPER_MAGIC:
	case XFS_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

bool queues_attributes(struct queues *q, const char *path, int number, const struct stat *st)
{
	char where[64];
	if ((!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode)) || !queues_local(path) ||
	    listxattr(path, NULL, 0) <= 0)
		return true;
	char *names = calloc(1, VALUE_MOST + 1), *value = malloc(VALUE_MOST);
	bool ok = names && value;
	ssize_t n = ok ? listxattr(path, names, VALUE_MOST) : 0;
	if (number < 0)
		snprintf(where, sizeof(where), "an attribute of a file that it made");
	else
		snprintf(where, sizeof(where), "an attribute of the file fd %d", number);
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
		ssize_t got = getxattr(path, names + i, value, VALUE_MOST);
		if (got > 0)
			q->bytes(q->ctx, where, (const unsigned char *)value, (size_t)got);
	}
	free(names);
	free(value);
	if (!ok)
		snprintf(q->why, sizeof(q->why), "out of memory");
	return ok;
}
