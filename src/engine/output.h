// SPDX-License-Identifier: MIT
//
// output.h - where the trace goes: names, what may be replaced, making it.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct output {
	char *path;   // expanded, as given otherwise
	bool jsonl;
	int fd;       // the trace directory, or the .jsonl file
	char *gone;   // the trace that PATH.old was, moved aside; NULL: none
};

enum output_problem { // positive results of output_init
	OUTPUT_EXISTS = 1,     // there is something that is no ctp trace
	OUTPUT_OLD_EXISTS = 2, // PATH.old is no ctp trace
};

// Expands %p, %e and %%, moves an older trace to PATH.old, creates the
// directory (with ctp/ in it) or the file. 0, -errno or enum output_problem;
// o->path is set in any case but -ENOMEM.
int output_init(struct output *o, const char *pattern, pid_t pid, const char *program);
void output_deinit(struct output *o);
// Removes the trace that was replaced. That takes longer than a start or an end may.
void output_tidy(struct output *o);
// Takes away what output_init made: the program could not be started.
void output_remove(struct output *o);
// PATH.<n>, a trace directory beside it, with a copy of every file but the manifest. An older trace there goes.
// As output_init.
int output_beside(const struct output *o, unsigned n, struct output *to);
// Makes ctp/image<k>[/sub] and opens it. Descriptor or -errno.
int output_image(const struct output *o, unsigned k, const char *sub);
// Takes ctp/image<k>/<sub> away again.
void output_remove_image(const struct output *o, unsigned k, const char *sub);
