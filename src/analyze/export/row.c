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
	for (unsigned i = 0; i < r->nmended; i++)
		free(r->mended[i]);
	free(r->mended);
	r->mended = NULL;
	r->nmended = 0;
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

static char *mend(struct row *r, const char *s, size_t bytes, size_t *out_bytes)
{
	char **more = reallocarray(r->mended, r->nmended + 1, sizeof(*more));
	char *to = more ? malloc(bytes * 3 + 1) : NULL;
	if (more)
		r->mended = more;
	if (!to) {
		r->full = true;
		return NULL;
	}
	r->mended[r->nmended++] = to;
	size_t n = 0;
	for (size_t i = 0; i < bytes;) {
		size_t c = character((const unsigned char *)s + i, bytes - i);
		memcpy(to + n, c ? s + i : "\xef\xbf\xbd", c ? c : 3);
		n += c ? c : 3;
		i += c ? c : 1;
	}
	*out_bytes = n;
	return to;
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
