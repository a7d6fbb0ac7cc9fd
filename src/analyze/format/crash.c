// SPDX-License-Identifier: MIT
//
// How a process died by a signal: which coroutine ran, where, and what the CPU or the sender gave as the
// reason.
#include "analyze/format/crash.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/format/format.h"
#include "analyze/report/run_identity.h"
#include "base/json.h"
#include "base/text.h"
#include "ctp/words.h"
#include "symbols/frames_json.h"

static uint64_t after_ns(const struct report *r, const struct ctp_crash *c)
{
	uint64_t at = world_ns(r->world, c->time);
	return at > r->world->start_ns ? at - r->world->start_ns : 0;
}

// On the stack of the thread that died, which says which one it is.
static bool on_its_own(const struct image *m, const struct ctp_crash *c)
{
	for (size_t i = 0; c->who && i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->native == c->who)
			return t->tid == c->tid;
	}
	return false;
}

void crash_text(FILE *to, const struct report *r)
{
	for (size_t i = 0; i < r->world->nimages; i++) {
		const struct image *m = &r->world->images[i];
		const struct ctp_crash *c = image_crash(m);
		struct frames f = {0};
		char sig[24], who[256], span[32], at[32] = "", thread[32] = "", clock[RUN_IDENTITY_TIME];
		if (!c)
			continue;
		report_who(r, m, c->who, who, sizeof(who));
		report_where(r, m, who + strlen(who), sizeof(who) - strlen(who));
		text_duration(span, sizeof(span), after_ns(r, c));
		if (c->code > 0)
			snprintf(at, sizeof(at), " at 0x%" PRIx64, c->addr);
		if (!on_its_own(m, c))
			snprintf(thread, sizeof(thread), ", thread %u", c->tid);
		run_identity_clock(r->world, world_ns(r->world, c->time), clock);
		fprintf(to, "crash    %s%s in %s%s, after %s%s%s%s\n",
			words_signal(c->signal, sig, sizeof(sig)), at, who, thread, span, *clock ? " (" : "",
			clock, *clock ? ")" : "");
		if (!frames_read(&f, r->symbols[i], m, c->stack))
			format_text_stack(to, r->symbols[i], &f, STACK_PLAIN);
		frames_deinit(&f);
		fputc('\n', to);
	}
}

json_t *crash_json(const struct report *r)
{
	json_t *a = json_array();
	for (size_t i = 0; i < r->world->nimages; i++) {
		const struct image *m = &r->world->images[i];
		const struct ctp_crash *c = image_crash(m);
		struct frames f = {0};
		char sig[24], addr[24];
		if (!c)
			continue;
		frames_read(&f, r->symbols[i], m, c->stack);
		snprintf(addr, sizeof(addr), "0x%" PRIx64, c->addr);
		json_array_append_new(
			a,
			json_pack("{s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "pid", json_count(m->pid),
				  "signal", words_signal(c->signal, sig, sizeof(sig)), "code", c->code,
				  "address", c->code > 0 ? json_string(addr) : json_null(), "tid",
				  json_count(c->tid), "coroutine", c->who ? json_count(c->who) : json_null(),
				  "t_ns", c->time ? json_count(after_ns(r, c)) : json_null(), "stack",
				  frames_json(&f)));
		frames_deinit(&f);
	}
	return a;
}
