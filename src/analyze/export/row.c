// SPDX-License-Identifier: MIT
//
// Texts come out of the watched program. What reaches a target is UTF-8 without NUL, as one of
// them (PostgreSQL) takes nothing else, and all must hold the same.
#include "analyze/export/row.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void row_begin(struct row *r, const struct schema_table *table)
{
	row_deinit(r);
	r->table = table;
	r->n = 0;
	r->wrong = false;
	r->full = false;
}

void row_deinit(struct row *r)
{
	for (unsigned i = 0; i < r->nowned; i++)
		free(r->owned[i]);
	free(r->owned);
	r->owned = NULL;
	r->nowned = 0;
}

// Bytes of the character that begins here; 0: it is none (overlong forms, surrogates, above U+10FFFF).
static size_t character(const unsigned char *s, size_t left)
{
	size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
	if (!n || n > left)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	bool bad = (*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
		   (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f);
	return bad ? 0 : n;
}

// Memory that lasts as long as the row; NULL: there is none.
static char *own(struct row *r, size_t bytes)
{
	char **more = reallocarray(r->owned, r->nowned + 1, sizeof(*more));
	char *to = more ? malloc(bytes) : NULL;
	if (more)
		r->owned = more;
	if (to)
		r->owned[r->nowned++] = to;
	else
		r->full = true;
	return to;
}

static char *mend(struct row *r, const char *s, size_t bytes, size_t *out_bytes)
{
	char *to = own(r, bytes * 3 + 1);
	size_t n = 0;
	for (size_t i = 0; to && i < bytes;) {
		size_t c = character((const unsigned char *)s + i, bytes - i);
		memcpy(to + n, c ? s + i : "\xef\xbf\xbd", c ? c : 3);
		n += c ? c : 3;
		i += c ? c : 1;
	}
	*out_bytes = n;
	return to;
}

void row_copy(struct row *r, const char *s)
{
	char *to = s ? own(r, strlen(s) + 1) : NULL;
	if (to)
		strcpy(to, s);
	if (to || !s)
		row_text(r, to);
}

void row_text(struct row *r, const char *s)
{
	if (!s) {
		row_null(r);
		return;
	}
	struct row_value v = {.text = s, .bytes = strlen(s)};
	for (size_t i = 0; i < v.bytes;) {
		size_t c = character((const unsigned char *)s + i, v.bytes - i);
		if (!c) {
			v.text = mend(r, s, v.bytes, &v.bytes);
			break;
		}
		i += c;
	}
	if (v.text)
		row_put(r, v, SCHEMA_TEXT);
}

int row_done(const struct row *r)
{
	return r->full ? -ENOMEM : r->wrong || r->n != r->table->n ? -EINVAL : 0;
}
