// SPDX-License-Identifier: MIT
//
// shm.h - the region: its file, and ctp-run's mapping of it.
#pragma once

#include "ctp/region.h"

struct shm {
	int fd; // -1: none
	struct ctp_region region;
};

// Makes and maps a region. ring_bytes: 0 for the default. chunks: of --flight, or 0. file: NULL for a memfd.
// 0 or -errno; -EEXIST: file is there and is no region.
int shm_init(struct shm *s, uint32_t stations, uint32_t ring_bytes, uint32_t chunks, const char *file);
// Maps a region that somebody else made; takes the descriptor. 0 or -errno.
int shm_adopt(struct shm *s, int fd);
// Unmaps it. The descriptor stays: the path of the region is made of it.
void shm_unmap(struct shm *s);
// Lets go of its pages, which stay in the file: of a million stations looked at, none need stay mapped.
void shm_forget(const struct ctp_region *r);
