// SPDX-License-Identifier: MIT
//
// The rows of events in regions as event classes of the trace. A row is copied first, and its texts are held
// to what an identifier of C may be, since they become names in `metadata`.
#include "engine/record/event_classes.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "ctp/seq.h"
#include "ctp/there.h"

void event_classes_deinit(struct event_classes *c)
{
	for (size_t i = 0; i < c->n; i++)
		free(c->items[i]);
	free(c->items);
	*c = (struct event_classes){0};
}

static bool is_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	return n && !s[n] && !isdigit((unsigned char)*s);
}

static bool is_field(const struct event_field *f)
{
	static const uint16_t sizes[] = {
		[CTP_FIELD_SIGNED] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
		[CTP_FIELD_UNSIGNED] = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
		[CTP_FIELD_FLOAT] = 1 << 4 | 1 << 8,
		[CTP_FIELD_POINTER] = 1 << 8,
	};
	if (!is_name(f->name))
		return false;
	if (f->kind == CTP_FIELD_TEXT || f->kind == CTP_FIELD_BYTES)
		return true;
	return f->kind < sizeof(sizes) / sizeof(*sizes) && f->bytes <= 8 && sizes[f->kind] >> f->bytes & 1;
}

// The next string of the text; NULL: there is none.
static const char *next(const struct event_class *k, const char **at)
{
	const char *s = *at, *end = k->text + k->text_bytes;
	if (s >= end)
		return NULL;
	*at = s + strlen(s) + 1;
	return s;
}

static bool is_number(const struct event_field *f)
{
	return f->kind != CTP_FIELD_TEXT && f->kind != CTP_FIELD_BYTES;
}

static uint32_t numbers_bytes(const struct event_class *k)
{
	uint32_t bytes = 0;
	for (unsigned i = 0; i < k->nfields; i++) {
		if (!is_number(&k->fields[i]))
			return 0;
		bytes += k->fields[i].bytes;
	}
	return bytes;
}

// Fills in k from a copy of the row. False: it is no event.
static bool describe(struct event_class *k, const struct ctp_event_row *row)
{
	const char *at = k->text;
	if (!row->text_bytes || row->text_bytes > CTP_EVENT_ROW_TEXT || row->fields > CTP_EVENT_ROW_FIELDS)
		return false;
	k->text_bytes = row->text_bytes;
	memcpy(k->text, row->text, row->text_bytes);
	k->text[k->text_bytes] = '\0';
	k->line = row->line;
	k->provider = next(k, &at);
	k->name = next(k, &at);
	k->file = next(k, &at);
	if (!k->file || !is_name(k->provider) || !is_name(k->name))
		return false;
	for (k->nfields = 0; k->nfields < row->fields; k->nfields++) {
		struct event_field *f = &k->fields[k->nfields];
		*f = (struct event_field){.type = next(k, &at),
					  .name = next(k, &at),
					  .kind = row->kinds[k->nfields],
					  .bytes = row->sizes[k->nfields]};
		if (!f->name || !is_field(f))
			return false;
	}
	k->numbers_bytes = numbers_bytes(k);
	return true;
}

static bool same(const struct event_class *a, const struct event_class *b)
{
	bool is = a->nfields == b->nfields && !strcmp(a->provider, b->provider) && !strcmp(a->name, b->name);
	for (unsigned i = 0; is && i < a->nfields; i++)
		is = a->fields[i].kind == b->fields[i].kind && a->fields[i].bytes == b->fields[i].bytes &&
		     !strcmp(a->fields[i].name, b->fields[i].name);
	return is;
}

// Takes k, unless there is one like it. Returns what there is; NULL: there is no memory.
static const struct event_class *keep(struct event_classes *c, struct event_class *k)
{
	for (size_t i = 0; i < c->n; i++)
		if (same(c->items[i], k)) {
			free(k);
			return c->items[i];
		}
	if (c->n == c->room) {
		size_t room = c->room ? 2 * c->room : 64;
		struct event_class **more = realloc(c->items, room * sizeof(*more));
		if (!more) {
			free(k);
			return NULL;
		}
		c->items = more;
		c->room = room;
	}
	k->id = (uint32_t)c->n;
	return c->items[c->n++] = k;
}

const struct event_class *event_classes_of(struct event_classes *c, const struct ctp_region *r, uint32_t row)
{
	if (row >= r->events_max || !ctp_there(r, &r->events[row]) || !ctp_load32(&r->events[row].ready))
		return NULL;
	const struct ctp_event_row copy = r->events[row];
	struct event_class *k = calloc(1, sizeof(*k));
	if (!k || !describe(k, &copy)) {
		free(k);
		return NULL;
	}
	return keep(c, k);
}

