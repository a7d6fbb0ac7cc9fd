// SPDX-License-Identifier: MIT
//
// outfile.h - opens output files that the user named.
#pragma once

#include <stdio.h>

// Opens `path` for writing; flags as O_CREAT | O_APPEND or O_CREAT | O_TRUNC. A symbolic link as the last
// component is refused (-ELOOP): in a directory that others may write to, it may lead to a file of the
// user's that somebody else chose. Followed are the kernel's own links (/proc/PID/fd), and what leads to a
// descriptor of this process (/dev/stderr, /dev/fd/N), which is duplicated. Descriptor or -errno.
int outfile_open(const char *path, int flags);
// The same as an empty file to be written through stdio. 0 or -errno.
int outfile_stream(FILE **to, const char *path);
// Why it could not be opened.
const char *outfile_why(int error);
