// SPDX-License-Identifier: MIT
//
// php.h - the functions of a PHP script on the stack of a suspended fiber.
#pragma once

#include <stdbool.h>

#include "unwind/unwind.h"

enum { PHP_NAME = 96, PHP_FILE = 192 };

struct php_frame {
	uint64_t at;         // of the instruction at which it goes on, in PHP's own code: one for each place
	char name[PHP_NAME]; // "inner", "Worker::run", "{main}"; cut off where it is longer
	char file[PHP_FILE]; // "": a function that PHP has itself
	uint32_t line;       // 0: not known
};

bool php_is(const char *file); // PHP's own code, by a file's name without its folder: php8.2, libphp.so

// Innermost first; 0: none, or PHP of a layout that is not known. `lo` to `hi`: PHP's machine code. Whether
// the fiber still slept is for the caller to check.
size_t php_frames(struct unwind *u, const struct ctp_state *s, uint64_t lo, uint64_t hi,
		  struct php_frame *out, size_t max);
// The same from a frame of the script on, wherever that is known from. 0 as well: it is none.
size_t php_list(struct unwind *u, uint64_t frame, struct php_frame *out, size_t max);
