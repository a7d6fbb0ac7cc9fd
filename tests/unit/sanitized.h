// SPDX-License-Identifier: MIT
//
// sanitized.h - what a test cannot do in a build with a sanitizer, and says so.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED_ADDRESS true
#else
#define SANITIZED_ADDRESS false
#endif
#ifdef __SANITIZE_THREAD__
#define SANITIZED_THREAD true
#else
#define SANITIZED_THREAD false
#endif
#define SANITIZED (SANITIZED_ADDRESS || SANITIZED_THREAD)

// What main returns so that meson counts the whole program as skipped.
enum { SKIPPED_PROGRAM = 77 };

// Said where a test, or a program, is skipped.
static inline bool not_under(bool sanitizer, const char *why)
{
	if (sanitizer)
		printf("skipped: %s\n", why);
	return sanitizer;
}
