// SPDX-License-Identifier: MIT
//
// queues.h - what the kernel stores for the process and may hand back to it: a pointer may
// be in a pipe, an eventfd, an unlinked file or a socket.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/inspect/inspect.h"

enum { QUEUES_READS = 1, QUEUES_WRITES = 2 };

struct queues_pipe {
	uint64_t key;
	int fd;
	uint8_t ends; // which the process has
	bool read;    // what is in it has been told
};

struct queues {
	const struct inspection *l;
	// Told of bytes that were found; `where` names what holds them.
	void (*bytes)(void *ctx, const char *where, const unsigned char *bytes, size_t n);
	// The same of one number. Never NULL where queues_read() is called.
	void (*number)(void *ctx, const char *where, uint64_t number);
	// The same of a name, in which a number may be written out; NULL: nobody asks.
	void (*text)(void *ctx, const char *where, const char *name);
	void *ctx;
	char why[160];                 // if not all could be seen
	bool may_doubt;                // bytes in a connection of its own are no reason to stop, but say so:
	char doubt[160];               // the first; empty: there are none
	struct queues_socket *sockets; // the process's; sorted when complete
	struct queues_pipe *pipes;
	size_t nsockets, npipes;
};

struct queues_socket {
	uint64_t ino;
	int fd;
	bool seen;            // in a table that tells what waits in it, or it was asked
	bool inet;            // TCP or UDP (sockets_asked.h)
	bool nameless, other; // of a unix socket: it has no name, and is connected to one of another process;
			      // and neither has that one, so socketpair(2) made both
};

// True if all of it was told; else `why`. The process sees nothing of it.
bool queues_read(struct queues *q);

// Sockets alone (queues_net.c): their bytes cannot be seen without holding
// the socket, so any that came from the process itself is a doubt.
bool queues_sockets(struct queues *q);
struct queues_socket *queues_own(const struct queues *q, uint64_t ino);

// What they are set to (queues_options.c).
bool queues_options(struct queues *q);

// What shows nothing through a descriptor (queues_ipc.c): System V's queues and
// segments; then a descriptor that is a message queue or a pseudo-terminal.
struct stat;
// Numbers that the kernel keeps (queues_places.c). Of an open file, with its fdinfo; the times of one (-1: of
// one that was closed); what is no file, by its link; a device; of the process as a whole, once its pipes are
// known; of semaphores that it has changed.
bool queues_file(struct queues *q, int number, const struct stat *st, const char *info);
void queues_times(const struct queues *q, int number, const struct stat *st);
bool queues_kind(struct queues *q, const char *link, int number);
bool queues_device(struct queues *q, int number, const struct stat *st);
bool queues_process(struct queues *q);
bool queues_semaphores(struct queues *q);
bool queues_ipc(struct queues *q);
bool queues_special(struct queues *q, const char *path, int number, const struct stat *st);
// Extended attributes of a file (queues_attributes.c), which is open as `path` (/proc/PID/fd/N), or, number
// -1, has that name.
bool queues_attributes(struct queues *q, const char *path, int number,
		       const struct stat *st); // Is it in a file system that the kernel itself serves?
bool queues_local(const char *path);
// Of threads, mappings and files (queues_names.c).
void queues_names(const struct queues *q);
