// SPDX-License-Identifier: MIT
//
// The list and its header. If there is little room, the header is reduced first, down to one
// line, then columns go, the least useful first. The remaining width is shared by names and
// descriptors.
#include "ps/watch/watch_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum {
	HEAD_LINES = 4,
	FOOT_LINES = 1,
	TALL = 10,
	LOW = 3,
	ENTRY_LEAST = 10,
	WHERE_LEAST = 25,
	WAITS_LEAST = 9,
	ADDRESS = 14
};

static const struct {
	const char *title, *grouped;
	size_t width; // 0: what is left
	bool right;
	int weight; // those with the least go first
} columns[WATCH_COLUMNS] = {
	// clang-format off
	[WATCH_ID] = { "ID", "N", 8, true, 9 },
	[WATCH_ENTRY] = { "ENTRY", NULL, 0, false, 9 },
	[WATCH_STATE] = { "STATE", NULL, 9, false, 8 },
	[WATCH_WHERE] = { "WHERE", NULL, 0, false, 7 },
	[WATCH_WAITS] = { "WAITS FOR", NULL, 0, false, 5 },
	[WATCH_SINCE] = { "SINCE", NULL, 8, true, 8 },
	[WATCH_RATE] = { "SW/S", NULL, 5, true, 6 },
	[WATCH_CPU] = { "CPU%", NULL, 5, true, 4 },
	[WATCH_SLICE] = { "SLICE", NULL, 8, true, 2 },
	[WATCH_STACK] = { "STACK", NULL, 5, true, 3 },
	// clang-format on
};

struct layout {
	bool shown[WATCH_COLUMNS];
	size_t width[WATCH_COLUMNS];
};

static size_t needed(const struct layout *l)
{
	size_t sum = 0;
	for (int i = 0; i < WATCH_COLUMNS; i++)
		if (l->shown[i])
			sum += 1 + (i == WATCH_ENTRY ? ENTRY_LEAST :
				    i == WATCH_WHERE ? WHERE_LEAST :
				    i == WATCH_WAITS ? WAITS_LEAST :
						       l->width[i]);
	return sum ? sum - 1 : 0;
}

static struct layout lay_out(size_t room, bool grouped, const struct watch_head *h)
{
	struct layout l;
	for (int i = 0; i < WATCH_COLUMNS; i++) {
		// Members of a group wait for a descriptor each, and have a stack each.
		l.shown[i] = !grouped || (i != WATCH_WAITS && i != WATCH_STACK);
		l.shown[i] &= !h->searched || i < WATCH_RATE; // nothing measures these
		l.width[i] = i == WATCH_ID && h->addresses && !grouped ? ADDRESS : columns[i].width;
	}
	for (int weight = 1; weight < 9 && needed(&l) > room; weight++)
		for (int i = 0; i < WATCH_COLUMNS; i++)
			if (columns[i].weight == weight && needed(&l) > room)
				l.shown[i] = false;
	size_t over = room > needed(&l) ? room - needed(&l) : 0;
	size_t waits = l.shown[WATCH_WAITS] ? over / 3 : 0,
	       where = l.shown[WATCH_WHERE] ? (over - waits) * 2 / 3 : 0;
	l.width[WATCH_WAITS] = WAITS_LEAST + waits;
	l.width[WATCH_WHERE] = WHERE_LEAST + where;
	l.width[WATCH_ENTRY] = ENTRY_LEAST + over - waits - where;
	return l;
}

void watch_view_number(char *buf, size_t bytes, double v)
{
	static const char units[] = "\0kMGT";
	unsigned unit = 0;
	if (v < 0) {
		snprintf(buf, bytes, "-");
		return;
	}
	for (; v >= 999.5 && unit < 4; unit++)
		v /= 1000;
	if (v < 9.95 && (unit || (v > 0 && v != (double)(int)v)))
		snprintf(buf, bytes, "%.1f%c", v, units[unit]);
	else
		snprintf(buf, bytes, "%.0f%c", v, units[unit]);
}

static size_t head_lines(struct watch_size s)
{
	return s.lines >= TALL ? HEAD_LINES : 1;
}

static size_t foot_lines(const struct watch_ui *ui, struct watch_size s)
{
	return s.lines >= TALL || (ui->typing && s.lines > 1) ? FOOT_LINES : 0;
}

