// SPDX-License-Identifier: MIT
//
// A file for speedscope (https://www.speedscope.app/file-format-schema.json): a sampled
// profile for each weight, the one that was asked for first. A function is one frame whatever
// the line, so stacks that differ by a line are one box.
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/format_profile.h"
#include "base/file.h"
#include "base/intern.h"

struct scope {
	json_t *frames;
	struct intern by_name; // "name\nfile" -> row of frames, + 1
	int r;
};

static json_int_t row_of(struct scope *s, const struct profile_frame *f)
{
	json_t *text = f->frame && f->frame->file ? json_string(f->frame->file) :
						    NULL; // NULL: no file, or no UTF-8
	const char *file = text ? json_string_value(text) : "";
	char *key = NULL;
	if (asprintf(&key, "%s\n%s", f->name, file) < 0) {
		s->r = -ENOMEM;
		json_decref(text);
		return 0;
	}
	bool anew;
	json_int_t row = (json_int_t)intern(&s->by_name, key, strlen(key), &anew) - 1;
	if (row < 0) {
		s->r = -ENOMEM;
	} else if (anew) {
		json_t *frame = *file ? json_pack("{s:s, s:s}", "name", f->name, "file", file) :
					json_pack("{s:s}", "name", f->name);
		if (!frame || json_array_append_new(s->frames, frame))
			s->r = -ENOMEM;
	}
	free(key);
	json_decref(text);
	return row;
}

static json_t *profile_of(struct scope *s, const struct profile *p, const struct profile_rows *rows,
			  unsigned weight)
{
	const struct profile_unit *u = profile_unit_of(p, weight);
	json_t *samples = json_array(), *weights = json_array();
	json_int_t sum = 0;
	for (size_t i = 0; i < rows->n; i++) {
		const struct profile_row *row = &rows->items[i];
		json_int_t n = (json_int_t)row->site->weight[weight];
		json_t *stack = n ? json_array() : NULL;
		for (size_t k = 0; stack && k < row->stack.n; k++)
			json_array_append_new(stack, json_integer(row_of(s, &row->stack.items[k])));
		if (!n)
			continue;
		if (json_array_append_new(samples, stack) || json_array_append_new(weights, json_integer(n)))
			s->r = -ENOMEM;
		sum += n;
	}
	return json_pack("{s:s, s:s, s:s, s:i, s:I, s:o, s:o}", "type", "sampled", "name", u->title, "unit",
			 weight == PROFILE_COUNT ? "none" : u->unit, "startValue", 0, "endValue", sum,
			 "samples", samples, "weights", weights);
}

static int write_file(FILE *to, const struct profile *p, const struct profile_rows *rows, unsigned shown)
{
	struct scope s = {.frames = json_array()};
	json_t *profiles = json_array();
	for (unsigned i = 0; i < PROFILE_WEIGHTS; i++)
		if (json_array_append_new(profiles, profile_of(&s, p, rows, i)))
			s.r = -ENOMEM;
	json_t *file = json_pack("{s:s, s:s, s:s, s:i, s:{s:O}, s:o}", "$schema",
				 "https://www.speedscope.app/file-format-schema.json", "exporter",
				 "ctp-analyze " CTP_TOOL_VERSION, "name", file_base(p->world->path),
				 "activeProfileIndex", (int)shown, "shared", "frames", s.frames, "profiles",
				 profiles);
	if (!file)
		s.r = -ENOMEM;
	if (!s.r && (json_dumpf(file, to, JSON_COMPACT) || fputc('\n', to) == EOF))
		s.r = format_not_written();
	json_decref(file);
	json_decref(s.frames);
	intern_deinit(&s.by_name);
	return s.r;
}

int format_speedscope(FILE *to, const struct report *report, const struct format_settings *settings)
{
	struct format_profile p;
	int r = format_profile_make(&p, report, settings, PROFILE_WEIGHTS);
	if (r)
		return r;
	r = write_file(to, &p.profile, &p.rows, settings->weight);
	format_profile_deinit(&p);
	return r;
}
