// SPDX-License-Identifier: MIT
//
// The lines are made by hand: at a million switches a second printf would be
// what ctp-run does.
#include "ctp/jsonl.h"

#include <string.h>

static char *put_text(char *p, const char *text, size_t n)
{
	memcpy(p, text, n);
	return p + n;
}
#define PUT(p, literal) put_text(p, literal, sizeof(literal) - 1)

static char *put_number(char *p, uint64_t v)
{
	char digits[20];
	unsigned n = 0;
	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *put_address(char *p, uint64_t v)
{
	for (int shift = 60; shift >= 0; shift -= 4)
		*p++ = "0123456789abcdef"[v >> shift & 15];
	return p;
}

size_t ctp_jsonl_format(char *out, const struct ctp_jsonl_line *line)
{
	char *p = PUT(out, "{\"probe_id\":");
	p = put_number(p, line->probe_id);
	p = PUT(p, ",\"tid\":");
	p = put_number(p, line->tid);
	p = PUT(p, ",\"addr\":\"0x");
	p = put_address(p, line->addr);
	p = PUT(p, "\",\"seq\":");
	p = put_number(p, line->seq);
	p = line->is_active ? PUT(p, ",\"is_active\":true,\"ts\":") : PUT(p, ",\"is_active\":false,\"ts\":");
	p = put_number(p, line->ts);
	if (line->is_station) {
		p = PUT(p, ",\"station_probe_id\":");
		p = put_number(p, line->station_probe_id);
	}
	if (line->native)
		p = PUT(p, ",\"native\":true");
	if (line->finished)
		p = PUT(p, ",\"finished\":true");
	p = PUT(p, "}\n");
	return (size_t)(p - out);
}

static uint64_t not_before(struct ctp_merge_entity *e, uint64_t ns)
{
	return e->ts = ns > e->ts ? ns : e->ts;
}

size_t ctp_jsonl_switch(char *out, const struct ctp_merged *m, uint64_t ns, uint64_t pc)
{
	unsigned how = m->event.how;
	struct ctp_jsonl_line leaves = { .probe_id = m->from->id, .tid = m->tid, .addr = pc, .seq = 2 * m->from_n,
					 .ts = not_before(m->from, ns), .native = m->from->native,
					 .finished = how == CTP_HOW_RETURN || how == CTP_HOW_GONE };
	struct ctp_jsonl_line goes_on = { .probe_id = m->to->id, .tid = m->tid, .addr = m->to->addr,
					  .seq = 2 * m->to_n, .is_active = true, .ts = not_before(m->to, ns),
					  .native = m->to->native };
	m->from->addr = pc;
	size_t n = ctp_jsonl_format(out, &leaves);
	return n + ctp_jsonl_format(out + n, &goes_on);
}

void ctp_jsonl_other(const struct ctp_merged *m)
{
	if (m->from && m->event.kind == CTP_EV_CREATE)
		m->from->addr = m->event.value;
	if (m->from && m->event.kind == CTP_EV_THREAD)
		m->from->native = true;
}
