// SPDX-License-Identifier: MIT
//
// Tables are counted for a scrape only, and where that takes long, again after a hundred times as long at the
// earliest.
#include "engine/metrics/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/beside.h"
#include "engine/metrics/metrics_http.h"
#include "engine/metrics/metrics_text.h"

#define UNIX "unix:"
#define REST 100u
#define CONNECTIONS 16u
#define IDLE_SECONDS 75u

static bool is_port(const char *s)
{
	return *s && strlen(s) <= 5 && s[strspn(s, "0123456789")] == 0 && atoi(s) <= 65535;
}

bool metrics_is_address(const char *where)
{
	const char *colon = strrchr(where, ':');
	struct sockaddr_un address;
	if (!strncmp(where, UNIX, strlen(UNIX)))
		return where[strlen(UNIX)] && strlen(where) - strlen(UNIX) < sizeof(address.sun_path);
	return colon ? colon != where && is_port(colon + 1) : is_port(where);
}

#if CTP_HAVE_MICROHTTPD

struct metrics {
	int fd; // -1: the server's by now
	char url[300], path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	const struct metrics_http_functions *functions;
	struct metrics_http http;
	struct metrics_times *times;
	const struct metrics_now *now; // while the server runs
	struct metrics_counts counts;
	uint64_t counted_ns, count_took_ns; // when the tables were counted last
	uint64_t switches;
	double last_switch_s;
};

const char *metrics_lacks(void)
{
	return NULL;
}

// ------------------------------------------------------------------------ binding

static int bind_unix(struct metrics *m, const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct stat st;
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	m->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->fd < 0)
		return -errno;
	// a socket that nobody listens on was left behind
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode) && connect(m->fd, (struct sockaddr *)&a, sizeof(a)) &&
	    errno == ECONNREFUSED)
		unlink(path);
	close(m->fd);
	m->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	mode_t mask = umask(0077);
	int r = m->fd < 0 || bind(m->fd, (struct sockaddr *)&a, sizeof(a)) ? -errno : 0;
	umask(mask);
	if (!r)
		snprintf(m->path, sizeof(m->path), "%s", path);
	snprintf(m->url, sizeof(m->url), "unix:%s", path);
	return r;
}

