// SPDX-License-Identifier: MIT
//
// frames.h - stacks of an image as frames with names.
#pragma once

#include "symbols/symbols.h"
#include "trace/image.h"

// A stack as it is reported: frames of libctp.so are left out.
struct frames {
	const struct symbols_frame **items;
	size_t n, capacity;
	bool captured;
	uint32_t flags; // CTP_STACK_*
};

int frames_symbols(struct symbols **out, const struct image *m, const char *symfs);
// The frames of a stack id. An id that was not captured gives none.
int frames_read(struct frames *f, struct symbols *s, const struct image *m, uint32_t stack);
void frames_deinit(struct frames *f);
// The one frame (the outermost, if inlined) of a function's own address.
const struct symbols_frame *frames_entry(struct symbols *s, uint64_t pc);
// The function without its parameters, else "module+0x123"; buf holds it.
const char *frames_name(const struct symbols_frame *f, char *buf, size_t bytes);
// libc, the loader, the C++ runtime: nobody looks for a bug there first.
bool frames_is_library(const struct symbols_frame *f);
