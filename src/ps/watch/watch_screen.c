// SPDX-License-Identifier: MIT
//
// Writes pages to a terminal by ncurses. The terminal is restored at Ctrl-Z and taken again
// afterwards. A signal that ends ctp-ps only sets a flag, so that the terminal is restored
// then, too.
#include "ps/watch/watch_screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <term.h>
#include <unistd.h>
#undef columns // term.h's
#undef lines

#include "base/text.h"

static volatile sig_atomic_t ended_by;
static SCREEN *screen;
static attr_t styles[WATCH_CURSOR + 1];

static void note(int sig)
{
	ended_by = sig;
}

int watch_screen_signal(void)
{
	return ended_by;
}

const char *watch_screen_missing(void)
{
	int status;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return "--watch needs a terminal for its input and output; without it, run ctp-ps PID again and again";
	if (setupterm(NULL, STDOUT_FILENO, &status) != OK)
		return "--watch does not know this kind of terminal; set TERM to one that terminfo has (xterm, screen, linux), "
		       "or run ctp-ps PID again and again";
	const char *cup = tigetstr("cup"), *clear_all = tigetstr("clear");
	bool can = cup && cup != (char *)-1 && clear_all && clear_all != (char *)-1;
	del_curterm(cur_term);
	if (!can)
		return "--watch needs a terminal that can move its cursor, which this TERM cannot; set TERM to what it is (xterm, "
		       "screen, linux), or run ctp-ps PID again and again";
	return NULL;
}

static void set_styles(bool color)
{
	static const short inks[] = {
		[WATCH_ALARM] = COLOR_RED, [WATCH_GOOD] = COLOR_GREEN, [WATCH_NOTE] = COLOR_YELLOW};
	styles[WATCH_BOLD] = styles[WATCH_ALARM] = styles[WATCH_NOTE] = A_BOLD;
	styles[WATCH_FAINT] = A_DIM;
	styles[WATCH_BAR] = A_REVERSE;
	styles[WATCH_CURSOR] = A_REVERSE | A_BOLD;
	if (!color || !has_colors() || start_color() == ERR)
		return;
	short paper = use_default_colors() == ERR ? COLOR_BLACK : -1;
	for (short i = 0; i < (short)(sizeof(inks) / sizeof(*inks)); i++)
		if (inks[i] && init_pair(i, inks[i], paper) != ERR)
			styles[i] = (i == WATCH_ALARM ? A_BOLD : A_NORMAL) | COLOR_PAIR(i);
	if (init_pair(WATCH_CURSOR, COLOR_BLACK, COLOR_CYAN) != ERR)
		styles[WATCH_CURSOR] = COLOR_PAIR(WATCH_CURSOR);
	if (init_pair(WATCH_BAR, COLOR_BLACK, COLOR_GREEN) != ERR)
		styles[WATCH_BAR] = COLOR_PAIR(WATCH_BAR);
}

int watch_screen_open(bool color, bool *utf8)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction act = {.sa_handler = note};
	setlocale(LC_CTYPE, "");
	*utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &act, NULL); // before ncurses looks, which then leaves them alone
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return -ENOTTY;
	set_escdelay(25);
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_styles(color);
	return 0;
}

void watch_screen_close(void)
{
	if (!screen)
		return;
	move(LINES - 1, 0); // where no other screen was behind it, the picture stays, and one goes on below
	clrtoeol();
	refresh();
	endwin();
	delscreen(screen);
	screen = NULL;
}

struct watch_size watch_screen_size(void)
{
	return (struct watch_size){LINES > 0 ? (size_t)LINES : 1, COLS > 0 ? (size_t)COLS : 1};
}

static void draw_line(int y, const struct watch_line *l, size_t columns)
{
	size_t left = columns;
	move(y, 0);
	for (size_t i = 0; i < l->nruns && left; i++) {
		size_t end = i + 1 < l->nruns ? l->runs[i + 1].at : l->bytes;
		char text[WATCH_LINE_BYTES];
		snprintf(text, sizeof(text), "%.*s", (int)(end - l->runs[i].at), l->text + l->runs[i].at);
		size_t n = watch_page_fit(text, left), width = text_width(text);
		attrset((int)styles[l->runs[i].style]);
		addnstr(text, (int)n);
		left -= width < left ? width : left;
	}
	attrset(A_NORMAL);
}

void watch_screen_draw(const struct watch_page *p)
{
	struct watch_size s = watch_screen_size();
	erase();
	for (size_t y = 0; y < p->n && y < s.lines; y++)
		draw_line((int)y, &p->lines[y], s.columns);
	refresh();
}

int watch_screen_key(void)
{
	static const struct {
		int from, to;
	} keys[] = {{KEY_UP, WATCH_KEY_UP},
		    {KEY_DOWN, WATCH_KEY_DOWN},
		    {KEY_PPAGE, WATCH_KEY_PAGE_UP},
		    {KEY_NPAGE, WATCH_KEY_PAGE_DOWN},
		    {KEY_HOME, WATCH_KEY_HOME},
		    {KEY_END, WATCH_KEY_END},
		    {KEY_ENTER, WATCH_KEY_ENTER},
		    {'\r', WATCH_KEY_ENTER},
		    {'\n', WATCH_KEY_ENTER},
		    {27, WATCH_KEY_ESCAPE},
		    {KEY_BACKSPACE, WATCH_KEY_ERASE},
		    {127, WATCH_KEY_ERASE},
		    {8, WATCH_KEY_ERASE},
		    {KEY_F(1), WATCH_KEY_HELP},
		    {KEY_F(4), '/'},
		    {KEY_F(10), WATCH_KEY_QUIT},
		    {KEY_RESIZE, WATCH_KEY_RESIZE},
		    {ERR, WATCH_KEY_NONE}};
	int key = getch();
	if (key == KEY_RESIZE)
		clear(); // what was on its way meanwhile came to stand where it does not belong
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].from == key)
			return keys[i].to;
	return key;
}
