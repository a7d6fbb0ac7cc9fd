// SPDX-License-Identifier: MIT
//
// The number of series is bounded: states, kinds, rules with verdicts, buckets, and twenty sites.
#include "engine/metrics/metrics_text.h"

#include <inttypes.h>
#include <stdio.h>

#include "ctp/rules.h"
#include "ctp/words.h"

struct out {
	FILE *to;
	bool open_metrics;
};

// The lines before a family's samples. unit: "" or "seconds", with which the name ends.
static void family(struct out *o, const char *name, const char *type, const char *unit, const char *help)
{
	bool total = !o->open_metrics && *type == 'c';
	fprintf(o->to, "# TYPE %s%s %s\n", name, total ? "_total" : "", type);
	if (o->open_metrics && *unit)
		fprintf(o->to, "# UNIT %s %s\n", name, unit);
	fprintf(o->to, "# HELP %s%s %s\n", name, total ? "_total" : "", help);
}

// A label's value: names out of the target may hold anything.
static void put_label(FILE *to, const char *name, const char *value)
{
	fprintf(to, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			fputc('\\', to);
		fputc((unsigned char)*value < 0x20 || *value & 0x80 ? '?' : *value, to);
	}
	fputc('"', to);
}

static void put_coroutines(struct out *o, const struct metrics_counts *c)
{
	static const char *const states[METRICS_STATES] = {
		[CTP_CREATED] = "created", [CTP_SUSPENDED] = "suspended", [CTP_RUNNING] = "running"};
	family(o, "ctp_coroutines", "gauge", "", "Coroutines that have not ended, by state.");
	for (unsigned i = 0; i < METRICS_STATES; i++)
		if (states[i])
			fprintf(o->to, "ctp_coroutines{state=\"%s\"} %" PRIu64 "\n", states[i], c->states[i]);
	family(o, "ctp_waits", "gauge", "",
	       "Suspended coroutines by the kind of descriptor that they wait for.");
	for (unsigned i = 0; i < METRICS_KINDS; i++)
		fprintf(o->to, "ctp_waits{kind=\"%s\"} %" PRIu64 "\n",
			i < METRICS_KINDS - 1 ? words_kind(i) : "none", c->kinds[i]);
	family(o, "ctp_suspended_coroutines", "gauge", "",
	       "Suspended coroutines by place, the twenty with the most of them.");
	for (unsigned i = 0; i < c->nsites; i++) {
		fputs("ctp_suspended_coroutines{", o->to);
		put_label(o->to, "site", c->sites[i].name);
		fprintf(o->to, "} %" PRIu64 "\n", c->sites[i].n);
	}
	fprintf(o->to, "ctp_suspended_coroutines{site=\"other\"} %" PRIu64 "\n", c->other_sites);
}

static void put_findings(struct out *o, const struct metrics_counts *c)
{
	family(o, "ctp_findings", "gauge", "",
	       "Coroutines that can no longer be woken, as far as is seen now, by rule and verdict; ctp-analyze has the last word.");
	for (unsigned i = 0; i < METRICS_RULES && i < RULES; i++)
		for (unsigned k = 0; rules_id[i][0] && k < METRICS_VERDICTS; k++)
			if (c->findings[i][k] || i == RULE_LOST_WAKEUP)
				fprintf(o->to, "ctp_findings{rule=\"%s\",verdict=\"%s\"} %" PRIu64 "\n",
					rules_id[i], metrics_verdicts[k], c->findings[i][k]);
}

static void put_counter(struct out *o, const char *name, const char *unit, const char *help, double value)
{
	family(o, name, "counter", unit, help);
	fprintf(o->to, "%s_total %.15g\n", name, value);
}

static void put_histogram(struct out *o, const char *name, const char *help,
			  const struct metrics_histogram *h)
{
	uint64_t n = 0;
	family(o, name, "histogram", "seconds", help);
	for (unsigned i = 0; i < METRICS_BUCKETS; i++)
		fprintf(o->to, "%s_bucket{le=\"%.9g\"} %" PRIu64 "\n", name, metrics_bound_s(i),
			n += h->buckets[i]);
	fprintf(o->to, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n%s_sum %.15g\n%s_count %" PRIu64 "\n", name, h->n,
		name, h->sum_s, name, h->n);
}

char *metrics_text(const struct metrics_values *v, bool open_metrics, size_t *bytes)
{
	char *text = NULL;
	struct out o = {open_memstream(&text, bytes), open_metrics};
	if (!o.to)
		return NULL;
	family(&o, "ctp_build_info", "gauge", "", "The version of ctp.");
	fprintf(o.to, "ctp_build_info{version=\"%s\"} 1\n", CTP_TOOL_VERSION);
	put_coroutines(&o, &v->counts);
	put_findings(&o, &v->counts);
	put_counter(&o, "ctp_coroutines_made", "", "Coroutines that were created.", (double)v->sums.created);
	put_counter(&o, "ctp_switches", "",
		    "Times that control passed from one coroutine or native stack to another.",
		    (double)v->sums.switches);
	put_counter(&o, "ctp_events_lost", "", "Records that were dropped, as a ring was full.",
		    (double)v->sums.lost);
	put_counter(&o, "ctp_engine_cpu_seconds", "seconds", "CPU time of ctp-run.", v->cpu_s);
	family(&o, "ctp_last_switch_timestamp_seconds", "gauge", "seconds",
	       "When a switch was last seen, since 1970-01-01 UTC.");
	fprintf(o.to, "ctp_last_switch_timestamp_seconds %.15g\n", v->last_switch_s);
	if (v->times) {
		put_histogram(&o, "ctp_slice_duration_seconds", "How long coroutines ran before they left.",
			      metrics_times_slices(v->times));
		put_histogram(&o, "ctp_resume_latency_seconds",
			      "Time from the event for a coroutine until it went on.",
			      metrics_times_latencies(v->times));
	}
	fputs("# EOF\n", o.to);
	return fclose(o.to) ? NULL : text;
}
