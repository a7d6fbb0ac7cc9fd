// SPDX-License-Identifier: MIT
//
// image_own.h - what the files of image.h share: image_process.c reads a live process, image_core.c a core
// file.
#pragma once

#include "base/maps.h"
#include "find/image.h"

// Adds a mapping, unless it is a region. For maps_each. 0 or -ENOMEM.
int image_add_map(void *arg, const struct maps_line *l);
// The mappings are complete: the memory has them, too.
void image_set_maps(struct image *im);
// The auxiliary vector, n words.
void image_use_auxv(struct image *im, const uint64_t *v, size_t n);

// One call to the kernel for some of the n pieces of image_read_many. It ends at the first that cannot be
// read: how many were tried.
size_t image_read_some(const struct image *im, const uint64_t *addrs, size_t n, size_t bytes, char *to,
		       bool *got);
// Of a core: as image_peek.
size_t image_peek_core(const struct image *im, uint64_t addr, void *to, size_t bytes);
void image_close_files(struct image *im);
