// SPDX-License-Identifier: MIT
//
// One line that is written again and again, and erased before any other output, so that
// stderr in a file or a pipe never holds it.
#include "analyze/progress.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/color.h"

#define SECOND_NS 1000000000u
#define FRAME_NS (SECOND_NS / 10)
#define BAR "########################################"
#define BAR_WIDTH (sizeof(BAR) - 1)

void progress_begin(struct progress *p)
{
	*p = (struct progress){
		.wanted = color_is_terminal(2), .next_ns = clock_mono_ns() + SECOND_NS, .doing = "reading"};
}

void progress_what(struct progress *p, const char *doing)
{
	progress_clear(p);
	p->doing = doing;
}

void progress_report(void *arg, uint64_t done, uint64_t total)
{
	struct progress *p = arg;
	uint64_t now = p->wanted ? clock_mono_ns() : 0;
	if (!p->wanted || now < p->next_ns)
		return;
	p->next_ns = now + FRAME_NS;
	p->drawn = true;
	double part = total ? (double)(done < total ? done : total) / (double)total : 0;
	if (total)
		fprintf(stderr, "\r%s %3.0f%% [%-*.*s]", p->doing, part * 100, (int)BAR_WIDTH,
			(int)(part * BAR_WIDTH), BAR);
	else
		fprintf(stderr, "\r%s %.1f MB", p->doing, (double)done / 1e6);
}

void progress_clear(struct progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = false;
}

void progress_end(struct progress *p)
{
	progress_clear(p);
	p->wanted = false;
}
