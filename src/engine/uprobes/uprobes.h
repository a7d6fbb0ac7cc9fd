// SPDX-License-Identifier: MIT
//
// uprobes.h - USDT probes that others have defined, of which --events spells the provider out: recorded
// from outside, as events of the thread and the coroutine that met them.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/record/harvest.h"
#include "engine/record/recorder.h"
#include "engine/start/event_list.h"
#include "engine/target/elf_events.h"
#include "engine/target/code_files.h"

struct uprobes;

// NULL: the list spells no provider out, or there is no memory. why_not: that which keeps the run as a whole
// from recording any, in a few words; NULL: nothing.
struct uprobes *uprobes_new(struct recorder *r, const struct event_list *l, const char *why_not);
void uprobes_free(struct uprobes *u); // u: NULL is fine, here and below
// Sets breakpoints at the probes of a program that is about to start, and of its libraries.
void uprobes_program(struct uprobes *u, const char *path);
// The same for what a process has mapped by now.
void uprobes_process(struct uprobes *u, pid_t pid);
// Takes what the kernel has noted. True: there was something.
bool uprobes_drain(struct uprobes *u);
// At each turn, before the processes': drains, lets go of what no process claims, and looks for new modules
// of those processes at times.
bool uprobes_turn(struct uprobes *u, const pid_t *pids, size_t n, uint64_t now_ns);
// Is there anything of this process? Then its rings are to be emptied, before it is placed.
bool uprobes_due(const struct uprobes *u, pid_t pid);
// Gives the writer what there is of the process, with who ran. *last: the process's, 0 at first.
void uprobes_place(struct uprobes *u, pid_t pid, struct harvest *h, uint64_t *last);
uint64_t uprobes_lost(const struct uprobes *u);

// Why no USDT probe could be recorded here; "": they could. place: any, of the file `path`.
void uprobes_try(const char *path, const struct elf_place *place, char *why, size_t bytes);
// For a list: whether this one could, after what uprobes_try said.
void uprobes_describe(const struct elf_event *e, bool native, const char *refused, char *out, size_t bytes);
