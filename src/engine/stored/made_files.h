// SPDX-License-Identifier: MIT
//
// made_files.h - what the program keeps in files that it has closed: in their names, the targets of links,
// their contents and their attributes.
#pragma once

#include "engine/stored/queues.h"

// Of files that were changed since the program began, whose paths, or whose directories', lie in its memory
// or in the program's file, or where it works. `skip`: where no path is looked for (sorted, disjoint). `text`
// is told of names, `number` of numbers that are written out in files, q->bytes of what is no text. Where the
// program would be told that they are opened, none is. NULL; or why it cannot be told.
const char *made_files(struct queues *q, const struct span *skip, size_t nskip,
		       void (*text)(void *ctx, const char *where, const char *name),
		       void (*number)(void *ctx, const char *where, uint64_t number));
