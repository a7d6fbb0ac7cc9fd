// SPDX-License-Identifier: MIT
//
// queues.h - what the kernel keeps for the process and may hand back to it:
// a pointer may wait in a pipe, an eventfd, an unlinked file or a socket.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/look.h"

struct queues {
	const struct look *l;
	// Told of bytes that were found; `where` names what holds them.
	void (*bytes)(void *ctx, const char *where, const unsigned char *bytes, size_t n);
	void *ctx;
	char why[160]; // if not all could be seen
	// inodes of the process's sockets and of the pipes already read; sorted when complete
	uint64_t *sockets, *pipes;
	size_t nsockets, npipes;
};

// True if all of it was told; else `why`. The process sees nothing of it.
bool queues_read(struct queues *q);

// Sockets alone (queues_net.c): their bytes cannot be seen without holding
// the socket, so any that came from the process itself is a doubt.
bool queues_sockets(struct queues *q);
bool queues_own(const struct queues *q, uint64_t ino);
