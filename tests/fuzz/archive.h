// SPDX-License-Identifier: MIT
//
// archive.h - several files as one input: each is headed by "#CTPFILE", a byte that says which, and a newline. A mark and no
// lengths, so that a file may grow or shrink, and the next one stays what it is.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Writes the files of the input below a new folder, in places of a trace directory.
void archive_unpack(const uint8_t *data, size_t size, const char *folder);
