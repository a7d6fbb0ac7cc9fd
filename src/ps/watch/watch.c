// SPDX-License-Identifier: MIT
//
// The main loop: reads the process at its pace, samples threads in between, and handles keys.
// Inspections use a tenth of a CPU at most: where they take long, the pace gets slower, and
// the screen says so. The process is never stopped. After it has ended, the last page stays
// until the user quits.
#include "ps/watch/watch.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ps/watch/watch_screen.h"
#include "ps/watch/watch_target.h"

#define SECOND 1000000000ULL

enum { SHARE = 10, ROWS = 512, AFTER_END_MS = 500 };

struct watch {
	const struct watch_options *o;
	struct watch_ui ui;
	struct watch_target t;
	struct watch_order order;
	struct watch_subject subject; // of the details
	struct watch_row group;       // whose members are listed, with ui.only
	struct watch_choice *choices;
	size_t nchoices;
	struct watch_page page, text;
	uint64_t text_of; // whose details stand in `text`; 0 = none
	struct watch_shown rows[ROWS];
	uint64_t sorting_ns, next_look, next_sample;
	int pidfd;
	bool picked; // a process is watched
	bool quit;   // the user has seen enough
	const char *ended;
	bool drawn, listed; // what is on the screen, and in `order`, is as of now
};

static uint64_t cpu_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec;
}

static struct watch_size screen_size(void)
{
	struct watch_size s = watch_screen_size();
	s.lines = s.lines < ROWS ? s.lines : ROWS;
	return s;
}

static uint64_t pace(const struct watch *w)
{
	// The first inspection costs more than later ones, which make up for its share.
	uint64_t least = (w->t.cost_ns + w->sorting_ns) * (w->t.model.last ? SHARE : 1);
	return least > w->ui.delay_ns ? least : w->ui.delay_ns;
}

// ---------------------------------------------------------------- the process

// Of one that nobody traces `f` is NULL.
static int begin(struct watch *w, pid_t pid, const struct found *f)
{
	int e = f ? watch_target_open(&w->t, f) : watch_target_search(&w->t, pid);
	if (e)
		return e;
	w->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	w->picked = true;
	w->ended = NULL;
	w->subject = (struct watch_subject){.report = &w->t.report,
					    .model = &w->t.model,
					    .threads = w->t.threads,
					    .proofs = w->t.proofs,
					    .use = &w->t.use};
	w->next_look = f ? 0 : clock_mono_ns() + pace(w); // it was looked at just now
	w->next_sample = 0;
	return 0;
}

static void leave(struct watch *w)
{
	if (w->picked)
		watch_target_close(&w->t);
	if (w->pidfd >= 0)
		close(w->pidfd);
	w->pidfd = -1;
	w->picked = false;
}

static void end(struct watch *w, const char *how)
{
	w->ended = how;
	w->drawn = false;
	watch_target_ended(&w->t);
}

static bool has_gone(const struct watch *w)
{
	struct pollfd p = {.fd = w->pidfd, .events = POLLIN};
	return w->pidfd >= 0 && poll(&p, 1, 0) > 0;
}

// It can be read no more: has it ended, or become another image by exec?
static int lost(struct watch *w, int why)
{
	struct found f;
	pid_t pid = w->t.found.pid;
	int e = why == -ENOMEM ? why : find_process(pid, &f);
	if (e == -ENOMEM)
		return e;
	if (w->t.searched && e == FIND_NOT_TRACED && !has_gone(w) && why != -EPERM && why != -EACCES)
		return 0;      // the next inspection will do
	if (e == FIND_NOT_YET) // an exec, and libctp.so has not begun yet
		return 0;
	if (e || f.pid != pid) {
		end(w, e == FIND_NO_PROCESS || e == FIND_NOT_TRACED ? "has ended" : "can no longer be read");
		if (!e)
			find_release(&f);
		return 0;
	}
	leave(w);
	w->ui.held = w->ui.only = false;
	if (w->ui.mode == WATCH_DETAILS)
		w->ui.mode = WATCH_LIST;
	return begin(w, pid, &f);
}

