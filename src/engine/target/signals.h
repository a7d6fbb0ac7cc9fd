// SPDX-License-Identifier: MIT
//
// signals.h - signals that ctp-run gets: noted by a handler, dealt with in the
// main loop. What was inherited is put back in the child.
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
// Is anything there to take?
bool signals_pending(void);
// Has somebody sent SIGTERM, which nobody has taken yet? It waits for half a second at most.
bool signals_waiting(void);
// A look that may take long: from now on its time is over as soon as somebody sends SIGTERM, too.
void signals_hurry(bool on);
bool signals_hurried(void); // and has somebody?
// Is it later than `deadline_ns` (CLOCK_MONOTONIC), or must the look that goes on hurry?
bool signals_late(uint64_t deadline_ns);
// From now on every signal changes *word: a futex that is about to be slept on. NULL: none.
void signals_wake(uint32_t *word);

// Dies of the signal, without a core file. Returns if that is impossible.
void signals_die(int sig);
