// SPDX-License-Identifier: MIT
//
// flight_recorder.h - writes what the pool of chunks holds (--flight).
#pragma once

#include "engine/record/writer.h"

struct flight_recorder {
	struct {
		uint64_t taken;
		uint32_t slots;
	} * done; // of each chunk: whose hand it was in, and what of it was written
	uint32_t chunks;
	uint64_t switches;              // written
	uint32_t uses[CTP_THREADS_MAX]; // of earlier images
	struct {
		bool open;
		uint32_t use;
	} last[CTP_THREADS_MAX]; // the writer's stream
};

struct flight_recorder *flight_recorder_new(uint32_t chunks); // NULL: no memory
struct flight_recorder *flight_recorder_copy(
	const struct flight_recorder *k); // for a second writer, which has nothing yet; NULL: no memory
void flight_recorder_free(struct flight_recorder *k); // takes NULL
// The newest history of all threads, from `since` (ticks) on, without what this has written before. The
// program may run on: what it overwrites meanwhile is left out.
void flight_recorder_write(struct flight_recorder *k, const struct ctp_region *r, struct writer *w,
			   struct writer_process *to, uint64_t since);
// The region goes, and another one comes.
void flight_recorder_leave(struct flight_recorder *k);
