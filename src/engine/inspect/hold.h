// SPDX-License-Identifier: MIT
//
// hold.h - that the process stands still while its memory is searched.
#pragma once

#include <stdbool.h>

#include "engine/inspect/inspect.h"

// Takes the registers of all threads that are not asleep in our hooks, and how
// all of them sleep into *base. False, and P6a says why, if one cannot be had.
bool hold_take(struct inspection *l, struct proc_tasks *base);
// Threads that had to be stopped may have run since the look began.
bool hold_refresh(struct inspection *l, const struct proc_tasks *base);
// Has nobody run since `base`?
bool hold_rested(const struct inspection *l, const struct proc_tasks *base);
bool hold_signals(const struct proc_tasks *base); // a signal is pending
void hold_release(struct inspection *l);
// Another process with the same memory (clone with CLONE_VM): its pid; 0 if there is none, -1 if that cannot be seen.
int hold_sharer(pid_t pid);
// A process that was forked from the same image, and has not called exec; the same answers.
int hold_fork(pid_t pid);
// P6a of all whose memory is known: not decided, and why.
void hold_say(struct inspection *l, const char *text);
