// SPDX-License-Identifier: MIT
//
// Reads events of the program's own by their classes. Nothing in a packet is trusted: an event that does not
// end within it makes the rest of the packet unreadable, which is counted.
#include "trace/stream/program_events.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"

enum { HEAD_BYTES = 4 + 8 + 8, PACKET_MOST = 64 << 20 };

// ------------------------------------------------------------------ classes

static void class_deinit(struct program_class *k)
{
	for (unsigned i = 0; i < k->nfields; i++) {
		free(k->fields[i].name);
		free(k->fields[i].type);
	}
	free(k->provider);
	free(k->name);
	free(k->file);
}

void program_classes_deinit(struct program_classes *c)
{
	for (size_t i = 0; i < c->n; i++)
		class_deinit(&c->items[i]);
	free(c->items);
	*c = (struct program_classes){0};
}

static char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? strdup(s) : NULL;
}

static bool field_of(struct program_field *f, const json_t *o)
{
	static const char *const kinds[] = {"", "signed", "unsigned", "float", "pointer", "text", "bytes"};
	const char *kind = json_string_value(json_object_get(o, "kind"));
	json_int_t size = json_integer_value(json_object_get(o, "size"));
	*f = (struct program_field){
		.name = text_of(o, "name"), .type = text_of(o, "type"), .bytes = (uint8_t)size};
	for (uint8_t i = 1; kind && i <= CTP_FIELD_BYTES; i++)
		if (!strcmp(kind, kinds[i]))
			f->kind = i;
	bool number = f->kind && f->kind < CTP_FIELD_TEXT;
	return f->name && f->type && f->kind &&
	       (!number || size == 1 || size == 2 || size == 4 || size == 8) &&
	       (f->kind != CTP_FIELD_FLOAT || size >= 4);
}

// Classes are numbered from 0 on, in their order.
static int add_class(void *to, const json_t *o)
{
	struct program_classes *c = to;
	const json_t *fields = json_object_get(o, "fields");
	struct program_class k = {.id = (uint64_t)json_integer_value(json_object_get(o, "id")),
				  .line = (uint32_t)json_integer_value(json_object_get(o, "line")),
				  .provider = text_of(o, "provider"),
				  .name = text_of(o, "name"),
				  .file = text_of(o, "file")};
	bool sound = k.provider && k.name && k.file && k.id == c->n &&
		     json_array_size(fields) <= CTP_EVENT_ROW_FIELDS;
	for (size_t i = 0; sound && i < json_array_size(fields); i++)
		sound = field_of(&k.fields[k.nfields++], json_array_get(fields, i));
	if (!sound) {
		class_deinit(&k);
		c->bad_lines++;
		return 0;
	}
	if (GROW(c->items, c->n, c->capacity)) {
		class_deinit(&k);
		return -ENOMEM;
	}
	c->items[c->n++] = k;
	return 0;
}

int program_classes_read(struct program_classes *c, int folder)
{
	return json_each_line(folder, "events.jsonl", add_class, c, &c->bad_lines);
}

const struct program_class *program_classes_find(const struct program_classes *c, const char *called)
{
	const char *colon = strchr(called, ':');
	for (size_t i = 0; colon && i < c->n; i++) {
		const struct program_class *k = &c->items[i];
		size_t n = strlen(k->provider);
		if (n == (size_t)(colon - called) && !memcmp(k->provider, called, n) &&
		    !strcmp(k->name, colon + 1))
			return k;
	}
	return NULL;
}

// ------------------------------------------------------------------- values

// One field at `at`, of which `left` bytes are there. Returns its bytes; 0: it is cut.
static size_t value(const struct program_field *f, const unsigned char *at, size_t left,
		    struct program_value *v)
{
	*v = (struct program_value){0};
	if (f->kind == CTP_FIELD_TEXT) {
		const unsigned char *end = memchr(at, 0, left);
		v->text = (const char *)at;
		v->bytes = end ? (size_t)(end - at) : 0;
		return end ? v->bytes + 1 : 0;
	}
	if (f->kind == CTP_FIELD_BYTES) {
		uint32_t whole;
		uint16_t n;
		if (left < 6)
			return 0;
		memcpy(&whole, at, 4);
		memcpy(&n, at + 4, 2);
		v->text = (const char *)at + 6;
		v->bytes = n;
		v->whole = whole;
		return left - 6 < n ? 0 : 6u + n;
	}
	if (left < f->bytes)
		return 0;
	memcpy(&v->word, at, f->bytes);
	if (f->kind == CTP_FIELD_SIGNED) {
		unsigned shift = 64 - 8 * f->bytes;
		v->word = (uint64_t)((int64_t)(v->word << shift) >> shift);
	} else if (f->kind == CTP_FIELD_FLOAT && f->bytes == 4) {
		float single;
		memcpy(&single, at, 4);
		double wide = single;
		memcpy(&v->word, &wide, 8);
	}
	return f->bytes;
}

void program_event_values(const struct program_event *e, struct program_value values[CTP_EVENT_ROW_FIELDS])
{
	const unsigned char *at = e->at;
	for (unsigned i = 0; i < e->class->nfields; i++)
		at += value(&e->class->fields[i], at, SIZE_MAX / 2, &values[i]);
}

