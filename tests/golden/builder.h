// SPDX-License-Identifier: MIT
//
// builder.h - writes synthetic trace directories: what the engine would have
// written, put together by hand, so that readers and passes can be tested
// without it.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "ctp/record.h"

#define BUILDER_ROWS 64

struct builder {
	char dir[512];
	struct ctp_ext ext;
	struct ctp_state stations[BUILDER_ROWS];
	struct ctp_thread threads[8];
	struct ctp_fd fds[BUILDER_ROWS]; // row i is fd number i; gen 0 = unused
	struct ctp_cand cands[BUILDER_ROWS];
	struct ctp_module modules[4];
	struct ctp_name names[BUILDER_ROWS]; // by row of stations
	uint32_t stack_index[BUILDER_ROWS];
	uint64_t stack_words[1024];
	unsigned nstations, nthreads, ncands, nmodules, nstacks, nwords;
	// manifest
	bool complete, no_tables;
	uint64_t snapshot_ns, term_forwarded_ns;
	const char *reason, *coverage;
	FILE *witness;
};

// Makes the directory and fills in what every trace has. Times are
// CLOCK_MONOTONIC ns; the trace begins at 1000000000.
int builder_begin(struct builder *b, const char *dir);
#define BUILDER_START 1000000000ULL
// Adds a module for the running program itself.
void builder_self(struct builder *b);
uint32_t builder_stack(struct builder *b, unsigned n, const uint64_t *pcs);
struct ctp_state *builder_coroutine(struct builder *b, uint64_t id, enum ctp_life life);
struct ctp_thread *builder_thread(struct builder *b, uint32_t tid, uint64_t native);
struct ctp_fd *builder_fd(struct builder *b, int fd, uint32_t gen, enum ctp_fd_life life);
// The program calls it so.
void builder_name(struct builder *b, const struct ctp_state *c, const char *name);
// C waits for fd#gen, having registered it in that slice.
void builder_wait(struct ctp_state *c, int fd, uint32_t gen, uint64_t data);
// fd was closed by `closer` at `time`; its entry is marked so.
struct ctp_cand *builder_close(struct builder *b, int fd, uint64_t closer, uint64_t time);
// A look that found P0, P2 ... P6b as in `holds`, a string over "+-?" in the
// order P0 P2 P3 P4 P5 P6a P6b.
void builder_look(struct builder *b, const struct ctp_state *c, int fd, uint32_t gen, uint64_t ns,
		  const char *holds, const char *open);
// Writes n slots, in packets of `per` of them, or as many more as make whole records, to stream
// t<slot>.0; `torn` bytes of one more follow.
int builder_stream(struct builder *b, unsigned slot, const struct ctp_record *r, size_t n, size_t per,
		   size_t torn);
// Writes manifest and tables. 0 or -errno.
int builder_end(struct builder *b);
