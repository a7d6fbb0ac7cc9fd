// SPDX-License-Identifier: MIT
//
// births.h - when and where the frames of C++20 coroutines are allocated.
#pragma once

void births_init(void); // the region is a fresh one
// Of the objects that are loaded, those that have such coroutines call operator new and delete through us
// from now on. Once, before main.
void births_start(void);