static void append(char *buf, size_t bytes, size_t *at, const char *text, size_t n)
{
	for (size_t i = 0; i < n && *at + 1 < bytes; i++) {
		unsigned char c = (unsigned char)text[i];
		buf[(*at)++] = c < ' ' || c == 0x7f ? '?' : (char)c;
	}
	buf[*at] = '\0';
}

static void append_text(char *buf, size_t bytes, size_t *at, const char *text)
{
	append(buf, bytes, at, text, strlen(text));
}

const char *program_value_text(const struct program_field *f, const struct program_value *v, char *buf,
			       size_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;
	double wide;
	memcpy(&wide, &v->word, 8);
	*buf = '\0';
	switch (f->kind) {
	case CTP_FIELD_SIGNED:
		snprintf(buf, bytes, "%" PRId64, (int64_t)v->word);
		break;
	case CTP_FIELD_UNSIGNED:
		snprintf(buf, bytes, "%" PRIu64, v->word);
		break;
	case CTP_FIELD_FLOAT:
		snprintf(buf, bytes, "%.*g", f->bytes == 4 ? 9 : 17, wide);
		break;
	case CTP_FIELD_POINTER:
		snprintf(buf, bytes, "0x%" PRIx64, v->word);
		break;
	case CTP_FIELD_TEXT:
		append(buf, bytes, &at, v->text, v->bytes);
		break;
	default:
		for (size_t i = 0; i < v->bytes; i++) {
			unsigned char c = (unsigned char)v->text[i];
			append(buf, bytes, &at, (const char[]){digits[c >> 4], digits[c & 15]}, 2);
		}
		append_text(buf, bytes, &at, v->bytes < v->whole ? "..." : "");
	}
	return buf;
}

void program_event_text(const struct program_event *e, char *buf, size_t bytes)
{
	struct program_value values[CTP_EVENT_ROW_FIELDS];
	char text[3 * CTP_FIELD_MOST + 4];
	size_t at = 0;
	program_event_values(e, values);
	*buf = '\0';
	for (unsigned i = 0; i < e->class->nfields; i++) {
		const struct program_field *f = &e->class->fields[i];
		const char *quote = f->kind == CTP_FIELD_TEXT ? "\"" : "";
		append_text(buf, bytes, &at, i ? ", " : "");
		append_text(buf, bytes, &at, f->name);
		append_text(buf, bytes, &at, " = ");
		append_text(buf, bytes, &at, quote);
		append_text(buf, bytes, &at, program_value_text(f, &values[i], text, sizeof(text)));
		append_text(buf, bytes, &at, quote);
	}
}

// ------------------------------------------------------------------ packets

// The event at `at`; its bytes, 0: it is none.
static size_t event(struct program_event *e, const struct program_classes *c, const unsigned char *at,
		    size_t left)
{
	struct program_value v;
	uint32_t id;
	if (left < HEAD_BYTES)
		return 0;
	memcpy(&id, at, 4);
	memcpy(&e->time, at + 4, 8);
	memcpy(&e->coroutine, at + 12, 8);
	if (id >= c->n)
		return 0;
	e->class = &c->items[id];
	e->at = at + HEAD_BYTES;
	size_t used = HEAD_BYTES;
	for (unsigned i = 0; i < e->class->nfields; i++) {
		size_t n = value(&e->class->fields[i], at + used, left - used, &v);
		if (!n)
			return 0;
		used += n;
	}
	return used;
}

static int parse(struct program_packet *p, const struct program_classes *c, size_t n)
{
	for (size_t at = 0, took; at < n; at += took) {
		if (GROW(p->events, p->n, p->capacity))
			return -ENOMEM;
		took = event(&p->events[p->n], c, p->bytes + at, n - at);
		if (!took) {
			p->unreadable++;
			return 0;
		}
		p->n++;
	}
	return 0;
}

// All of the packet's content into p->bytes, of *n bytes. 0, -errno.
static int read_all(struct program_packet *p, struct stream_reader *r, size_t *n)
{
	const void *piece;
	size_t some;
	int e;
	*n = 0;
	while ((e = stream_bytes(r, &piece, &some)) > 0) {
		if (*n + some > PACKET_MOST)
			return -EFBIG;
		if (*n + some > p->room) {
			size_t room = 2 * (*n + some);
			unsigned char *more = realloc(p->bytes, room);
			if (!more)
				return -ENOMEM;
			p->bytes = more;
			p->room = room;
		}
		memcpy(p->bytes + *n, piece, some);
		*n += some;
	}
	return e;
}

int program_packet_next(struct program_packet *p, struct stream_reader *r, const struct program_classes *c)
{
	const struct stream_packet *packet;
	size_t n;
	p->n = 0;
	int e;
	do {
		e = stream_packet(r, &packet);
		if (e <= 0)
			return e;
		p->tid = packet->tid;
		e = read_all(p, r, &n);
		e = e ? e : parse(p, c, n);
	} while (!e && !p->n);
	return e ? e : 1;
}

void program_packet_deinit(struct program_packet *p)
{
	free(p->bytes);
	free(p->events);
	*p = (struct program_packet){0};
}
