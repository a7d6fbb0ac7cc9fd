// SPDX-License-Identifier: MIT
//
// process_inspect.h - the inspections of one traced process: on request, and at its end.
#pragma once

#include "engine/session/process.h"

#define PROCESS_SNAPSHOT_NS 450000000ULL // what a snapshot may take
#define PROCESS_TIMEOUT_NS 2000000000ULL // after --timeout nobody waits for it

// Inspects it while it lives, before a signal or its end: done by end_ns, or little later.
void process_inspect_snapshot(struct process *p, const char *reason, uint64_t end_ns);
// The same while it runs on undisturbed. The results are flushed.
void process_inspect_now(struct process *p, uint64_t end_ns);
// Makes the final inspection that the process asks for.
void process_inspect_final(struct process *p);
void process_inspect_release(struct process *p); // the process need not wait for it any more
