// SPDX-License-Identifier: MIT
//
// A stack in the report for people: the program's own frames with their source lines, in
// columns, no more than fit on a screen.
#include <stdlib.h>
#include <string.h>

#include "analyze/format/format_text.h"
#include "base/file.h"
#include "base/text.h"

struct line {
	char name[400], place[300];
	char *source;
};

// The folder of a path is dimmed: file and line are what a reader looks for.
static void show_place(FILE *to, const char *place, enum stack_style style)
{
	size_t folder = (size_t)(file_base(place) - place);
	if (style != STACK_PLAIN && folder)
		fprintf(to, "\033[2m%.*s\033[0m%s", (int)folder, place, place + folder);
	else
		fputs(place, to);
}

static void show_lines(FILE *to, struct line *lines, size_t n, enum stack_style style)
{
	size_t names = 0, places = 0;
	for (size_t i = 0; i < n; i++) {
		size_t name = text_width(lines[i].name), place = text_width(lines[i].place);
		names = name > names ? name : names;
		places = place > places ? place : places;
	}
	names = names > 36 ? 36 : names;
	places = places > 46 ? 46 : places;
	for (size_t i = 0; i < n; i++) {
		size_t name = text_width(lines[i].name), place = text_width(lines[i].place);
		size_t used = 7 + (name > names ? name : names) + 2 + (place > places ? place : places) + 2;
		char source[4 * COLUMNS];
		const char *on = style == STACK_MARKED && i == 0 ? "\033[1m" : "",
			   *off = *on ? "\033[0m" : "";
		fprintf(to, "    #%zu %s%s%s", i, on, lines[i].name, off);
		if (*lines[i].place) {
			fprintf(to, "%*s", (int)(name < names ? names - name : 0) + 2, "");
			show_place(to, lines[i].place, style);
		}
		if (lines[i].source)
			fprintf(to, "%*s%s%s%s", (int)(place < places ? places - place : 0) + 2, "", on,
				text_fit(source, sizeof(source), lines[i].source,
					 used + 16 < COLUMNS ? COLUMNS - used : 16),
				off);
		fputc('\n', to);
		free(lines[i].source);
	}
}

static void one_line(struct line *l, struct symbols *s, const struct symbols_frame *e)
{
	enum { NAME_COLUMNS = 90 };
	char name[1024];
	text_fit(l->name, sizeof(l->name), frames_name(e, name, sizeof(name)), NAME_COLUMNS);
	if (!*frames_place(e, l->place, sizeof(l->place)))
		snprintf(l->place, sizeof(l->place), "%s",
			 e->symbol && e->module ? file_base(e->module) : "");
	l->source = symbols_source_line(s, e);
}

static void say_times(char *name, size_t bytes, size_t period, size_t times)
{
	size_t used = name ? strlen(name) : 0;
	if (name && period > 1)
		snprintf(name + used, bytes - used, " (these %zu, %zu times)", period, times);
	else if (name)
		snprintf(name + used, bytes - used, " (%zu times)", times);
}

// Own frames; a run of library frames is one line, and says only how many; so is a recursion told once.
void format_text_stack(FILE *to, struct symbols *s, const struct frames *f, enum stack_style style)
{
	struct line lines[FRAMES_SHOWN];
	size_t n = 0, library = 0, folded = 0, period, from = 0, times = frames_cycle(f, 0, &period);
	const char *module = NULL;
	if (!f->captured)
		fprintf(to, "    (its stack was not captured)\n");
	for (size_t i = 0; i < f->n && n < FRAMES_SHOWN; i++) {
		const struct symbols_frame *e = f->items[i];
		if (!frames_is_library(e)) {
			one_line(&lines[n++], s, e);
		} else {
			library++;
			module = e->module;
		}
		if (i + 1 < from + period)
			continue;
		if (times > 1) {
			say_times(n ? lines[n - 1].name : NULL, sizeof(lines[0].name), period, times);
			folded += period * (times - 1);
			i += period * (times - 1);
		}
		from = i + 1;
		times = frames_cycle(f, from, &period);
	}
	if (f->captured && !n && library)
		fprintf(to, "    (%zu frame%s in %s)\n", library, library == 1 ? "" : "s", file_base(module));
	show_lines(to, lines, n, style);
	if (n == FRAMES_SHOWN && f->n > n + library + folded)
		fprintf(to, "    ... %zu more\n", f->n - n - library - folded);
	if (f->flags & CTP_STACK_TRUNCATED)
		fprintf(to, "    ... and more: the innermost %u were kept\n", CTP_FRAMES_MAX);
	if (f->flags & CTP_STACK_GUESSED)
		fprintf(to, "    (partly guessed from frame pointers)\n");
}
