// SPDX-License-Identifier: MIT
//
// Keys as in top, htop and less. Letters that sort are capitals, as top's are.
#include "ps/watch/watch_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND 1000000000ULL
#define DELAY_LEAST (SECOND / 10)
#define DELAY_MOST (3600 * SECOND)

static bool has_cursor(const struct watch_ui *ui)
{
	return ui->mode == WATCH_LIST || ui->mode == WATCH_PICK;
}

void watch_keys_clamp(struct watch_ui *ui, size_t n, size_t room)
{
	if (!has_cursor(ui)) {
		size_t last = n > room ? n - room : 0;
		ui->top = ui->top < last ? ui->top : last;
		return;
	}
	ui->cursor = ui->cursor < n ? ui->cursor : n ? n - 1 : 0;
	if (ui->top > ui->cursor)
		ui->top = ui->cursor;
	if (ui->cursor >= ui->top + room)
		ui->top = ui->cursor - room + 1;
	if (ui->top + room > n)
		ui->top = n > room ? n - room : 0;
}

static enum watch_did move(struct watch_ui *ui, size_t n, size_t room, long by)
{
	size_t *at = has_cursor(ui) ? &ui->cursor : &ui->top;
	if (by < 0)
		*at = *at > (size_t)-by ? *at - (size_t)-by : 0;
	else
		*at += (size_t)by;
	watch_keys_clamp(ui, n, room);
	ui->held = ui->held || ui->mode == WATCH_LIST;
	return WATCH_DID_MOVE;
}

static enum watch_did to_begin(struct watch_ui *ui)
{
	ui->cursor = ui->top = 0;
	ui->held = false;
	return WATCH_DID_MOVE;
}

static enum watch_did sort_by(struct watch_ui *ui, enum watch_column column)
{
	if (column == ui->column || column >= WATCH_STACK)
		return WATCH_DID_NOTHING;
	ui->column = column;
	ui->reverse = false;
	return WATCH_DID_SORT;
}

static enum watch_did set_delay(struct watch_ui *ui, double seconds)
{
	if (!(seconds > 0)) // also what is no number
		return WATCH_DID_DRAW;
	double ns = seconds * (double)SECOND;
	ui->delay_ns = ns < (double)DELAY_LEAST ? DELAY_LEAST :
		       ns > (double)DELAY_MOST  ? DELAY_MOST :
						  (uint64_t)ns;
	return WATCH_DID_DRAW;
}

static enum watch_did begin_typing(struct watch_ui *ui, enum watch_typing what)
{
	ui->typing = what;
	snprintf(ui->typed, sizeof(ui->typed), "%s", what == WATCH_TYPING_TEXT ? ui->text : "");
	return WATCH_DID_DRAW;
}

static enum watch_did end_typing(struct watch_ui *ui)
{
	enum watch_typing was = ui->typing;
	ui->typing = WATCH_NO_TYPING;
	if (was == WATCH_TYPING_DELAY)
		return set_delay(ui, strtod(ui->typed, NULL));
	memcpy(ui->text, ui->typed, sizeof(ui->text));
	return WATCH_DID_SORT;
}

static enum watch_did type(struct watch_ui *ui, int key)
{
	size_t n = strlen(ui->typed);
	if (key == WATCH_KEY_ENTER)
		return end_typing(ui);
	if (key == WATCH_KEY_ESCAPE || key == WATCH_KEY_QUIT) {
		ui->typing = WATCH_NO_TYPING;
		return WATCH_DID_DRAW;
	}
	if (key == WATCH_KEY_ERASE) {
		while (n && (ui->typed[n - 1] & 0xc0) == 0x80) // the rest of a character
			n--;
		ui->typed[n ? n - 1 : 0] = 0;
	} else if (key >= 0x20 && key < 0x100 && key != 0x7f && n + 1 < sizeof(ui->typed)) {
		ui->typed[n] = (char)key;
		ui->typed[n + 1] = 0;
	}
	return WATCH_DID_DRAW;
}

