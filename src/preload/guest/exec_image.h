// SPDX-License-Identifier: MIT
//
// exec_image.h - whether this library may be preloaded into a program that is about to be executed.
#pragma once

#include <stdbool.h>

enum exec_image {
	EXEC_IMAGE_FINE,      // as far as is known
	EXEC_IMAGE_FOREIGN,   // another C library, or another CPU: it would not start, or say so
	EXEC_IMAGE_SANITIZED, // it has to load a sanitizer's library first
};

// As execveat finds it; without a path: what the descriptor `dir` refers to.
enum exec_image exec_image_at(int dir, const char *path);
// As execvp finds it.
enum exec_image exec_image_named(const char *name);
// Whether it is the name of a sanitizer's library, which wants to be the first of all.
bool exec_image_sanitizer(const char *name);
// Whether a file can be reached by this path.
bool exec_image_reached(const char *path);