size_t watch_view_room(const struct watch_ui *ui, struct watch_size s)
{
	size_t taken = head_lines(s) + foot_lines(ui, s) + (s.lines > LOW ? 1 : 0);
	if (ui->mode == WATCH_DETAILS || ui->mode == WATCH_HELP)
		taken = 1 + foot_lines(ui, s);
	if (ui->mode == WATCH_PICK)
		taken = s.lines > LOW ? 2 + foot_lines(ui, s) : 0;
	return s.lines > taken ? s.lines - taken : 1;
}

static void title_line(struct watch_page *p, const struct watch_head *h, struct watch_size s)
{
	size_t left = s.columns > strlen(h->clock) + 1 ? s.columns - strlen(h->clock) - 1 : 0;
	char text[512];
	watch_page_line(p);
	if (h->ended)
		snprintf(text, sizeof(text), "pid %d  %s - the last picture  %s", (int)h->pid, h->ended,
			 h->command);
	else
		snprintf(text, sizeof(text), "pid %d  %s", (int)h->pid, h->command);
	watch_page_cell(p, h->ended ? WATCH_ALARM : WATCH_BOLD, text, left, false);
	watch_page_put(p, WATCH_PLAIN, " %s", h->clock);
}

static void counts_line(struct watch_page *p, const struct watch_head *h)
{
	watch_page_line(p);
	watch_page_put(p, WATCH_BOLD, "%" PRIu64 " coroutines:", h->created + h->suspended + h->running);
	watch_page_put(p, WATCH_PLAIN, " %" PRIu64 " suspended", h->suspended);
	if (h->pooled)
		watch_page_put(p, WATCH_PLAIN, " (%" PRIu64 " pooled)", h->pooled);
	watch_page_put(p, WATCH_PLAIN, ", %" PRIu64 " created, %" PRIu64 " running", h->created, h->running);
	if (h->frames)
		watch_page_put(p, WATCH_PLAIN, ", %" PRIu64 " of C++20", h->frames);
	if (h->searched)
		return;
	watch_page_put(p, WATCH_FAINT, "  ended: %s%" PRIu64, h->partial ? ">=" : "",
		       h->finished + h->destroyed);
	if (h->destroyed)
		watch_page_put(p, WATCH_FAINT, " (%" PRIu64 " destroyed)", h->destroyed);
}

static void rates_line(struct watch_page *p, const struct watch_head *h)
{
	char rate[16], cpu[16] = "-", look[32];
	watch_view_number(rate, sizeof(rate), h->rate);
	if (h->cpu >= 0)
		snprintf(cpu, sizeof(cpu), "%.0f%%", h->cpu * 100);
	text_duration(look, sizeof(look), h->look_ns);
	watch_page_line(p);
	if (h->searched) {
		watch_page_put(p, WATCH_PLAIN, "%" PRIu64 " thread%s, CPU %s  ", h->threads,
			       h->threads == 1 ? "" : "s", cpu);
		watch_page_put(p, WATCH_NOTE, "not traced: found by search");
		watch_page_put(p, WATCH_FAINT, "  refresh: %s", look);
		return;
	}
	watch_page_put(p, WATCH_PLAIN, "%s switches/s  %" PRIu64 " thread%s, CPU %s  ", rate, h->threads,
		       h->threads == 1 ? "" : "s", cpu);
	watch_page_put(p, h->lost ? WATCH_ALARM : WATCH_PLAIN, "%" PRIu64 " lost", h->lost);
	if (h->engine)
		watch_page_put(p, WATCH_PLAIN, "  ctp-run %d", (int)h->engine);
	else
		watch_page_put(p, WATCH_NOTE, "  ctp-run is gone");
	watch_page_put(p, WATCH_FAINT, "  refresh: %s", look);
}

static void proofs(struct watch_page *p, const struct watch_head *h)
{
	size_t n = 0;
	for (size_t i = 0; i < h->nrules; i++) {
		const struct watch_count *r = &h->rules[i];
		watch_page_put(p, r->shown ? WATCH_ALARM : WATCH_NOTE, "%s%s: %zu", n++ ? ", " : "", r->rule,
			       r->n);
		if (r->shown == r->n)
			watch_page_put(p, WATCH_ALARM, " proven so far");
		else if (r->shown)
			watch_page_put(p, WATCH_ALARM, ", %zu proven so far", r->shown);
		else
			watch_page_put(p, WATCH_NOTE, " so far");
	}
	if (h->closed)
		watch_page_put(p, WATCH_ALARM, "%s%" PRIu64 " wait on a closed fd", n++ ? "; " : "",
			       h->closed);
	if (!n && h->searched)
		watch_page_put(p, WATCH_FAINT, "ctp-ps --lost says which nothing references");
	else if (!n && !h->trace)
		watch_page_put(p, WATCH_FAINT, "findings: nobody writes them where they can be read");
	else if (!n)
		watch_page_put(p, WATCH_GOOD, "no findings so far");
	if (h->ending)
		watch_page_put(p, WATCH_NOTE, "  the program is ending");
}

