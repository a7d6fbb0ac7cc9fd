// SPDX-License-Identifier: MIT
//
// queued.h - how much sockets have to be read, without a copy of the descriptor: in a program that never
// sleeps, a copy could keep a connection alive that it closes just then.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct queued_socket {
	uint64_t ino;
	uint32_t bytes;
};
struct queued { // sockets that have something; all of the process's network
	struct queued_socket *v;
	size_t n, room;
	bool asked, complete;
};

// Bytes in the receive queue of the process's socket `fd`, as of the first such question. -1: it cannot be
// told.
int64_t queued_bytes(struct queued *q, pid_t pid, int fd);
void queued_deinit(struct queued *q);
