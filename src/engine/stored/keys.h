// SPDX-License-Identifier: MIT
//
// keys.h - the kernel's key rings, in which a program may store any bytes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/stored/queues.h"

// What was there before the program had anything to keep.
struct keys {
	uint32_t *serials; // of the keys that could be seen; sorted
	size_t n;
};

void keys_init(struct keys *k, pid_t pid);
void keys_deinit(struct keys *k);

// Passes the keys' contents to q->bytes. False, and q->why, if the program may keep there what cannot be
// seen.
bool keys_read(struct queues *q, const struct keys *before);