const struct event_class *event_classes_usdt(struct event_classes *c, const char *provider, const char *name,
					     const char *file, const struct event_field *fields, unsigned n)
{
	struct event_class *k = calloc(1, sizeof(*k));
	if (!k || !is_name(provider) || !is_name(name) || n > CTP_EVENT_ROW_FIELDS) {
		free(k);
		return NULL;
	}
	int bytes = snprintf(k->text, sizeof(k->text), "%s%c%s%c%s", provider, 0, name, 0, file) + 1;
	if (bytes > (int)sizeof(k->text)) {
		free(k);
		return NULL;
	}
	const char *at = k->text;
	k->text_bytes = (uint32_t)bytes;
	k->provider = next(k, &at);
	k->name = next(k, &at);
	k->file = next(k, &at);
	k->nfields = n;
	if (n)
		memcpy(k->fields, fields, n * sizeof(*fields));
	k->numbers_bytes = numbers_bytes(k);
	return keep(c, k);
}

// ------------------------------------------------------------------- written

// An underscore before each name: readers take it away, and no name is a word of the language then.
static void print_field(const struct event_field *f, FILE *out)
{
	unsigned bits = f->bytes * 8u;
	switch (f->kind) {
	case CTP_FIELD_SIGNED:
		fprintf(out, "\t\tinteger { size = %u; align = 8; signed = true; } _%s;\n", bits, f->name);
		break;
	case CTP_FIELD_UNSIGNED:
		fprintf(out, "\t\tinteger { size = %u; align = 8; signed = false; } _%s;\n", bits, f->name);
		break;
	case CTP_FIELD_FLOAT:
		fprintf(out, "\t\tfloating_point { exp_dig = %u; mant_dig = %u; align = 8; } _%s;\n",
			bits == 32 ? 8u : 11u, bits == 32 ? 24u : 53u, f->name);
		break;
	case CTP_FIELD_POINTER:
		fprintf(out, "\t\taddr64 _%s;\n", f->name);
		break;
	case CTP_FIELD_TEXT:
		fprintf(out, "\t\tstring { encoding = UTF8; } _%s;\n", f->name);
		break;
	default:
		fprintf(out,
			"\t\tuint32_t _%s_bytes;\n\t\tinteger { size = 16; align = 8; signed = false; } _%s_kept;\n"
			"\t\tuint8_t _%s[_%s_kept];\n",
			f->name, f->name, f->name, f->name);
	}
}

void event_classes_print(const struct event_classes *c, FILE *f)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct event_class *k = c->items[i];
		fprintf(f,
			"event {\n\tid = %" PRIu32
			";\n\tname = \"%s:%s\";\n\tstream_id = %u;\n\tfields := struct {\n"
			"\t\tuint64_t _coroutine;\n",
			k->id, k->provider, k->name, EVENT_STREAM_ID);
		for (unsigned n = 0; n < k->nfields; n++)
			print_field(&k->fields[n], f);
		fputs("\t};\n};\n", f);
	}
}

static json_t *line_of(const struct event_class *k)
{
	static const char *const kinds[] = {[CTP_FIELD_SIGNED] = "signed", [CTP_FIELD_UNSIGNED] = "unsigned",
					    [CTP_FIELD_FLOAT] = "float",   [CTP_FIELD_POINTER] = "pointer",
					    [CTP_FIELD_TEXT] = "text",     [CTP_FIELD_BYTES] = "bytes"};
	json_t *fields = json_array();
	for (unsigned i = 0; i < k->nfields; i++)
		json_array_append_new(
			fields, json_pack("{s:s, s:o, s:s, s:i}", "name", k->fields[i].name, "type",
					  json_text(k->fields[i].type), "kind", kinds[k->fields[i].kind],
					  "size", (int)k->fields[i].bytes));
	return json_pack("{s:i, s:I, s:s, s:s, s:o, s:I, s:o}", "v", 1, "id", (json_int_t)k->id, "provider",
			 k->provider, "name", k->name, "file", json_text(k->file), "line",
			 (json_int_t)k->line, "fields", fields);
}

// Written over itself, as only lines are added.
int event_classes_write(const struct event_classes *c, int dir)
{
	int fd = openat(dir, "ctp/events.jsonl", O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	int r = 0;
	if (!f) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	for (size_t i = 0; i < c->n && !r; i++) {
		json_t *line = line_of(c->items[i]);
		r = line && !json_dumpf(line, f, JSON_COMPACT) && fputc('\n', f) != EOF ? 0 : -EIO;
		json_decref(line);
	}
	if (fclose(f) && !r)
		r = errno ? -errno : -EIO;
	return r;
}
