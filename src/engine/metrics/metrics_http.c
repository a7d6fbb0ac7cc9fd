// SPDX-License-Identifier: MIT
//
// libmicrohttpd without a thread of its own: the engine's loop runs it, so that what is counted does not
// change meanwhile.
#include "engine/metrics/metrics_http.h"

#include <errno.h>
#include <microhttpd.h>
#include <string.h>

static enum MHD_Result say(struct MHD_Connection *to, unsigned status, char *text, size_t bytes,
			   enum MHD_ResponseMemoryMode mode, const char *type)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(bytes, text, mode);
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "Content-Type", type);
	enum MHD_Result done = MHD_queue_response(to, status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *to, const char *url, const char *method,
			      const char *version, const char *data, size_t *data_bytes, void **place)
{
	static char none[] = "ctp-run: GET /metrics\n";
	static int begun;
	struct metrics_http *h = arg;
	size_t bytes;
	if (!*place) { // the headers alone: the answer comes at the next call
		*place = &begun;
		return MHD_YES;
	}
	*data_bytes = 0;
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return say(to, MHD_HTTP_METHOD_NOT_ALLOWED, none, sizeof(none) - 1, MHD_RESPMEM_PERSISTENT,
			   "text/plain");
	if (strcmp(url, "/metrics"))
		return say(to, MHD_HTTP_NOT_FOUND, none, sizeof(none) - 1, MHD_RESPMEM_PERSISTENT,
			   "text/plain");
	const char *accept = MHD_lookup_connection_value(to, MHD_HEADER_KIND, "Accept");
	bool open_metrics = accept && strstr(accept, "application/openmetrics-text");
	char *text = h->text(h->arg, open_metrics, &bytes);
	return text ? say(to, MHD_HTTP_OK, text, bytes, MHD_RESPMEM_MUST_FREE,
			  open_metrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8" :
					 "text/plain; version=0.0.4; charset=utf-8") :
		      MHD_NO;
}

static int start(struct metrics_http *h, int fd, unsigned connections, unsigned idle_seconds)
{
	h->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, answer, h, MHD_OPTION_LISTEN_SOCKET, fd,
				     MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT,
				     idle_seconds, MHD_OPTION_END);
	return h->daemon ? 0 : -EIO;
}

static void turn(struct metrics_http *h)
{
	MHD_run(h->daemon);
}

static void stop(struct metrics_http *h)
{
	MHD_stop_daemon(h->daemon);
}

const struct metrics_http_functions metrics_http_functions = {start, turn, stop};
