// SPDX-License-Identifier: MIT
//
// image_files.h - the JSON-lines files of one image, open while it runs (spec/trace.md).
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "engine/record/output.h"

enum image_file {
	IMAGE_WITNESS,
	IMAGE_DESCRIPTORS,
	IMAGE_SLICES,
	IMAGE_HIGHWATER,
	IMAGE_SETS,
	IMAGE_STACKLESS,
	IMAGE_SCRIPTS, // opened by image_files_rare alone
	IMAGE_FILES
};

// All 0: none is open.
struct image_files {
	FILE *of[IMAGE_FILES]; // NULL: that one could not be opened
	bool in_memory;        // and are not stored yet
};

// Opens them in memory, for appending: no file system is waited for. 0 or -errno.
int image_files_open(struct image_files *f);
// Moves them to ctp/image<k>, unless they are there; the streams stay the same. One try. 0 or -errno.
int image_files_store(struct image_files *f, const struct output *o, unsigned k);
// The stream of a file that most programs have no use for, opened now if it is not yet. NULL: it cannot be.
FILE *image_files_rare(struct image_files *f, enum image_file which, const struct output *o, unsigned k);
void image_files_flush(struct image_files *f);
void image_files_close(struct image_files *f);
