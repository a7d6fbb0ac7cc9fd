// SPDX-License-Identifier: MIT
//
// output.h - where the trace goes: its name, what it may replace, creating it.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "engine/record/slot.h"

enum output_took { OUTPUT_TOOK_NONE, OUTPUT_TOOK_PATH, OUTPUT_TOOK_BOTH };

#define OUTPUT_NONE \
	{ \
		.fd = -1, .parent = -1, .slot.dir = -1 \
	}

struct output {
	char *path; // expanded, as given otherwise
	bool jsonl;
	int fd;           // the trace directory, or the .jsonl file
	int parent;       // the directory in which it is
	const char *name; // its name there, within path
	bool replaces;    // a trace at PATH goes, instead of moving to PATH.old
	bool published, swept;
	enum output_took took; // which names it took from others by exchange: PATH's, or PATH.old's as well
	struct slot slot;      // where it is made; later, with the trace that was replaced
};

enum output_problem {          // positive results of output_init and output_publish
	OUTPUT_EXISTS = 1,     // there is something that is no ctp trace
	OUTPUT_OLD_EXISTS = 2, // PATH.old is no ctp trace
};

// Expands %p, %e and %%, creates the directory (with ctp/ in it) or the file, without its name: that comes by
// output_publish. 0, -errno or enum output_problem; o->path is set in any case but -ENOMEM.
int output_init(struct output *o, const char *pattern, pid_t pid, const char *program);
// Gives it its name, at once; a trace that has it moves to PATH.old. As output_init.
int output_publish(struct output *o);
void output_deinit(struct output *o);
// Removes the trace that was replaced, and what killed runs left here. That takes longer than a start or an
// end may.
void output_tidy(struct output *o);
// Takes away what output_init and output_publish did: the program could not be started.
void output_remove(struct output *o);
// PATH.<n>, a trace directory beside it. At its output_publish an older trace there goes. As output_init.
int output_beside(const struct output *o, unsigned n, struct output *to);
// Into it a copy of every file but the manifest, as tree_copy. 0 or -errno.
int output_copy(const struct output *o, const struct output *to, void (*meanwhile)(void *arg), void *arg);
// Makes ctp/image<k>[/sub] and opens it. Descriptor or -errno.
int output_image(const struct output *o, unsigned k, const char *sub);
// Takes ctp/image<k>/<sub> away again.
void output_remove_image(const struct output *o, unsigned k, const char *sub);
