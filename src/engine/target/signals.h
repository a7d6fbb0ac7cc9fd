// SPDX-License-Identifier: MIT
//
// signals.h - signals that ctp-run receives: noted by a handler, handled in the main loop. The child
// gets the inherited dispositions back.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Takes over the signals. Undone by signals_restore, in the child.
void signals_init(void);
void signals_restore(void);

// How often the signal came from another process than `child` since the last
// call (a process's doing), and how often from the kernel or a terminal.
struct signals_news {
	int sent, kernel;
};
struct signals_news signals_take(int sig, pid_t child);
// Is there a signal to take?
bool signals_pending(void);
// Is there a SIGTERM that has not been taken yet? It waits for half a second at most.
bool signals_waiting(void);
// For an inspection that may take long: while on, its time is also over when a SIGTERM arrives.
void signals_hurry(bool on);
bool signals_hurried(void); // and has one arrived?
// Has a signal come that has not been looked at, and that is no SIGCHLD?
bool signals_noted(void);
// Is it later than `deadline_ns` (CLOCK_MONOTONIC), or must the inspection under way hurry?
bool signals_late(uint64_t deadline_ns);
// From now on every signal changes *word: a futex that is about to be slept on. NULL: none.
void signals_wake(uint32_t *word);

// Dies of the signal, without a core file. Returns if that is impossible.
void signals_die(int sig);
