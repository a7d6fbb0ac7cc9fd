// SPDX-License-Identifier: MIT
//
// beside.h - where another file of ours is: installed with this command, or in its room's folder of a build.
#pragma once

#include <stddef.h>

// A command. 0, or -ENOENT: it is not there, or may not be run.
int beside_find(const char *name, const char *room, char *out, size_t bytes);
// A library. Its real path; 0, or -ENOENT: it is not there, or its path does not fit.
int beside_library(const char *name, const char *room, char *out, size_t bytes);
// Loads a module of ours (a library that is loaded only where it is wanted), which stays loaded. What it
// exports as `symbol`; NULL, and why: one line.
const void *beside_load(const char *name, const char *room, const char *symbol, char *why, size_t bytes);
