// SPDX-License-Identifier: MIT
//
// The tasks that the program tells of, by type: how long they took, what they did meanwhile, and the slowest.
// (--tasks)
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/format/format.h"
#include "analyze/history/tasks.h"
#include "base/text.h"

static void put_time(FILE *to, uint64_t ns, uint64_t whole)
{
	char span[32];
	text_duration(span, sizeof(span), ns);
	fprintf(to, "%10s %5.1f %%", span, whole ? 100.0 * (double)ns / (double)whole : 0);
}

static void put_places(FILE *to, const struct tasks_places *p, uint64_t whole, bool calls)
{
	for (unsigned i = 0; i < p->n; i++) {
		const struct tracks_site *site = p->items[i].site;
		fputs("             ", to);
		put_time(to, p->items[i].ns, whole);
		const char *place = !site ? "" : calls ? site->caller_place : site->place;
		fprintf(to, "  %s\n", *place ? place : "somewhere else, or not known");
	}
}

static void put_split(FILE *to, const struct tasks_split *s, uint64_t whole)
{
	for (unsigned i = 0; i < TASKS_PARTS; i++) {
		if (i == TASKS_UNKNOWN && !s->parts[i])
			continue;
		fprintf(to, "    %-9s", tasks_parts[i]);
		put_time(to, s->parts[i], whole);
		fputc('\n', to);
		if (i == TASKS_WAITING)
			put_places(to, &s->waits, whole, false);
		else if (i == TASKS_BLOCKED)
			put_places(to, &s->blocks, whole, true);
	}
}

static void put_type(FILE *to, const struct tasks_type *y)
{
	static const unsigned percents[] = {50, 90, 99, 100};
	uint64_t whole = 0;
	char span[32];
	for (size_t i = 0; i < y->n; i++)
		whole += y->took[i];
	text_clean(y->name);
	fprintf(to, "task %s: %" PRIu64 " begun, %zu ended", y->name, y->begun, y->n);
	for (unsigned i = 0; y->n && i < sizeof(percents) / sizeof(*percents); i++) {
		text_duration(span, sizeof(span), tasks_rank(y, percents[i]));
		fprintf(to, "%s %u %% within %s", i ? "," : ";", percents[i], span);
	}
	fputc('\n', to);
	if (y->n)
		put_split(to, &y->split, whole);
	for (unsigned i = 0; i < y->nslowest; i++) {
		const struct task *k = y->slowest[i];
		text_duration(span, sizeof(span), k->ns);
		fprintf(to, "  %s %s", span, k->ended ? "took one of" : "and still not ended, one of");
		if (k->coroutine)
			fprintf(to, " coroutine %" PRIu64 "\n", k->coroutine);
		else
			fprintf(to, " thread %" PRIu64 "\n", k->tid);
		put_split(to, &k->split, k->ns);
	}
}

int format_tasks(FILE *to, const struct report *r, const struct format_settings *settings)
{
	struct tasks t;
	int e = tasks_make(&t, r, settings->symfs);
	for (size_t i = 0; !e && i < t.ntypes; i++)
		put_type(to, &t.types[i]);
	if (!e && !t.ntypes)
		fputs("no tasks: the program tells of none, or --events left them out (ctp_task_begin, ctp/event.h)\n",
		      to);
	if (!e && t.unmatched)
		fprintf(to,
			"%" PRIu64
			" ends of tasks whose begin is not in the trace, or tasks that began twice\n",
			t.unmatched);
	tasks_deinit(&t);
	return e;
}
