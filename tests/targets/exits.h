// SPDX-License-Identifier: MIT
//
// exits.h - what exits.c and its watcher share.
#pragma once

enum { MARK = 0x5eed }; // both arguments of a getpriority that nobody else makes
