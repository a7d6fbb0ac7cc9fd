// SPDX-License-Identifier: MIT
//
// file.h - whole files in memory, and paths.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct file_map {
	const unsigned char *data; // NULL if bytes is 0
	size_t bytes;
};

// Opens a regular file for reading, relative to a folder's descriptor or AT_FDCWD. It never waits, neither
// here nor at a read, and opens no device: a path may come from a hostile file. `how`: O_NOFOLLOW, or 0. The
// descriptor, or -errno: -ELOOP: a symbolic link, -EMEDIUMTYPE: no regular file.
int file_open(int folder, const char *name, int how);
// The same for a folder; O_NOFOLLOW as above. -ENOTDIR: it is none.
int file_open_folder(int folder, const char *name, int how);
// Opens what a user names as input, to be read from its beginning: a file, a pipe, a terminal, /dev/null.
// NULL, and *e: -EISDIR; -EMEDIUMTYPE: a device that may have no end (/dev/zero); or -errno.
FILE *file_open_input(const char *path, int *e);
// Is that why a file is not read: what it is, not what is in it, nor that it is not there?
bool file_refused(int e);
// What is wrong, for a message: as strerror, but for those of file_open. e: -errno.
const char *file_why(int e);
// All of a regular file as a string, unless it has more than `most` bytes: -EFBIG. The caller frees *text.
int file_text(int fd, size_t most, char **text, size_t *bytes);

// Maps a regular file read-only. 0 or -errno.
int file_map(struct file_map *m, int fd);
void file_unmap(struct file_map *m);
// Joins with a slash and takes out "." and "..": a new string, or NULL.
// `name` alone if it is absolute or dir is NULL.
char *file_join(const char *dir, const char *name);
// The part of a path behind its last slash.
const char *file_base(const char *path);