static int look(struct watch *w)
{
	int e = watch_target_look(&w->t);
	w->drawn = w->listed = false;
	return e ? lost(w, e) : 0;
}

// ------------------------------------------------------------------- the list

static bool is_listed(void *arg, const struct watch_row *r)
{
	const struct watch *w = arg;
	char called[CTP_NAME_TEXT];
	return watch_names_found(w->t.names, r, watch_model_name(&w->t.model, r, called));
}

static uint32_t rank(void *arg, const struct watch_row *r)
{
	return watch_names_rank(((struct watch *)arg)->t.names, r);
}

static uint32_t rank_place(void *arg, const struct watch_row *r)
{
	return watch_names_place_rank(((struct watch *)arg)->t.names, r);
}

// Lists anew; the cursor stays with what it holds, at the same height if there is room.
static int sort(struct watch *w)
{
	struct watch_ui *ui = &w->ui;
	uint64_t begun = cpu_now();
	size_t room = watch_view_room(ui, screen_size()),
	       height = ui->cursor >= ui->top ? ui->cursor - ui->top : 0;
	struct watch_wish wish = {.column = ui->column,
				  .reverse = ui->reverse,
				  .grouped = ui->grouped,
				  .only = ui->only ? &w->group : NULL,
				  .listed = *ui->text ? is_listed : NULL,
				  .rank = rank,
				  .rank_place = rank_place,
				  .arg = w};
	watch_names_seek(w->t.names, ui->text);
	int e = watch_order_make(&w->order, &w->t.model, &wish);
	size_t at = ui->held ? watch_order_place(&w->order, &w->t.model, ui->hold) : w->order.n;
	if (at < w->order.n && ui->mode == WATCH_LIST) {
		ui->cursor = at;
		ui->top = at > height ? at - height : 0;
	}
	if (ui->mode == WATCH_LIST)
		watch_keys_clamp(ui, w->order.n, room);
	w->listed = true;
	w->sorting_ns = cpu_now() - begun;
	return e;
}

static void hold(struct watch *w)
{
	if (w->ui.mode == WATCH_LIST && w->ui.held && w->ui.cursor < w->order.n)
		w->ui.hold = w->t.model.rows[w->order.items[w->ui.cursor].row].c.id;
}

static void draw_list(struct watch *w, const struct watch_head *h)
{
	struct watch_ui *ui = &w->ui;
	struct watch_size s = screen_size();
	size_t room = watch_view_room(ui, s), n = 0;
	watch_keys_clamp(ui, w->order.n, room);
	if (ui->top < w->order.n)
		n = w->order.n - ui->top < room ? w->order.n - ui->top : room;
	watch_target_show(&w->t, w->order.items + ui->top, n, ui->grouped, w->rows);
	watch_view_list(&w->page, ui, h, w->rows, n, w->order.n, s);
}

// ---------------------------------------------------------------- the screens

static void fill_details(struct watch *w)
{
	w->subject.names = w->t.names;
	w->subject.columns = screen_size().columns;
	w->subject.row = watch_model_find(&w->t.model, w->ui.hold);
	if (w->subject.row) {
		watch_details(&w->text, &w->subject);
		return;
	}
	watch_page_clear(&w->text);
	watch_page_line(&w->text);
	watch_page_put(&w->text, WATCH_NOTE, "coroutine %llu has ended", (unsigned long long)w->ui.hold);
}

static void draw_text(struct watch *w, const struct watch_head *h)
{
	struct watch_size s = screen_size();
	bool help = w->ui.mode == WATCH_HELP;
	if (help)
		watch_help_page(&w->text);
	else if (!w->ui.paused || w->text_of != w->ui.hold)
		fill_details(w);
	w->text_of = help ? 0 : w->ui.hold;
	watch_keys_clamp(&w->ui, w->text.n, watch_view_room(&w->ui, s));
	watch_view_text(
		&w->page, &w->ui, h, &w->text,
		help ? " arrows, PgUp, PgDn  q Esc back" : " arrows, PgUp, PgDn  space pause  q Esc back", s);
}

