// SPDX-License-Identifier: MIT
//
// Parts are decoded where they stand (%41 is A).
#include "analyze/export/url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

// Turns %41 into A, in place; what is no such thing stays.
static char *decode(char *s)
{
	char *to = s;
	for (char *p = s; *p; p++) {
		bool escape = *p == '%' && digit(p[1]) >= 0 && digit(p[2]) >= 0 &&
			      (p[1] != '0' || p[2] != '0');
		*to++ = escape ? (char)(digit(p[1]) << 4 | digit(p[2])) : *p;
		p += escape ? 2 : 0;
	}
	*to = 0;
	return s;
}

// Ends a text at `at`, and returns what follows; NULL stays NULL.
static char *cut(char *at)
{
	if (at)
		*at++ = 0;
	return at;
}

static void read_host(struct url *u, char *host)
{
	char *bracket = *host == '[' ? strchr(host, ']') : NULL, *port;
	if (bracket) {
		*bracket = 0;
		port = bracket[1] == ':' ? bracket + 2 : NULL;
		host++;
	} else {
		port = cut(strchr(host, ':'));
	}
	u->host = *host ? decode(host) : NULL;
	u->port = port && *port ? port : NULL;
}

int url_read(struct url *u, const char *text)
{
	static char none[1];
	const char *rest = strstr(text, "://");
	if (!rest)
		return -EINVAL;
	*u = (struct url){.text = strdup(rest + 3)};
	if (!u->text)
		return -ENOMEM;
	char *host = u->text, *options = cut(strchr(host, '?')), *database = cut(strchr(host, '/'));
	char *after = cut(strrchr(host, '@'));
	if (after) {
		char *password = cut(strchr(host, ':'));
		u->user = *host ? decode(host) : NULL;
		u->password = password ? decode(password) : NULL;
		host = after;
	}
	read_host(u, host);
	u->database = database && *database ? decode(database) : NULL;
	u->options = options ? options : none;
	return 0;
}

void url_deinit(struct url *u)
{
	free(u->text);
	*u = (struct url){0};
}

const char *url_option(const struct url *u, const char *key, char *buf, size_t bytes)
{
	size_t n = strlen(key);
	for (const char *p = u->options; *p; p += strcspn(p, "&"), p += *p == '&') {
		if (strncmp(p, key, n) || p[n] != '=')
			continue;
		snprintf(buf, bytes, "%.*s", (int)strcspn(p + n + 1, "&"), p + n + 1);
		return decode(buf);
	}
	return NULL;
}
