// SPDX-License-Identifier: MIT
//
// pmu.h - uprobes by perf_event_open(2): breakpoints that the kernel sets in a file, for every process that
// has it mapped, and takes away when our descriptors are closed, however we end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/target/usdt.h"

struct pmu_place {
	const char *path;
	uint64_t at, semaphore; // in the file; semaphore 0: none
	uint64_t regs;          // that are asked for, by bit; the stack pointer is always given
	uint32_t stack_bytes;   // of the stack, from the stack pointer on; 0: none
};

struct pmu_sample {
	unsigned place;
	uint32_t pid, tid; // as our own pid namespace has them
	uint64_t ns;       // CLOCK_MONOTONIC
	struct usdt_state state;
};

struct pmu;

// NULL: `why` says in a few words why the kernel gives none.
struct pmu *pmu_new(char *why, size_t bytes);
void pmu_free(struct pmu *p);
// Sets a breakpoint. Its number, from 0 on; -errno, and nothing is left of it.
int pmu_add(struct pmu *p, const struct pmu_place *place);
// Could one be set? 0 or -errno, as pmu_add.
int pmu_try(const struct pmu *p, const struct pmu_place *place);
// What it means that pmu_add said so.
const char *pmu_why(int e);
// Gives all that has been noted so far; not in order. True: there was something.
bool pmu_read(struct pmu *p, void (*each)(void *arg, const struct pmu_sample *s), void *arg);
// How many samples found no room, of whatever process: asked of the kernel, or as it has told by itself.
uint64_t pmu_lost(const struct pmu *p);
uint64_t pmu_lost_noted(const struct pmu *p);
