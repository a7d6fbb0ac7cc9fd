// SPDX-License-Identifier: MIT
//
// A path may hold any byte but NUL. Every byte that is not unreserved in a URI is written
// as %XX, and so is a colon in the first segment of a relative path.
#include "base/uri.h"

#include <stdio.h>
#include <string.h>

static bool plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("-._~/+@,", c));
}

bool uri_of_path(const char *path, char *buf, size_t bytes)
{
	size_t n = (size_t)snprintf(buf, bytes, "%s", *path == '/' ? "file://" : "");
	for (const unsigned char *p = (const unsigned char *)path; *p; p++) {
		if (n + 4 > bytes)
			return false;
		if (plain(*p))
			buf[n++] = (char)*p;
		else
			n += (size_t)snprintf(buf + n, bytes - n, "%%%02X", *p);
	}
	if (n >= bytes)
		return false;
	buf[n] = 0;
	return true;
}
