// SPDX-License-Identifier: MIT
//
// hold.h - keeps the process from running while its memory is searched.
#pragma once

#include <stdbool.h>

#include "engine/inspect/inspect.h"

// Reads the registers of all threads that are not asleep in our hooks, and stores the state of all threads in
// *base. False, and P6a says why, if a thread could not be read.
bool hold_take(struct inspection *l, struct proc_tasks *base);
// Reads anew what may have changed: threads that had to be stopped may have run since the inspection began.
bool hold_refresh(struct inspection *l, const struct proc_tasks *base);
// Has no thread run since `base`?
bool hold_rested(const struct inspection *l, const struct proc_tasks *base);
bool hold_signals(const struct proc_tasks *base); // a signal is pending
void hold_release(struct inspection *l);
// Another process with the same memory (clone with CLONE_VM): its pid; 0 if there is none, -1 if that cannot
// be seen.
int hold_sharer(pid_t pid);
// A process that was forked from the same image, and has not called exec; the same answers.
int hold_fork(pid_t pid);
// Leaves P6a of all suspects whose memory is known undecided, and says why.
void hold_say(struct inspection *l, const char *text);