// Out of details, help and a group; by Esc, also out of what narrows the list; else it ends.
static enum watch_did back(struct watch_ui *ui, bool widen)
{
	if (ui->mode == WATCH_DETAILS || ui->mode == WATCH_HELP) {
		ui->mode = ui->mode == WATCH_HELP ? ui->behind : WATCH_LIST;
		ui->top = 0;
		return WATCH_DID_SORT;
	}
	if (ui->mode != WATCH_LIST || (!ui->only && !(widen && *ui->text)))
		return WATCH_DID_QUIT;
	if (ui->only)
		ui->grouped = true;
	else
		*ui->text = 0;
	ui->only = false;
	return WATCH_DID_SORT;
}

static enum watch_did list_key(struct watch_ui *ui, int key)
{
	static const char letters[] = "INSWFTXPL"; // by column
	const char *letter = key > 0 && key < 0x80 ? strchr(letters, key) : NULL;
	if (letter)
		return sort_by(ui, (enum watch_column)(letter - letters));
	switch (key) {
	case '<':
	case ',':
		return ui->column ? sort_by(ui, ui->column - 1) : WATCH_DID_NOTHING;
	case '>':
	case '.':
		return sort_by(ui, ui->column + 1);
	case 'r':
	case 'R':
		ui->reverse = !ui->reverse;
		return WATCH_DID_SORT;
	case 'g':
		ui->grouped = !ui->grouped;
		ui->only = false;
		to_begin(ui);
		return WATCH_DID_SORT;
	case '/':
		return begin_typing(ui, WATCH_TYPING_TEXT);
	default:
		return WATCH_DID_NOTHING;
	}
}

static enum watch_did any_key(struct watch_ui *ui, int key)
{
	switch (key) {
	case ' ':
		ui->paused = !ui->paused;
		return WATCH_DID_DRAW;
	case '+':
		return set_delay(ui, (double)ui->delay_ns * 2 / (double)SECOND);
	case '-':
		return set_delay(ui, (double)ui->delay_ns / 2 / (double)SECOND);
	case 'd':
	case 's':
		return begin_typing(ui, WATCH_TYPING_DELAY);
	case '?':
	case 'h':
	case WATCH_KEY_HELP:
		ui->behind = ui->mode == WATCH_HELP ? ui->behind : ui->mode;
		ui->mode = WATCH_HELP;
		ui->top = 0;
		return WATCH_DID_DRAW;
	default:
		return WATCH_DID_NOTHING;
	}
}

enum watch_did watch_keys_press(struct watch_ui *ui, int key, size_t n, size_t room)
{
	if (key == WATCH_KEY_RESIZE) {
		watch_keys_clamp(ui, n, room);
		return WATCH_DID_DRAW;
	}
	if (ui->typing)
		return type(ui, key);
	switch (key) {
	case 'q':
		return back(ui, false);
	case WATCH_KEY_ESCAPE:
		return back(ui, true);
	case WATCH_KEY_QUIT:
		return WATCH_DID_QUIT;
	case WATCH_KEY_UP:
	case 'k':
		return move(ui, n, room, -1);
	case WATCH_KEY_DOWN:
	case 'j':
		return move(ui, n, room, 1);
	case WATCH_KEY_PAGE_UP:
		return move(ui, n, room, -(long)room);
	case WATCH_KEY_PAGE_DOWN:
		return move(ui, n, room, (long)room);
	case WATCH_KEY_HOME:
		return to_begin(ui);
	case WATCH_KEY_END:
		return move(ui, n, room, (long)n);
	case WATCH_KEY_ENTER:
		return has_cursor(ui) && n ? WATCH_DID_ENTER : WATCH_DID_NOTHING;
	default:
		break;
	}
	if (ui->mode == WATCH_PICK)
		return WATCH_DID_NOTHING;
	enum watch_did did = ui->mode == WATCH_LIST ? list_key(ui, key) : WATCH_DID_NOTHING;
	return did ? did : any_key(ui, key);
}
