// SPDX-License-Identifier: MIT
//
// watch_view.h - the pages: what is shown, given a size.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "ps/watch/watch_order.h"
#include "ps/watch/watch_page.h"
#include "ps/watch/watch_proofs.h"

// What is being typed in the last line.
enum watch_typing { WATCH_NO_TYPING, WATCH_TYPING_TEXT, WATCH_TYPING_DELAY };

enum watch_mode { WATCH_LIST, WATCH_DETAILS, WATCH_HELP, WATCH_PICK };

enum { WATCH_TEXT = 120, WATCH_RULES = 8 };

// What the keys change.
struct watch_ui {
	enum watch_mode mode, behind; // behind: where help goes back to
	enum watch_column column;
	bool reverse, grouped, paused;
	enum watch_typing typing;
	char text[WATCH_TEXT]; // looked for
	char typed[WATCH_TEXT];
	size_t cursor, top; // places in the list, or of the first line in details and help
	bool held;          // the cursor stays with a coroutine
	uint64_t hold;      // its id
	bool only;          // one group's members alone
	uint64_t delay_ns;
};

struct watch_head {
	pid_t pid, engine;
	const char *command;
	uint64_t created, suspended, pooled, running, finished, destroyed, closed;
	uint64_t frames;    // of them: C++20 coroutines
	bool addresses;     // there are some whose ids are addresses
	bool searched;      // nobody traces it
	const char *unsure; // why not all was searched; "": it was
	uint64_t threads, lost;
	double rate, cpu;   // below 0: not known
	uint64_t look_ns;   // what one inspection takes
	uint64_t pace_ns;   // from one inspection to the next
	bool partial;       // `finished` and `destroyed` are the least that they can be
	bool ending, trace; // trace: ctp-run writes what it finds where it can be read
	const char *ended;  // the program has ended: how; NULL = it has not
	char clock[16];
	struct watch_count rules[WATCH_RULES];
	size_t nrules;
};

// A line of the list in words.
struct watch_shown {
	uint64_t id, n;
	const char *state;
	char entry[192], waits[96];
	const char *where;
	uint64_t since_ns; // how long
	float rate, cpu;
	uint64_t slice_ns;
	int64_t stack; // bytes; -1 = not known
	bool closed, proof, running;
	bool frame; // its id is an address, and it has been so for at least since_ns
};

struct watch_size {
	size_t lines, columns;
};

// How many lines of the list there is room for.
size_t watch_view_room(const struct watch_ui *ui, struct watch_size s);
// The list: `rows` are those from ui->top on, of n in all.
void watch_view_list(struct watch_page *p, const struct watch_ui *ui, const struct watch_head *h,
		     const struct watch_shown *rows, size_t nrows, size_t n, struct watch_size s);
// A text of more lines than there is room for, from line ui->top on.
void watch_view_text(struct watch_page *p, const struct watch_ui *ui, const struct watch_head *h,
		     const struct watch_page *text, const char *keys, struct watch_size s);
void watch_help_page(struct watch_page *text);

// One of the traced processes.
struct watch_choice {
	pid_t pid;
	uint64_t coroutines, suspended, running;
	char command[160];
};
void watch_view_pick(struct watch_page *p, const struct watch_ui *ui, const struct watch_choice *all,
		     size_t n, struct watch_size s);

// "980", "12.3", "45k", "1.2M": in five columns.
void watch_view_number(char *buf, size_t bytes, double v);
