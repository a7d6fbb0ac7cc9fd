// SPDX-License-Identifier: MIT
//
// watch_names.h - names of coroutines, and whether a text occurs in what is shown of them.
#pragma once

#include "ps/model/report.h"
#include "ps/watch/watch_model.h"

struct watch_names;

// The report's symbols and stacks are used, and must outlive it.
int watch_names_new(struct watch_names **out, const struct report *r); // 0 or -ENOMEM
void watch_names_free(struct watch_names *n);
// What it is called, fit for a terminal. "?" without memory.
const char *watch_names_label(struct watch_names *n, const struct watch_row *r);
// Where its name stands among all that were asked for, by alphabet.
uint32_t watch_names_rank(struct watch_names *n, const struct watch_row *r);
// Where it is suspended: "wait_readable server.c:64", "-" if that is not known, and its place in the
// alphabet.
const char *watch_names_place(struct watch_names *n, const struct watch_row *r);
uint32_t watch_names_place_rank(struct watch_names *n, const struct watch_row *r);
const char *watch_names_state(const struct watch_row *r);
// "7#3 IN|OUT, 8#1 IN"; "" if it waits for nothing that is known.
void watch_names_waits(const struct coroutine *c, char *buf, size_t bytes);
// The text to look for, in any case: NULL or "" is found in all.
void watch_names_seek(struct watch_names *n, const char *text);
// `called`: what the program calls it.
// Is it found in its name, its state, what it waits for or the functions on its stack?
bool watch_names_found(struct watch_names *n, const struct watch_row *r, const char *called);
