// SPDX-License-Identifier: MIT
//
// sock.h - the socket to which version-1 probes connect, and how ctp-ctl's is made. The engine polls, so
// nothing wakes it through the socket. Its directory is 0700: no other user may connect.
#pragma once

#include "engine/record/slot.h"

#define SOCK_CONNECTIONS 256

struct sock {
	struct slot alias; // with the link
	int alias_parent;
	char link[96];
	int fd;
	const char *name; // in its slot
	int inode;        // the socket in the file system: probes connect by way of /proc/PID/fd; -1: none
	unsigned n;
	int connection[SOCK_CONNECTIONS];
};

#define SOCK_NONE \
	{ \
		.fd = -1, .inode = -1, .alias.dir = -1, .alias_parent = -1 \
	}

// Reserves the descriptor of which the path is made, for a socket of this type. 0 or -errno.
int sock_init(struct sock *s, int type, const char *name);
// Makes the socket, in the directory `near` for a moment, or where temporary files are. 0 or -errno.
int sock_bind(struct sock *s, int near);
void sock_deinit(struct sock *s);
// Takes what waits. A probe blocks when the queue is full.
void sock_accept(struct sock *s);
// A path for `target` without characters that separate LD_PRELOAD's items, in a slot where temporary files
// are, until sock_deinit. NULL if it cannot be made.
const char *sock_alias(struct sock *s, const char *target);
