// SPDX-License-Identifier: MIT
//
// tree.h - a trace as a tree of files: removing one, copying one.
#pragma once

#include <stdint.h>

// Removes the tree `name` in the directory `at`, no deeper than a trace is. Best effort.
void tree_remove(int at, const char *name);
// Copies every file but manifests from one directory into another, `depth` folders deep, each as long as it
// is now: meanwhile(arg), between two pieces, may append to them. NULL: nobody does. 0 or -errno.
int tree_copy(int from, int to, int depth, void (*meanwhile)(void *arg), void *arg);
// What the files below a directory take on the disk.
uint64_t tree_bytes(int dir);