static void state_line(struct watch_page *p, const struct watch_ui *ui, const struct watch_head *h)
{
	watch_page_line(p);
	if (ui->paused)
		watch_page_put(p, WATCH_NOTE, "PAUSED  ");
	else if (!h->ended)
		watch_page_put(p, h->pace_ns > ui->delay_ns ? WATCH_NOTE : WATCH_FAINT, "every %.1f s%s  ",
			       (double)h->pace_ns / 1e9,
			       h->pace_ns > ui->delay_ns ? " (a refresh takes long)" : "");
	if (h->searched && *h->unsure)
		watch_page_put(p, WATCH_ALARM, "not all was searched: %s  ", h->unsure);
	if (ui->only)
		watch_page_put(p, WATCH_NOTE, "[one group]  ");
	if (*ui->text)
		watch_page_put(p, WATCH_NOTE, "[/%s]  ", ui->text);
	proofs(p, h);
}

static void column_titles(struct watch_page *p, const struct watch_ui *ui, const struct layout *l,
			  struct watch_size s)
{
	watch_page_line(p);
	for (int i = 0, any = 0; i < WATCH_COLUMNS; i++) {
		if (!l->shown[i])
			continue;
		char text[32];
		const char *title = ui->grouped && columns[i].grouped ? columns[i].grouped : columns[i].title;
		bool here = ui->column == (enum watch_column)i;
		snprintf(text, sizeof(text), "%s%s", title, !here ? "" : ui->reverse ? "^" : "v");
		watch_page_put(p, WATCH_BAR, "%s", any++ ? " " : "");
		watch_page_cell(p, here ? WATCH_CURSOR : WATCH_BAR, text, l->width[i], columns[i].right);
	}
	watch_page_pad(p, WATCH_BAR, s.columns);
}

static void bytes_text(char *buf, size_t bytes, int64_t v)
{
	if (v < 0)
		snprintf(buf, bytes, "-");
	else if (v < 10 << 10)
		snprintf(buf, bytes, "%.1fK", (double)v / 1024);
	else if (v < 1000 << 10)
		snprintf(buf, bytes, "%.0fK", (double)v / 1024);
	else
		snprintf(buf, bytes, "%.1fM", (double)v / (1 << 20));
}

// Without the digit behind the point, if it does not fit: its unit is needed.
static void round_off(char *buf, size_t width)
{
	char *point = strlen(buf) > width ? strchr(buf, '.') : NULL,
	     *unit = point ? strchr(point, ' ') : NULL;
	if (unit)
		memmove(point, unit, strlen(unit) + 1);
}

static void cell_text(char *buf, size_t bytes, const struct watch_shown *r, enum watch_column column,
		      bool grouped)
{
	*buf = 0;
	switch (column) {
	case WATCH_ID:
		snprintf(buf, bytes, !grouped && r->frame ? "0x%" PRIx64 : "%" PRIu64,
			 grouped ? r->n : r->id);
		break;
	case WATCH_ENTRY:
		snprintf(buf, bytes, "%s", r->entry);
		break;
	case WATCH_STATE:
		snprintf(buf, bytes, "%s%s", r->state, r->proof ? "!" : "");
		break;
	case WATCH_WHERE:
		snprintf(buf, bytes, "%s", r->where);
		break;
	case WATCH_WAITS:
		snprintf(buf, bytes, "%s", r->waits);
		break;
	case WATCH_SINCE:
		*buf = '>';
		text_duration(buf + r->frame, bytes - r->frame, r->since_ns);
		round_off(buf, columns[WATCH_SINCE].width);
		break;
	case WATCH_RATE:
		watch_view_number(buf, bytes, r->rate);
		break;
	case WATCH_CPU:
		if (r->cpu < 0)
			snprintf(buf, bytes, "-");
		else
			snprintf(buf, bytes, "%.1f", (double)r->cpu * 100);
		break;
	case WATCH_SLICE:
		if (r->slice_ns)
			text_duration(buf, bytes, r->slice_ns);
		else
			snprintf(buf, bytes, "-");
		break;
	default:
		bytes_text(buf, bytes, r->stack);
	}
}

