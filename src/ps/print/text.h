// SPDX-License-Identifier: MIT
//
// text.h - the parts of the list for people (text.c).
#pragma once

#include "ps/model/report.h"

struct page {
	FILE *to;
	const struct report *r;
	bool color;
};

#define TEXT_BOLD "\033[1m"
#define TEXT_RED "\033[31m"
#define TEXT_DIM "\033[2m"
#define TEXT_PLAIN "\033[0m"
const char *text_paint(const struct page *p, const char *code); // the code, or ""

// "file.c:12", else the module; "" if neither is known. With --stack the whole path.
void text_frames_place(const struct page *p, const struct symbols_frame *f, char *buf, size_t bytes);
// Where something was done: the same, but "function (module)" where no line is known.
void text_frames_site(const struct page *p, const struct symbols_frame *f, char *buf, size_t bytes);
// A line for each frame: the innermost that are the program's own, or all of them.
void text_frames(const struct page *p, const char *indent, const struct frames *f);
void text_frames_way(const struct page *p, const struct frames *f); // "  in f < g < h"
int text_frames_stack(const struct page *p, const char *indent,
		      uint32_t stack); // text_frames of it; 0 or -ENOMEM

// "coroutine 41 conn_reader [fd 7#3 EPOLLIN, 5m12s]  created at server.c:81", or "17 coroutines ...", in a
// tree "conn_reader x 17 ...".
void text_head(const struct page *p, const struct group *g);
void text_head_state(const struct page *p, const struct group *g); // of that, "[...]"
void text_head_fd_name(const struct page *p,
		       const struct group *g); // "  tcp 127.0.0.1:80 <- ..." if that is one thing
void text_head_created(const struct page *p, const struct group *g); // "  created at ..."
void text_head_finding(const struct page *p, const struct group *g); // of one: "  CTP001 proven so far"

void text_head_fd(const struct page *p, const struct fds_one *f); // "  tcp 127.0.0.1:80", if it is open
int text_why(const struct page *p, const struct group *g);        // what keeps it
int text_tree(const struct page *p);
