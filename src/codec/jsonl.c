// SPDX-License-Identifier: MIT
//
// Lines are formatted and parsed by hand: printf would cost more than all else that
// ctp-run does at a million switches a second.
#include "codec/jsonl.h"

#include <string.h>

static char *put_text(char *p, const char *text, size_t n)
{
	memcpy(p, text, n);
	return p + n;
}
#define PUT(p, literal) put_text(p, literal, sizeof(literal) - 1)

static unsigned count_digits(uint64_t v)
{
	static const uint64_t powers[] = {1ULL,
					  10ULL,
					  100ULL,
					  1000ULL,
					  10000ULL,
					  100000ULL,
					  1000000ULL,
					  10000000ULL,
					  100000000ULL,
					  1000000000ULL,
					  10000000000ULL,
					  100000000000ULL,
					  1000000000000ULL,
					  10000000000000ULL,
					  100000000000000ULL,
					  1000000000000000ULL,
					  10000000000000000ULL,
					  100000000000000000ULL,
					  1000000000000000000ULL,
					  10000000000000000000ULL};
	unsigned n = (64 - (unsigned)__builtin_clzll(v | 1)) * 1233 >> 12; // log 2 is 1233 / 4096
	return n + ((v | 1) >= powers[n]);
}

static char *put_number(char *p, uint64_t v)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
		"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
		"8081828384858687888990919293949596979899";
	char *end = p + count_digits(v), *at = end;
	for (; v >= 10; v /= 100)
		memcpy(at -= 2, pairs + 2 * (v % 100), 2);
	if (at > p)
		*p = (char)('0' + v);
	return end;
}

// Eight digits at once: a byte for each four bits, the highest first in memory.
static char *put_hex(char *p, uint64_t v)
{
	v = (v << 16 | v) & 0x0000ffff0000ffff;
	v = (v << 8 | v) & 0x00ff00ff00ff00ff;
	v = (v << 4 | v) & 0x0f0f0f0f0f0f0f0f;
	uint64_t letters = (v + 0x0606060606060606) >> 4 & 0x0101010101010101;
	v = __builtin_bswap64(v + 0x3030303030303030 + letters * ('a' - '0' - 10));
	return put_text(p, (const char *)&v, 8);
}

static char *put_address(char *p, uint64_t v)
{
	return put_hex(put_hex(p, v >> 32), v & UINT32_MAX);
}

size_t ctp_jsonl_format(char *out, const struct ctp_jsonl_line *line)
{
	char *p = PUT(out, CTP_JSONL_BEGIN);
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
	if (line->unread)
		p = PUT(p, ",\"read\":false");
	p = PUT(p, "}\n");
	return (size_t)(p - out);
}

// ------------------------------------------------------------------ as read

// Goes past the text, or nowhere.
static bool take_text(const char **p, const char *end, const char *text, size_t n)
{
	if ((size_t)(end - *p) < n || memcmp(*p, text, n))
		return false;
	*p += n;
	return true;
}
#define TAKE(p, end, literal) take_text(p, end, literal, sizeof(literal) - 1)

// Up to 18 digits, of which the first is no needless 0.
static bool take_number(const char **p, const char *end, uint64_t *v)
{
	const char *at = *p;
	uint64_t n = 0;
	for (; at < end && *at >= '0' && *at <= '9' && at - *p < 19; at++)
		n = n * 10 + (uint64_t)(*at - '0');
	if (at == *p || at - *p > 18 || (**p == '0' && at - *p > 1))
		return false;
	*p = at;
	*v = n;
	return true;
}

static bool take_address(const char **p, const char *end, uint64_t *v)
{
	if (end - *p < 16)
		return false;
	uint64_t n = 0;
	for (unsigned i = 0; i < 16; i++) {
		char c = *(*p)++;
		unsigned digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
		if (digit > 15)
			return false;
		n = n << 4 | digit;
	}
	*v = n;
	return true;
}

bool ctp_jsonl_read(const char *text, size_t n, struct ctp_jsonl_line *line)
{
	const char *p = text, *end = text + n;
	struct ctp_jsonl_line l = {0};
	if (!TAKE(&p, end, CTP_JSONL_BEGIN) || !take_number(&p, end, &l.probe_id) ||
	    !TAKE(&p, end, ",\"tid\":") || !take_number(&p, end, &l.tid) ||
	    !TAKE(&p, end, ",\"addr\":\"0x") || !take_address(&p, end, &l.addr) ||
	    !TAKE(&p, end, "\",\"seq\":") || !take_number(&p, end, &l.seq) ||
	    !TAKE(&p, end, ",\"is_active\":"))
		return false;
	l.is_active = TAKE(&p, end, "true");
	if ((!l.is_active && !TAKE(&p, end, "false")) || !TAKE(&p, end, ",\"ts\":") ||
	    !take_number(&p, end, &l.ts))
		return false;
	l.is_station = TAKE(&p, end, ",\"station_probe_id\":");
	if (l.is_station && !take_number(&p, end, &l.station_probe_id))
		return false;
	l.native = TAKE(&p, end, ",\"native\":true");
	l.finished = TAKE(&p, end, ",\"finished\":true");
	l.unread = TAKE(&p, end, ",\"read\":false");
	if (!TAKE(&p, end, "}\n") || p != end)
		return false;
	*line = l;
	return true;
}

// ------------------------------------------------------------- of a switch

static uint64_t not_before(struct ctp_merge_entity *e, uint64_t ns)
{
	return e->ts = ns > e->ts ? ns : e->ts;
}

size_t ctp_jsonl_switch(char *out, const struct ctp_merged *m, uint64_t ns, uint64_t pc, bool unread)
{
	unsigned how = m->event.how;
	struct ctp_jsonl_line outgoing = {.probe_id = m->from->id,
					  .tid = m->tid,
					  .addr = pc,
					  .seq = 2 * m->from_n,
					  .ts = not_before(m->from, ns),
					  .native = m->from->native,
					  .unread = unread,
					  .finished = how == CTP_HOW_RETURN || how == CTP_HOW_GONE};
	struct ctp_jsonl_line incoming = {.probe_id = m->to->id,
					  .tid = m->tid,
					  .addr = m->to->addr,
					  .seq = 2 * m->to_n,
					  .is_active = true,
					  .ts = not_before(m->to, ns),
					  .native = m->to->native,
					  .unread = unread};
	m->from->addr = pc;
	size_t n = ctp_jsonl_format(out, &outgoing);
	return n + ctp_jsonl_format(out + n, &incoming);
}

void ctp_jsonl_other(const struct ctp_merged *m)
{
	if (m->from && m->event.kind == CTP_EV_CREATE)
		m->from->addr = m->event.value;
	if (m->from && m->event.kind == CTP_EV_THREAD)
		m->from->native = true;
}