static void row(struct watch_page *p, const struct watch_ui *ui, const struct layout *l,
		const struct watch_shown *r, bool here, struct watch_size s)
{
	enum watch_style style = here                  ? WATCH_CURSOR :
				 r->closed || r->proof ? WATCH_ALARM :
				 r->running            ? WATCH_GOOD :
							 WATCH_PLAIN;
	char text[256];
	watch_page_line(p);
	for (int i = 0, any = 0; i < WATCH_COLUMNS; i++) {
		if (!l->shown[i])
			continue;
		cell_text(text, sizeof(text), r, (enum watch_column)i, ui->grouped);
		watch_page_put(p, style, "%s", any++ ? " " : "");
		watch_page_cell(p, style, text, l->width[i], columns[i].right);
	}
	if (here)
		watch_page_pad(p, style, s.columns);
}

static void foot(struct watch_page *p, const struct watch_ui *ui, const char *keys, struct watch_size s)
{
	if (!foot_lines(ui, s))
		return;
	while (p->n + FOOT_LINES < s.lines && !p->failed)
		watch_page_line(p);
	watch_page_line(p);
	if (ui->typing)
		watch_page_put(
			p, WATCH_BOLD, "%s: %s_",
			ui->typing == WATCH_TYPING_TEXT ? "look for" : "seconds from one look to the next",
			ui->typed);
	else
		watch_page_cell(p, WATCH_BAR, keys, s.columns, false);
}

void watch_view_list(struct watch_page *p, const struct watch_ui *ui, const struct watch_head *h,
		     const struct watch_shown *rows, size_t nrows, size_t n, struct watch_size s)
{
	struct layout l = lay_out(s.columns, ui->grouped, h);
	watch_page_clear(p);
	title_line(p, h, s);
	if (head_lines(s) > 1) {
		counts_line(p, h);
		rates_line(p, h);
		state_line(p, ui, h);
	}
	if (s.lines > LOW)
		column_titles(p, ui, &l, s);
	for (size_t i = 0; i < nrows; i++)
		row(p, ui, &l, &rows[i], ui->top + i == ui->cursor, s);
	if (!n) {
		watch_page_line(p);
		watch_page_put(p, WATCH_FAINT,
			       *ui->text || ui->only ? "  none of them; Esc shows all again" :
			       h->searched           ? "  no coroutine was found" :
						       "  no coroutine yet");
	}
	foot(p, ui, " ? help | Enter details | < > sort | r reverse | / filter | g group | q quit", s);
}

void watch_view_text(struct watch_page *p, const struct watch_ui *ui, const struct watch_head *h,
		     const struct watch_page *text, const char *keys, struct watch_size s)
{
	size_t room = watch_view_room(ui, s);
	watch_page_clear(p);
	title_line(p, h, s);
	for (size_t i = ui->top; i < text->n && i < ui->top + room; i++) {
		watch_page_line(p);
		const struct watch_line *l = &text->lines[i];
		for (size_t k = 0; k < l->nruns; k++) {
			size_t end = k + 1 < l->nruns ? l->runs[k + 1].at : l->bytes;
			watch_page_put(p, l->runs[k].style, "%.*s", (int)(end - l->runs[k].at),
				       l->text + l->runs[k].at);
		}
	}
	foot(p, ui, keys, s);
}

void watch_view_pick(struct watch_page *p, const struct watch_ui *ui, const struct watch_choice *all,
		     size_t n, struct watch_size s)
{
	watch_page_clear(p);
	if (s.lines > LOW) {
		watch_page_line(p);
		watch_page_put(p, WATCH_BOLD, "Which of them?");
		watch_page_line(p);
		watch_page_put(p, WATCH_BAR, "%8s %11s %10s %9s  %s", "PID", "COROUTINES", "SUSPENDED",
			       "RUNNING", "COMMAND");
		watch_page_pad(p, WATCH_BAR, s.columns);
	}
	for (size_t i = ui->top; i < n && i < ui->top + watch_view_room(ui, s); i++) {
		watch_page_line(p);
		watch_page_put(p, i == ui->cursor ? WATCH_CURSOR : WATCH_PLAIN,
			       "%8d %11" PRIu64 " %10" PRIu64 " %9" PRIu64 "  %s", (int)all[i].pid,
			       all[i].coroutines, all[i].suspended, all[i].running, all[i].command);
	}
	foot(p, ui, " Enter watches it  q quit", s);
}
