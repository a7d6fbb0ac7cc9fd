// SPDX-License-Identifier: MIT
//
// frames.h - stacks as frames with names, and what a frame is called.
#pragma once

#include "symbols/symbols.h"

// A stack as it is reported: frames of libctp.so are left out.
struct frames {
	const struct symbols_frame **items;
	size_t n, capacity;
	bool captured;
	uint32_t flags; // CTP_STACK_*, FRAMES_OUTERMOST
};
// Of what is inlined at an address, only one function is meant: it is suspended there itself
// (symbols_coroutine).
#define FRAMES_OUTERMOST 0x80000000u

// Where libctp.so lay; 0, 0 if that is not known.
struct frames_own {
	uint64_t start, end;
};

// Appends the frames of these return addresses, innermost first. The rest of *f is left to the caller.
int frames_add(struct frames *f, struct symbols *s, const struct frames_own *own, const uint64_t *pcs,
	       size_t n);
void frames_deinit(struct frames *f);
// The one frame (the outermost, if inlined) of a function's own address.
const struct symbols_frame *frames_entry(struct symbols *s, uint64_t pc);
// The function without its parameters, else "module+0x123"; buf holds it. As people read it (symbols/name.h),
// and as files for programs have it.
const char *frames_name(const struct symbols_frame *f, char *buf, size_t bytes);
const char *frames_whole_name(const struct symbols_frame *f, char *buf, size_t bytes);
// What a coroutine is called: by `own`, the outermost function of the program's own that was seen on it
// (NULL: none was), by what its first function, a library's template, says to run, or by that function.
const char *frames_entry_name(const struct symbols_frame *f, const struct symbols_frame *own, char *buf,
			      size_t bytes);
// The outermost frame that is no library's, or NULL.
const struct symbols_frame *frames_outermost_own(const struct frames *f);
// `own` for the above: the function of this stack that tells what a coroutine does whose first function,
// `entry`, is a library's, or stands in the same source file as the switch; NULL: there is none.
const struct symbols_frame *frames_task(const struct frames *f, const struct symbols_frame *entry);
// The same of a stack as it was anywhere, by the way that another coroutine, whose stack is `like`, came from
// `entry` to the `own` of that one.
const struct symbols_frame *frames_beyond(const struct frames *f, const struct symbols_frame *entry,
					  const struct frames *like, const struct symbols_frame *own);
// Does its name tell who it is? A lambda's does not.
bool frames_is_named(const struct symbols_frame *f);
// Its source file: from here, or from where it was compiled, or all of its path. "" if not known.
const char *frames_path(const struct symbols_frame *f);
// "…/net/conn.c:141", as short as it stays clear; "" if not known. buf holds it.
const char *frames_place(const struct symbols_frame *f, char *buf, size_t bytes);
// How often the frames from `at` on follow each other anew, in steps of *period frames of the same
// places: what a recursion looks like. 1, and *period 1: they do not (three times, at least).
size_t frames_cycle(const struct frames *f, size_t at, size_t *period);
// libc, the loader, the C++ runtime, Boost's libraries, State Threads, GNU Pth, templates of the system's
// headers: nobody looks for a bug there first.
bool frames_is_library(const struct symbols_frame *f);
// The innermost frame that is no library's, else the innermost; NULL if there is none.
const struct symbols_frame *frames_first_own(const struct frames *f);
