// SPDX-License-Identifier: MIT
//
// uri.h - file paths as URI references (RFC 3986).
#pragma once

#include <stdbool.h>
#include <stddef.h>

// "file:///a%20b" of an absolute path, "a%20b" of a relative one. False if buf is too small.
bool uri_of_path(const char *path, char *buf, size_t bytes);
