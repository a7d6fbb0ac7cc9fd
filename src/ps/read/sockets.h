// SPDX-License-Identifier: MIT
//
// sockets.h - the addresses of sockets, by inode, as the kernel's tables of a network namespace say.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idmap.h"

struct sockets_one {
	char local[56], peer[56]; // "" = none
	bool udp;
	bool local_only; // AF_UNIX
};

struct sockets { // zeroed: not read yet
	bool read;
	struct sockets_one *v;
	size_t n, capacity;
	struct idmap by_ino;
};

// `folder`: /proc/PID, or one that is laid out so; its tables are read at the first question. NULL: not
// known.
const struct sockets_one *sockets_find(struct sockets *s, const char *folder, uint64_t ino);
void sockets_name(const struct sockets_one *s, bool accepted, char *to, size_t bytes);
void sockets_deinit(struct sockets *s);
