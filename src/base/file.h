// SPDX-License-Identifier: MIT
//
// file.h - whole files in memory, and paths.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct file_map {
	const unsigned char *data; // NULL if bytes is 0
	size_t bytes;
};

// Maps a regular file read-only. 0 or -errno.
int file_map(struct file_map *m, const char *path);
void file_unmap(struct file_map *m);
// Joins with a slash and takes out "." and "..": a new string, or NULL.
// `name` alone if it is absolute or dir is NULL.
char *file_join(const char *dir, const char *name);
// The part of a path behind its last slash.
const char *file_base(const char *path);
