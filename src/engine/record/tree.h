// SPDX-License-Identifier: MIT
//
// tree.h - a trace as a tree of files: removing one, copying one.
#pragma once

// Removes the tree `name` in the directory `at`, no deeper than a trace is. Best effort.
void tree_remove(int at, const char *name);
// Copies every file but manifests from one directory into another, `depth` folders deep. 0 or -errno.
int tree_copy(int from, int to, int depth);
