// SPDX-License-Identifier: MIT
//
// url.h - where a database is: scheme://USER@HOST:PORT/DATABASE?KEY=VALUE&...
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct url {
	char *text;                                           // the parts' memory
	const char *user, *password, *host, *port, *database; // NULL: not said
	char *options;                                        // after the ?, "" if there are none
};

// 0, -EINVAL: it is none, or -ENOMEM. IPv6 addresses stand in brackets, which are taken off.
int url_read(struct url *u, const char *text);
void url_deinit(struct url *u);
// The value of an option, or NULL; buf holds it.
const char *url_option(const struct url *u, const char *key, char *buf, size_t bytes);
