// SPDX-License-Identifier: MIT
//
// world.h - the model of a trace, whatever its form. Passes read this and nothing else.
#pragma once

#include <sys/types.h>

#include "trace/image.h"
#include "trace/manifest.h"
#include "trace/stream/program_events.h"
#include "trace/stream/stream.h"

enum world_form { WORLD_DIRECTORY, WORLD_LINES, WORLD_CORE };

struct world_stream {
	char *path;
	uint64_t whole_bytes, file_bytes, packets, records;
	uint64_t discarded;          // records that its thread lost
	struct stream_damage damage; // stream.h
	uint32_t tid;
	int error;    // why it could not be read, or not to its end
	dev_t device; // which file was read
	ino_t inode;
	bool has_stations; // records of version-1 stations
};

// Wants to hear how far reading has got, in bytes; total 0: not known. By one thread at a time.
struct world_watch {
	void (*report)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

struct world {
	enum world_form form;
	char *path;  // as given
	int *folder; // of a directory: its descriptor, below which all of it is opened; else NULL
	const struct world_watch *watch; // or NULL
	struct manifest manifest;
	struct image *images;
	size_t nimages, processes; // processes: of which there are images
	struct world_stream *streams;
	size_t nstreams, streams_capacity;
	struct program_classes program_events;
	// counted in the streams, or in the lines
	uint64_t kinds[256];
	uint64_t events;
	uint64_t unknown_kinds;
	uint64_t discarded;
	// version-1 stations, or the entities of JSON lines
	uint64_t v1_suspended, v1_running;
	// the answer
	bool has_last_tables;
	struct image_counts counts; // all images and version-1 stations
	uint64_t coroutines;
	uint64_t threads, lost, start_ns, duration_ns, snapshot_ns;
	bool cut_off; // JSON lines: the last one was dropped
	char **coverage;
	size_t ncoverage, coverage_capacity;
};

// Why a trace could not be read, for the one line that says so.
struct world_error {
	char text[256];
};

// Opens a directory, a .jsonl file or "-". Waits up to wait_ms for a trace
// that is still being written. watch: told of the progress until the world is closed, or NULL.
// 0 or -errno with error->text filled in.
int world_open(struct world *w, const char *path, int wait_ms, const struct world_watch *watch,
	       struct world_error *error);
void world_progress(const struct world *w, uint64_t done, uint64_t total);
void world_close(struct world *w);
// 0 if `layout` is ours, else -EPROTO and why; `what` begins the line.
int world_layout(struct world_error *e, const char *what, uint32_t layout);
// The same for the way in which packets are packed; 0: in none.
int world_compressed(struct world_error *e, uint32_t way);
// Adds one line about what was covered. 0 or -ENOMEM.
int world_cover(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t world_ns(const struct world *w, uint64_t ticks);
// Opens a stream of a directory, which is the one that it was: 0 or -errno.
int world_stream_open(struct stream_reader **out, const struct world *w, const struct world_stream *s);
// Cuts off what is behind the last whole packet that was read. 0, or -errno (file_why): the file is another
// than the one that was read, or not the trace's alone.
int world_stream_repair(const struct world *w, const struct world_stream *s);
