// SPDX-License-Identifier: MIT
//
// Stacks for people: the program's own functions first. Frames of libraries above and below
// them are left out, unless --stack asks for all or no frame is the program's own.
#include <string.h>

#include "base/file.h"
#include "ps/print/text.h"

enum { SHOWN = 6, WAY_SHOWN = 3 };

static const char *name(const struct symbols_frame *f, char *buf, size_t bytes)
{
	frames_name(f, buf, bytes);
	find_clean(buf);
	return buf;
}

void text_frames_place(const struct page *p, const struct symbols_frame *f, char *buf, size_t bytes)
{
	*buf = 0;
	if (f && f->file)
		snprintf(buf, bytes, "%s:%d", p->r->wants->whole ? frames_path(f) : file_base(f->file),
			 f->line);
	else if (f && f->symbol && f->module)
		snprintf(buf, bytes, "%s", file_base(f->module));
	find_clean(buf);
}

void text_frames_site(const struct page *p, const struct symbols_frame *f, char *buf, size_t bytes)
{
	char function[96];
	text_frames_place(p, f, buf, bytes);
	if (f && !f->file && f->symbol && f->module)
		snprintf(buf, bytes, "%s (%s)", name(f, function, sizeof(function)), file_base(f->module));
	find_clean(buf);
}

static void print_frame(const struct page *p, const char *indent, const struct symbols_frame *f, int number)
{
	char function[96], at[96];
	name(f, function, sizeof(function));
	text_frames_place(p, f, at, sizeof(at));
	fputs(indent, p->to);
	if (number >= 0)
		fprintf(p->to, "#%-2d ", number);
	fprintf(p->to, *at ? "%-24s  %s\n" : "%s\n", function, at);
}

static bool any_own(const struct frames *f)
{
	return frames_outermost_own(f) != NULL;
}

// Below the functions of a script stand those of its interpreter: nobody looks for a bug there first.
static bool is_beside(const struct frames *f, size_t i, bool own)
{
	bool script = !f->items[0]->module && f->items[0]->symbol;
	return (own && frames_is_library(f->items[i])) || (script && f->items[i]->module);
}

void text_frames(const struct page *p, const char *indent, const struct frames *f)
{
	bool own = any_own(f), whole = p->r->wants->whole;
	size_t shown = 0, i;
	for (i = 0; i < f->n && (whole || shown < SHOWN); i++) {
		if (!whole && is_beside(f, i, own))
			continue;
		print_frame(p, indent, f->items[i], whole ? (int)i : -1);
		shown++;
	}
	size_t left = 0;
	for (; i < f->n; i++)
		left += !is_beside(f, i, own);
	if (left)
		fprintf(p->to, "%s... %zu more\n", indent, left);
	if (!f->captured)
		fprintf(p->to, "%s(its stack could not be read)\n", indent);
	if (whole && (f->flags & CTP_STACK_TRUNCATED))
		fprintf(p->to, "%s... cut off here\n", indent);
	if (f->flags & CTP_STACK_GUESSED)
		fprintf(p->to, "%s(partly guessed from frame pointers)\n", indent);
}

void text_frames_way(const struct page *p, const struct frames *f)
{
	bool own = any_own(f);
	size_t shown = 0;
	char function[96];
	for (size_t i = 0; i < f->n && shown < WAY_SHOWN; i++)
		if (!own || !frames_is_library(f->items[i]))
			fprintf(p->to, "%s%s", shown++ ? " < " : "  in ",
				name(f->items[i], function, sizeof(function)));
}

int text_frames_stack(const struct page *p, const char *indent, uint32_t stack)
{
	struct frames f = {0};
	int e = report_frames(p->r, stack, &f);
	if (!e)
		text_frames(p, indent, &f);
	frames_deinit(&f);
	return e;
}
