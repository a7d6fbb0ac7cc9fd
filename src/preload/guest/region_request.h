// SPDX-License-Identifier: MIT
//
// region_request.h - requests a region of one's own from the engine: after exec, and in a
// child.
#pragma once

#include "preload/guest/guest.h"

// Opens (read and write) and maps a region: anywhere; or over what is mapped at `at`, if it has *bytes at
// most. NULL, errno says why.
struct ctp_header *region_request_map(const char *path, void *at, uint64_t *bytes);
// The same, of no more than its first page: enough to ask.
struct ctp_header *region_request_map_head(const char *path);
// Asks through `first`, the region that all know, for one for process `pid`, which
// is ours from then on, mapped at `at` (which is reserved; NULL: anywhere). NULL if there
// is none to be had.
struct ctp_header *region_request(struct ctp_header *first, uint32_t pid, void *at, uint64_t *bytes);
// The same for a child that has not asked yet, without waiting: one of those that lie ready, mapped at `at`.
// NULL if none is left.
struct ctp_header *region_request_spare(struct ctp_header *first, uint32_t pid, void *at, uint64_t *bytes);
// The engine's descriptor, as a path to open.
void region_request_path(char out[64], uint32_t engine_pid, uint32_t fd);
// Waits until *word is no longer `old`, for at most `ns`.
bool region_request_wait(uint32_t *word, uint32_t old, uint64_t ns);
