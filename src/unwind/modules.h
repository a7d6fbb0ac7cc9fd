// SPDX-License-Identifier: MIT
//
// modules.h - where the objects of a process have their unwind tables.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/maps.h"

struct modules_entry {
	uint64_t lo, hi;      // all its mappings
	uint64_t hdr;         // address of .eh_frame_hdr; 0 = none that can be used
	uint64_t table, rows; // its search table
	bool looked;
};

struct modules {
	struct modules_entry *items; // by address
	size_t n, capacity;
};

// Reads the process's memory: all `bytes` of it, or false.
typedef bool modules_peek(void *arg, uint64_t addr, void *to, size_t bytes);

int modules_read(struct modules *m, pid_t pid);                            // 0 or -errno
int modules_of(struct modules *m, const struct maps_line *maps, size_t n); // the same, 0 or -ENOMEM
void modules_deinit(struct modules *m);
// The object that `addr` lies in, with its table looked up, or NULL.
const struct modules_entry *modules_find(struct modules *m, uint64_t addr, modules_peek *peek, void *arg);
// The same without the table: is there an object at all?
bool modules_has(const struct modules *m, uint64_t addr);
