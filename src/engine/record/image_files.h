// SPDX-License-Identifier: MIT
//
// image_files.h - the JSON-lines files of one image, open while it runs (spec/trace.md).
#pragma once

#include <stdio.h>

#include "engine/record/output.h"

enum image_file { IMAGE_WITNESS, IMAGE_DESCRIPTORS, IMAGE_SLICES, IMAGE_HIGHWATER, IMAGE_SETS, IMAGE_FILES };

// All NULL: none is open.
struct image_files {
	FILE *of[IMAGE_FILES]; // NULL: that one could not be opened
};

// Opens them, for appending, in ctp/image<k>. 0 or -errno: then none is open.
int image_files_open(struct image_files *f, const struct output *o, unsigned k);
void image_files_flush(struct image_files *f);
void image_files_close(struct image_files *f);
