// SPDX-License-Identifier: MIT
//
// fcontext.h - what libboost_context.so exports to C.
#pragma once

#include <stddef.h>

typedef void *fcontext_t;
struct transfer {
	fcontext_t from; // who came from there
	void *data;
};
fcontext_t make_fcontext(void *top, size_t bytes, void (*fn)(struct transfer));
struct transfer jump_fcontext(fcontext_t to, void *data);
struct transfer ontop_fcontext(fcontext_t to, void *data, struct transfer (*fn)(struct transfer));