static int draw(struct watch *w)
{
	struct watch_head h = {.command = ""};
	int e = w->picked && !w->listed ? sort(w) : 0;
	if (w->picked) {
		time_t now = time(NULL);
		struct tm tm;
		watch_target_head(&w->t, &h);
		h.look_ns = w->t.cost_ns + w->sorting_ns;
		h.pace_ns = pace(w);
		h.ended = w->ended;
		strftime(h.clock, sizeof(h.clock), "%H:%M:%S", localtime_r(&now, &tm));
	}
	if (w->ui.mode == WATCH_PICK)
		watch_view_pick(&w->page, &w->ui, w->choices, w->nchoices, screen_size());
	else if (w->ui.mode == WATCH_LIST)
		draw_list(w, &h);
	else
		draw_text(w, &h);
	watch_screen_draw(&w->page);
	w->drawn = true;
	return e;
}

// ------------------------------------------------------------------------ keys

static int pick(struct watch *w, struct watch_why *why)
{
	struct found f;
	why->pid = w->choices[w->ui.cursor].pid;
	int e = find_process(why->pid, &f);
	if (!e)
		e = begin(w, f.pid, &f);
	w->ui.mode = WATCH_LIST;
	w->ui.cursor = w->ui.top = 0;
	return e;
}

static void enter(struct watch *w)
{
	if (w->ui.cursor >= w->order.n)
		return;
	const struct watch_item *it = &w->order.items[w->ui.cursor];
	const struct watch_row *r = &w->t.model.rows[it->row];
	w->drawn = false;
	w->ui.top = 0;
	if (w->ui.grouped && it->n > 1) { // its members
		w->group = *r;
		w->ui.only = true;
		w->ui.grouped = w->ui.held = w->listed = false;
		w->ui.cursor = 0;
		return;
	}
	w->ui.mode = WATCH_DETAILS;
	w->ui.held = true;
	w->ui.hold = r->c.id;
}

static size_t lines_of(const struct watch *w)
{
	return w->ui.mode == WATCH_PICK ? w->nchoices : w->ui.mode == WATCH_LIST ? w->order.n : w->text.n;
}

static int key(struct watch *w, int code, struct watch_why *why)
{
	enum watch_did did =
		watch_keys_press(&w->ui, code, lines_of(w), watch_view_room(&w->ui, screen_size()));
	w->drawn &= did == WATCH_DID_NOTHING;
	w->listed &= did != WATCH_DID_SORT;
	if (did == WATCH_DID_MOVE)
		hold(w);
	if (did == WATCH_DID_ENTER && w->ui.mode == WATCH_PICK)
		return pick(w, why);
	if (did == WATCH_DID_ENTER)
		enter(w);
	w->quit |= did == WATCH_DID_QUIT;
	return 0;
}

static bool looks(const struct watch *w)
{
	return w->picked && !w->ended && !w->ui.paused;
}

// Until something is to be done. False: the terminal has gone.
static bool sleep_until(const struct watch *w, uint64_t now)
{
	struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN},
			      {.fd = w->ended ? -1 : w->pidfd, .events = POLLIN}};
	uint64_t next = w->next_look < w->next_sample ? w->next_look : w->next_sample;
	int ms = !looks(w) ? AFTER_END_MS : next > now ? (int)((next - now + 999999) / 1000000) : 0;
	if (poll(p, 2, ms < AFTER_END_MS ? ms : AFTER_END_MS) > 0 &&
	    (p[0].revents & (POLLHUP | POLLERR | POLLNVAL)))
		return false;
	return true;
}

