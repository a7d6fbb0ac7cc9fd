// SPDX-License-Identifier: MIT
//
// switchers.h - the objects that a process has mapped, and how they switch
// stacks: by what libctp.so sees, and by what it cannot see.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/signs.h"

struct switchers_object {
	uint64_t ino;
	uint32_t major, minor;
	int fd;     // until it has been read
	char *path; // as the process sees it
	struct signs signs;
};

struct switchers {
	struct switchers_object *v; // in the order in which they were met
	size_t n, capacity;
	size_t read;   // so many have been read
	size_t unread; // could not be opened or read (whole)
	bool full;     // there were more
};

// When to look at one process again: at once where it is zero, ever more rarely after that.
struct switchers_watch {
	uint64_t again_ns, step_ns;
};

// Opens what the process has mapped by now and had not before. Cheap; reads no file.
void switchers_look(struct switchers *s, pid_t pid);
// The same, if it is time.
void switchers_turn(struct switchers *s, struct switchers_watch *w, pid_t pid, uint64_t now_ns);
// Reads one file. False if none is left to read.
bool switchers_read(struct switchers *s);
// What was looked for and where it was found, as part of a sentence. Bounded.
void switchers_text(const struct switchers *s, char *out, size_t bytes);
// The switches of the object i that cannot be seen, as a sentence. False: it shows none.
bool switchers_unseen(const struct switchers *s, size_t i, char *out, size_t bytes);
// The same of all objects, as part of one sentence. Bounded; "" if there are none.
void switchers_unseen_all(const struct switchers *s, char *out, size_t bytes);
void switchers_deinit(struct switchers *s);
