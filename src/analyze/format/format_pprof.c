// SPDX-License-Identifier: MIT
//
// A profile for pprof (github.com/google/pprof, proto/profile.proto), gzipped. Every weight is
// a sample type; the one that was asked for is the default. Functions have files, places have
// lines, and objects have build ids, so that `go tool pprof -list` and others find the source.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "analyze/format/format_profile.h"
#include "analyze/report/run_identity.h"
#include "base/intern.h"
#include "base/protobuf.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NS = 9,
	PROFILE_DURATION_NS = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

struct pprof {
	struct protobuf out; // no message is begun there before the texts that it names are written
	struct intern strings, functions, locations, mappings;
	int r;
};

static uint64_t number_of(struct pprof *f, struct intern *known, const void *key, size_t n, bool *anew)
{
	uint64_t number = intern(known, key, n, anew);
	if (!number)
		f->r = -ENOMEM;
	return number;
}

static uint64_t string(struct pprof *f, const char *text)
{
	bool anew = false;
	uint64_t number = text && *text ? number_of(f, &f->strings, text, strlen(text), &anew) : 0;
	if (anew)
		protobuf_string(&f->out, PROFILE_STRING, text);
	return number;
}

static uint64_t function(struct pprof *f, const struct profile_frame *frame)
{
	const char *file = frame->frame ? frame->frame->file : NULL,
		   *symbol = frame->frame ? frame->frame->symbol : NULL;
	uint64_t key[3] = {string(f, frame->name), string(f, symbol), string(f, file)};
	bool anew;
	uint64_t id = number_of(f, &f->functions, key, sizeof(key), &anew);
	if (!anew)
		return id;
	size_t at = protobuf_begin(&f->out, PROFILE_FUNCTION);
	protobuf_uint(&f->out, FUNCTION_ID, id);
	protobuf_uint(&f->out, FUNCTION_NAME, key[0]);
	protobuf_uint(&f->out, FUNCTION_SYSTEM_NAME, key[1] ? key[1] : key[0]);
	protobuf_uint(&f->out, FUNCTION_FILE, key[2]);
	protobuf_end(&f->out, at);
	return id;
}

static const struct ctp_module *module_of(const struct image *m, const struct symbols_frame *frame)
{
	for (size_t i = m->modules.n; i-- > 0;) {
		const struct ctp_module *x = table_row(&m->modules, i);
		if (frame->module && memchr(x->path, 0, sizeof(x->path)) && !strcmp(frame->module, x->path) &&
		    frame->pc - x->start <= x->end - x->start)
			return x;
	}
	return NULL;
}

static uint64_t mapping(struct pprof *f, const struct image *m, const struct symbols_frame *frame)
{
	const struct ctp_module *x = m && frame ? module_of(m, frame) : NULL;
	char build_id[2 * sizeof(x->build_id) + 1] = "";
	bool anew;
	if (!x)
		return 0;
	for (size_t i = 0; i < x->build_id_len && i < sizeof(x->build_id); i++)
		snprintf(build_id + 2 * i, 3, "%02x", x->build_id[i]);
	uint64_t key[4] = {x->start, x->end, string(f, x->path), string(f, build_id)};
	uint64_t id = number_of(f, &f->mappings, key, sizeof(key), &anew);
	if (!anew)
		return id;
	size_t at = protobuf_begin(&f->out, PROFILE_MAPPING);
	protobuf_uint(&f->out, MAPPING_ID, id);
	protobuf_uint(&f->out, MAPPING_START, x->start);
	protobuf_uint(&f->out, MAPPING_LIMIT, x->end);
	protobuf_uint(&f->out, MAPPING_OFFSET, x->start - x->base);
	protobuf_uint(&f->out, MAPPING_FILE, key[2]);
	protobuf_uint(&f->out, MAPPING_BUILD_ID, key[3]);
	for (unsigned has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINED; has++)
		protobuf_uint(&f->out, has, 1);
	protobuf_end(&f->out, at);
	return id;
}

// Of n frames at one place, outermost first; all but the first are inlined in it.
static uint64_t location(struct pprof *f, const struct image *m, const struct profile_frame *frames, size_t n)
{
	enum { MOST = 32 };
	uint64_t key[2 + 2 * MOST] = {mapping(f, m, frames->frame), frames->frame ? frames->frame->pc : 0};
	bool anew;
	n = n < MOST ? n : MOST;
	for (size_t i = 0; i < n; i++) {
		key[2 + 2 * i] = function(f, &frames[i]);
		key[3 + 2 * i] =
			frames[i].frame && frames[i].frame->line > 0 ? (uint64_t)frames[i].frame->line : 0;
	}
	uint64_t id = number_of(f, &f->locations, key, (2 + 2 * n) * sizeof(*key), &anew);
	if (!anew)
		return id;
	size_t at = protobuf_begin(&f->out, PROFILE_LOCATION);
	protobuf_uint(&f->out, LOCATION_ID, id);
	protobuf_uint(&f->out, LOCATION_MAPPING, key[0]);
	protobuf_uint(&f->out, LOCATION_ADDRESS, key[1]);
	for (size_t i = n; i-- > 0;) { // innermost first
		size_t line = protobuf_begin(&f->out, LOCATION_LINE);
		protobuf_uint(&f->out, LINE_FUNCTION, key[2 + 2 * i]);
		protobuf_uint(&f->out, LINE_LINE, key[3 + 2 * i]);
		protobuf_end(&f->out, line);
	}
	protobuf_end(&f->out, at);
	return id;
}

