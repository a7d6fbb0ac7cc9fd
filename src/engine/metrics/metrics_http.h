// SPDX-License-Identifier: MIT
//
// metrics_http.h - the HTTP server, in a module of its own (ctp-metrics.so) that is loaded for --metrics
// alone: libmicrohttpd needs gnutls, and to load that takes as long as all else that ctp-run does at its
// start.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define METRICS_HTTP "ctp-metrics.so"

struct metrics_http {
	// What /metrics answers: a new string of that many bytes, or NULL.
	char *(*text)(void *arg, bool open_metrics, size_t *bytes);
	void *arg;
	void *daemon;
};

struct metrics_http_functions {
	// fd listens and is the server's from here on. *h must outlive it. 0 or -EIO.
	int (*start)(struct metrics_http *h, int fd, unsigned connections, unsigned idle_seconds);
	void (*turn)(struct metrics_http *h);
	void (*stop)(struct metrics_http *h);
};

extern const struct metrics_http_functions metrics_http_functions; // what the module exports