static int turn(struct watch *w)
{
	uint64_t now = clock_mono_ns();
	int e = 0;
	if (w->picked && !w->ended && has_gone(w))
		end(w, "has ended");
	if (looks(w) && now >= w->next_look) {
		e = look(w);
		w->next_look = now + pace(w);
	} else if (looks(w) && now >= w->next_sample) {
		watch_target_sample(&w->t);
	}
	if (looks(w) && now >= w->next_sample)
		w->next_sample = now + watch_target_pause_ns(&w->t);
	if (!e && !w->drawn)
		e = draw(w);
	return e;
}

static int loop(struct watch *w, struct watch_why *why)
{
	int e = 0;
	while (!e && !w->quit && !(why->signal = watch_screen_signal())) {
		e = turn(w);
		if (!e && !sleep_until(w, clock_mono_ns()))
			break;
		for (int code; !e && !w->quit && (code = watch_screen_key()) != WATCH_KEY_NONE;)
			e = key(w, code, why);
	}
	return e;
}

// ------------------------------------------------------------------- beginning

static int list_choices(struct watch *w, struct found **all, size_t *n)
{
	int e = find_all(all, n);
	if (e)
		return e;
	w->choices = calloc(*n + 1, sizeof(*w->choices));
	for (size_t i = 0; w->choices && i < *n; i++) {
		struct tables t;
		struct watch_choice *c = &w->choices[w->nchoices];
		if (*n > 1 && tables_read(&t, &(*all)[i], false))
			continue; // it ended meanwhile
		*c = (struct watch_choice){.pid = (*all)[i].pid};
		if (*n > 1) {
			c->coroutines = t.n;
			c->suspended = t.suspended;
			c->running = t.running;
			tables_deinit(&t);
		}
		find_command(c->pid, c->command, sizeof(c->command));
		w->nchoices++;
	}
	return w->choices ? 0 : -ENOMEM;
}

// Which one is it to be? The only one, or the user picks.
static int choose(struct watch *w, struct watch_why *why)
{
	struct found *all = NULL, f;
	size_t n = 0;
	int e = 0;
	why->pid = w->o->pid;
	if (!why->pid) {
		e = list_choices(w, &all, &n);
		for (size_t i = 0; i < n; i++)
			find_release(&all[i]);
		free(all);
		if (e)
			return e;
		if (!w->nchoices) {
			why->text = "no process of this user is traced; ctp-run PROGRAM starts one";
			return FIND_NO_PROCESS;
		}
		why->pid = w->nchoices == 1 ? w->choices[0].pid : 0;
	}
	if (!why->pid) {
		w->ui.mode = WATCH_PICK;
		return 0;
	}
	e = find_process(why->pid, &f);
	if (e == FIND_NOT_TRACED) {
		why->pid = find_whole(why->pid);
		return begin(w, why->pid, NULL);
	}
	if (!e)
		why->pid = f.pid;
	return e ? e : begin(w, f.pid, &f);
}

int watch_run(const struct watch_options *o, struct watch_why *why)
{
	struct watch *w = calloc(1, sizeof(*w));
	*why = (struct watch_why){.text = watch_screen_missing()};
	if (!w || why->text) {
		free(w);
		return why->text ? -ENOTTY : -ENOMEM;
	}
	w->o = o;
	w->pidfd = -1;
	w->ui = (struct watch_ui){.column = WATCH_STATE, .grouped = !o->all, .delay_ns = o->delay_ns};
	int e = choose(w, why);
	if (!e && watch_screen_open(o->color, &w->page.utf8)) {
		why->text = "--watch cannot use this terminal; run ctp-ps PID again and again";
		e = -ENOTTY;
	}
	w->text.utf8 = w->page.utf8;
	if (!e)
		e = loop(w, why);
	watch_screen_close();
	leave(w);
	watch_order_deinit(&w->order);
	watch_page_deinit(&w->page);
	watch_page_deinit(&w->text);
	free(w->choices);
	free(w);
	return e;
}
