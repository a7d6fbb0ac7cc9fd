// SPDX-License-Identifier: MIT
//
// clean.h - what clean.c (the list, and programs that only wait) shares with
// the others that look like a lost wakeup and are none.
#pragma once

#include "co.h"
#include "must.h"

extern int ep;
_Noreturn void idle(void); // prints "ready" and sleeps in the loop
void reader(void *arg);    // reads from the descriptor that arg points to until it ends
int *live(int n);          // n tcp pairs: [2i] to read from, [2i+1] feeds it; n readers wait

void clean_finished(void); // ends.c
void clean_dup_open(void);
void clean_self_close(void);
void clean_reaper(void);
void clean_by_hand(void);
void clean_cancelled_map(void);
void clean_cancelled_heap(void);
void clean_ending(void);
void clean_ending_closes(void);
void clean_drain(void);
void clean_numbers(void);
void clean_closeall(void);
void clean_takeback(void);
void clean_takeback_later(void);
void clean_failed_close(void);

void clean_vfork(void); // shared.c
void clean_fork(void);
void clean_child_holds(void);
void clean_in_flight(void);
void clean_thread_reads(void);
void clean_two_sources(void);
void clean_moved(void);
void clean_queued(void);
void clean_deleted(void);