static bool inlined_in(const struct profile_frame *f, const struct profile_frame *outer)
{
	return f->frame && outer->frame && f->frame->inlined && f->frame->pc == outer->frame->pc;
}

static void sample(struct pprof *f, const struct profile_row *row)
{
	const struct profile_stack *s = &row->stack;
	uint64_t *ids = calloc(s->n + 1, sizeof(*ids));
	char text[CTP_NAME_TEXT];
	size_t n = 0;
	if (!ids) {
		f->r = -ENOMEM;
		return;
	}
	for (size_t end = s->n, i; end > 0; end = i) { // innermost first
		for (i = end - 1; i > 0 && inlined_in(&s->items[i], &s->items[i - 1]); i--)
			;
		ids[n++] = location(f, row->site->image, &s->items[i], end - i);
	}
	uint64_t name = string(f, profile_name_of(row->site, text)), key = name ? string(f, "name") : 0;
	size_t at = protobuf_begin(&f->out, PROFILE_SAMPLE);
	for (size_t i = 0; i < n; i++)
		protobuf_uint(&f->out, SAMPLE_LOCATIONS, ids[i]);
	for (unsigned i = 0; i < PROFILE_WEIGHTS; i++)
		protobuf_uint(&f->out, SAMPLE_VALUES, row->site->weight[i]);
	if (name) {
		size_t label = protobuf_begin(&f->out, SAMPLE_LABEL);
		protobuf_uint(&f->out, LABEL_KEY, key);
		protobuf_uint(&f->out, LABEL_TEXT, name);
		protobuf_end(&f->out, label);
	}
	protobuf_end(&f->out, at);
	free(ids);
}

static void make(struct pprof *f, const struct profile *p, const struct profile_rows *rows, unsigned shown)
{
	uint64_t started = run_identity_wall_ns(p->world, p->world->start_ns);
	protobuf_string(&f->out, PROFILE_STRING, ""); // number 0
	for (unsigned i = 0; i < PROFILE_WEIGHTS; i++) {
		const struct profile_unit *u = profile_unit_of(p, i);
		uint64_t type = string(f, u->name), unit = string(f, u->unit);
		size_t at = protobuf_begin(&f->out, PROFILE_SAMPLE_TYPE);
		protobuf_uint(&f->out, TYPE_TYPE, type);
		protobuf_uint(&f->out, TYPE_UNIT, unit);
		protobuf_end(&f->out, at);
	}
	for (size_t i = 0; i < rows->n; i++)
		sample(f, &rows->items[i]);
	if (started)
		protobuf_uint(&f->out, PROFILE_TIME_NS, started);
	protobuf_uint(&f->out, PROFILE_DURATION_NS, p->world->duration_ns);
	protobuf_uint(&f->out, PROFILE_COMMENT, string(f, "ctp-analyze " CTP_TOOL_VERSION));
	protobuf_uint(&f->out, PROFILE_DEFAULT_TYPE, string(f, profile_unit_of(p, shown)->name));
}

static int write_gzip(FILE *to, const struct protobuf *b)
{
	enum { GZIP = 16 };
	unsigned char chunk[16384];
	z_stream z = {.next_in = b->bytes, .avail_in = (uInt)b->n};
	if (b->n > UINT32_MAX)
		return -EFBIG;
	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return -ENOMEM;
	int r;
	do {
		z.next_out = chunk;
		z.avail_out = sizeof(chunk);
		r = deflate(&z, Z_FINISH);
		fwrite(chunk, 1, sizeof(chunk) - z.avail_out, to);
	} while (r == Z_OK);
	deflateEnd(&z);
	return r == Z_STREAM_END ? 0 : -EIO;
}

int format_pprof(FILE *to, const struct report *report, const struct format_settings *settings)
{
	struct format_profile p;
	struct pprof f = {.r = 0};
	int r = format_profile_make(&p, report, settings, PROFILE_WEIGHTS);
	if (r)
		return r;
	make(&f, &p.profile, &p.rows, settings->weight);
	r = f.r ? f.r : f.out.error;
	if (!r)
		r = write_gzip(to, &f.out);
	format_profile_deinit(&p);
	intern_deinit(&f.strings);
	intern_deinit(&f.functions);
	intern_deinit(&f.locations);
	intern_deinit(&f.mappings);
	protobuf_deinit(&f.out);
	return r;
}