static int bind_tcp(struct metrics *m, const char *where, char *why, size_t bytes)
{
	char host[256];
	const char *colon = strrchr(where, ':'), *port = colon ? colon + 1 : where;
	bool six = colon && *where == '[' && colon[-1] == ']';
	snprintf(host, sizeof(host), "%.*s", (int)(colon ? colon - where - 2 * six : 0), where + six);
	struct addrinfo want = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
			*all = NULL;
	int e = getaddrinfo(colon ? host : "127.0.0.1", port, &want, &all), yes = 1;
	if (e) {
		snprintf(why, bytes, "%s", gai_strerror(e));
		return -EINVAL;
	}
	m->fd = socket(all->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (m->fd >= 0)
		setsockopt(m->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	int r = m->fd < 0 || bind(m->fd, all->ai_addr, all->ai_addrlen) ? -errno : 0;
	freeaddrinfo(all);
	struct sockaddr_storage is;
	socklen_t n = sizeof(is);
	char got[8];
	if (!r && !getsockname(m->fd, (struct sockaddr *)&is, &n) &&
	    !getnameinfo((struct sockaddr *)&is, n, NULL, 0, got, sizeof(got), NI_NUMERICSERV))
		port = got;
	snprintf(m->url, sizeof(m->url), "http://%s%s%s:%s/metrics", six ? "[" : "",
		 colon ? host : "127.0.0.1", six ? "]" : "", port);
	return r;
}

// Before the program starts, which is then told in time if it is not there. It stays loaded.
static int load(struct metrics *m, char *why, size_t bytes)
{
	m->functions = beside_load(METRICS_HTTP, "engine", "metrics_http_functions", why, bytes);
	return m->functions ? 0 : -ENOENT;
}

int metrics_open(struct metrics **out, const char *where, const struct clock_pairs *clock, bool flight,
		 char *why, size_t bytes)
{
	struct metrics *m = calloc(1, sizeof(*m));
	*why = 0;
	if (m)
		m->fd = -1;
	int r = !m || (!flight && !(m->times = metrics_times_new(clock))) ? -ENOMEM : 0;
	r = r ? r : load(m, why, bytes);
	if (!r)
		r = strncmp(where, UNIX, strlen(UNIX)) ? bind_tcp(m, where, why, bytes) :
							 bind_unix(m, where + strlen(UNIX));
	if (!r && listen(m->fd, CONNECTIONS))
		r = -errno;
	if (r && !*why)
		snprintf(why, bytes, "%s", strerror(-r));
	if (r)
		metrics_close(m);
	else
		*out = m;
	return r;
}

void metrics_close(struct metrics *m)
{
	if (!m)
		return;
	if (m->http.daemon)
		m->functions->stop(&m->http);
	else if (m->fd >= 0)
		close(m->fd);
	if (*m->path)
		unlink(m->path);
	metrics_times_free(m->times);
	free(m);
}

const char *metrics_url(const struct metrics *m)
{
	return m->url;
}

void (*metrics_seen(const struct metrics *m))(void *arg, const struct writer_batch *b)
{
	return m->times ? metrics_times_take : NULL;
}

void *metrics_seen_arg(const struct metrics *m)
{
	return m->times;
}

// ------------------------------------------------------------------------ answers

static void count_tables(struct metrics *m)
{
	uint64_t begun = clock_mono_ns();
	if (m->counted_ns && begun - m->counted_ns < REST * m->count_took_ns)
		return;
	m->counts = (struct metrics_counts){0};
	for (size_t i = 0; i < m->now->n; i++)
		metrics_counts_add(&m->counts, m->now->processes[i].region, m->now->processes[i].witness);
	m->counted_ns = clock_mono_ns();
	m->count_took_ns = m->counted_ns - begun;
}

static double cpu_seconds(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static char *text(void *arg, bool open_metrics, size_t *bytes)
{
	struct metrics *m = arg;
	count_tables(m);
	struct metrics_values v = {m->counts, m->now->sums, m->times, cpu_seconds(), m->last_switch_s};
	return metrics_text(&v, open_metrics, bytes);
}

int metrics_serve(struct metrics *m)
{
	m->http = (struct metrics_http){.text = text, .arg = m};
	int r = m->functions->start(&m->http, m->fd, CONNECTIONS, IDLE_SECONDS);
	if (!r)
		m->fd = -1;
	return r;
}

void metrics_turn(struct metrics *m, const struct metrics_now *now)
{
	struct timespec t;
	if (now->sums.switches != m->switches) {
		clock_gettime(CLOCK_REALTIME, &t);
		m->switches = now->sums.switches;
		m->last_switch_s = (double)t.tv_sec + (double)t.tv_nsec / 1e9;
	}
	m->now = now;
	if (m->http.daemon)
		m->functions->turn(&m->http);
	m->now = NULL;
}

#else

const char *metrics_lacks(void)
{
	return "libmicrohttpd-dev";
}

int metrics_open(struct metrics **out, const char *where, const struct clock_pairs *clock, bool flight,
		 char *why, size_t bytes)
{
	snprintf(why, bytes, "this ctp was built without it; install %s and build ctp anew", metrics_lacks());
	return -EOPNOTSUPP;
}

void metrics_close(struct metrics *m) {}

int metrics_serve(struct metrics *m)
{
	return -EOPNOTSUPP;
}

const char *metrics_url(const struct metrics *m)
{
	return "";
}

void (*metrics_seen(const struct metrics *m))(void *arg, const struct writer_batch *b)
{
	return NULL;
}

void *metrics_seen_arg(const struct metrics *m)
{
	return NULL;
}

void metrics_turn(struct metrics *m, const struct metrics_now *now) {}
#endif
