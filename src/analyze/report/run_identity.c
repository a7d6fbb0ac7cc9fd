// SPDX-License-Identifier: MIT
//
// All times of a run are told with the offset from UTC that it began with: so a report says the same
// wherever it is made, and does not jump where a clock was put back meanwhile.
#include "analyze/report/run_identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

static const struct ctp_ext *ext_of_core(const struct world *w)
{
	return w->form == WORLD_CORE && w->nimages ? &w->images[0].ext : NULL;
}

// CLOCK_REALTIME at *ns of the trace's clock; 0: not known.
static uint64_t wall_pair(const struct world *w, uint64_t *ns)
{
	const struct ctp_ext *e = ext_of_core(w);
	*ns = e ? e->clock_ns0 : w->manifest.ns0;
	return e ? e->wall_ns0 : w->manifest.wall_ns0;
}

// "+01:30" at the end of an RFC 3339 time. False: there is none.
static bool read_offset(const char *time, int *seconds)
{
	size_t n = time ? strlen(time) : 0;
	int hours, minutes;
	if (n < 6 || !strchr("+-", time[n - 6]) || sscanf(time + n - 5, "%2d:%2d", &hours, &minutes) != 2)
		return false;
	*seconds = (hours * 60 + minutes) * 60 * (time[n - 6] == '-' ? -1 : 1);
	return true;
}

int run_identity_offset(const struct world *w)
{
	int seconds = 0;
	uint64_t ns;
	time_t at = (time_t)(wall_pair(w, &ns) / 1000000000);
	struct tm local;
	if (!read_offset(w->manifest.started, &seconds) && at && localtime_r(&at, &local))
		seconds = (int)local.tm_gmtoff;
	return seconds;
}

uint64_t run_identity_wall_ns(const struct world *w, uint64_t ns)
{
	uint64_t ns0, wall = wall_pair(w, &ns0);
	int64_t at = (int64_t)(wall + ns - ns0);
	return wall && ns && at > 0 ? (uint64_t)at : 0;
}

static bool wall_of(const struct world *w, uint64_t ns, struct tm *tm, unsigned *us)
{
	uint64_t at = run_identity_wall_ns(w, ns);
	if (!at)
		return false;
	time_t s = (time_t)(at / 1000000000) + run_identity_offset(w);
	*us = (unsigned)(at % 1000000000 / 1000);
	return gmtime_r(&s, tm);
}

const char *run_identity_wall(const struct world *w, uint64_t ns, char buf[RUN_IDENTITY_TIME])
{
	struct tm tm;
	unsigned us;
	char day[24];
	int offset = run_identity_offset(w), minutes = abs(offset) / 60;
	if (!wall_of(w, ns, &tm, &us))
		return NULL;
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf, RUN_IDENTITY_TIME, "%s.%06u%c%02u:%02u", day, us, offset < 0 ? '-' : '+',
		 (unsigned)minutes / 60 % 100, (unsigned)minutes % 60);
	return buf;
}

const char *run_identity_clock(const struct world *w, uint64_t ns, char buf[RUN_IDENTITY_TIME])
{
	struct tm tm;
	unsigned us;
	*buf = 0;
	if (wall_of(w, ns, &tm, &us))
		snprintf(buf, RUN_IDENTITY_TIME, "%02u:%02u:%02u.%03u", (unsigned)tm.tm_hour % 100,
			 (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100, us / 1000);
	return buf;
}

const char *run_identity_started(const struct world *w, char buf[RUN_IDENTITY_TIME])
{
	uint64_t ns;
	wall_pair(w, &ns);
	return w->manifest.started ? w->manifest.started : run_identity_wall(w, ns, buf);
}

const char *run_identity_uuid(const struct world *w, char buf[RUN_IDENTITY_UUID])
{
	static const uint8_t none[16];
	const struct ctp_ext *e = ext_of_core(w);
	if (!e || !memcmp(e->uuid, none, sizeof(none)))
		return w->manifest.uuid;
	char *at = buf;
	for (unsigned i = 0; i < sizeof(e->uuid); i++)
		at += sprintf(at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", e->uuid[i]);
	return buf;
}

const char *run_identity_version(const struct world *w)
{
	const char *tool = w->manifest.tool;
	return tool && !strncmp(tool, "ctp-run ", 8) ? tool + 8 : tool;
}

uint64_t run_identity_pid(const struct world *w)
{
	return w->nimages ? w->images[0].pid : 0;
}

static void add(char *buf, size_t bytes, const char *before, const char *text)
{
	size_t at = strlen(buf);
	snprintf(buf + at, bytes - at, "%s%s", at ? before : before + strspn(before, ", "), text);
}

static void process_line(const struct world *w, char *buf, size_t bytes)
{
	char pid[24];
	snprintf(pid, sizeof(pid), "%" PRIu64, run_identity_pid(w));
	if (w->manifest.command)
		add(buf, bytes, "", w->manifest.command);
	if (run_identity_pid(w))
		add(buf, bytes, ", pid ", pid);
	if (w->manifest.host && *w->manifest.host)
		add(buf, bytes, ", on host ", w->manifest.host);
}

static void time_line(const struct world *w, char *buf, size_t bytes)
{
	char time[RUN_IDENTITY_TIME], span[32];
	const char *started = run_identity_started(w, time);
	text_duration(span, sizeof(span), w->duration_ns);
	if (!started)
		return;
	add(buf, bytes, "", started);
	add(buf, bytes, ", duration ", span);
}

static void trace_line(const struct world *w, char *buf, size_t bytes)
{
	char uuid[RUN_IDENTITY_UUID], part[24];
	const char *is = run_identity_uuid(w, uuid), *version = run_identity_version(w);
	snprintf(part, sizeof(part), "%u", w->manifest.part);
	if (is)
		add(buf, bytes, "", is);
	if (w->manifest.part)
		add(buf, bytes, ", snapshot ", part);
	if (version)
		add(buf, bytes, ", ctp ", version);
}

const char *run_identity_line(const struct world *w, unsigned i, char *buf, size_t bytes)
{
	static const struct {
		const char *label;
		void (*write)(const struct world *w, char *buf, size_t bytes);
	} lines[RUN_IDENTITY_LINES] = {{"run", process_line}, {"started", time_line}, {"trace", trace_line}};
	*buf = 0;
	if (w->form != WORLD_LINES)
		lines[i].write(w, buf, bytes);
	text_clean(buf); // a name with a newline in it makes no line of its own
	return *buf ? lines[i].label : NULL;
}
