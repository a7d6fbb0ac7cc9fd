// SPDX-License-Identifier: MIT
//
// Two traces compared, for programs: all values, whether they differ or not (spec/diff.md).
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>

#include "analyze/diff/diff.h"
#include "analyze/format/format.h"
#include "analyze/report/describe.h"
#include "base/json.h"

static json_t *side(const struct diff_side *s)
{
	const struct world *w = s->world;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "path", json_text(w->path),
			 "duration_ns", json_count(w->duration_ns), "coroutines", json_count(w->coroutines),
			 "suspended", json_count(w->counts.suspended), "switches",
			 json_count(w->counts.switches), "lost", json_count(w->lost), "times",
			 json_boolean(s->has_times), "lacks", json_text(s->lacks));
}

static json_t *findings(const struct diff *d)
{
	json_t *a = json_array();
	for (size_t i = 0; i < d->nfindings; i++) {
		const struct diff_finding *f = &d->findings[i];
		const struct finding *old = f->of[DIFF_OLD], *now = f->of[DIFF_NEW], *of = now ? now : old;
		char print[17], message[1024];
		snprintf(print, sizeof(print), "%016" PRIx64, f->fingerprint);
		describe_message(&d->sides[now ? DIFF_NEW : DIFF_OLD].report, of, message, sizeof(message));
		json_array_append_new(
			a,
			json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:o, s:o, s:o}", "change", diff_word(f),
				  "rule", of->pass->rule, "fingerprint", print, "old_verdict",
				  old ? verdict_words[old->verdict] : NULL, "new_verdict",
				  now ? verdict_words[now->verdict] : NULL, "old", json_count(f->n[DIFF_OLD]),
				  "new", json_count(f->n[DIFF_NEW]), "message", json_text(message)));
	}
	return a;
}

static json_t *times(const struct profile_histogram *h)
{
	return !h->n ? json_null() :
		       json_pack("{s:o, s:o, s:o, s:o, s:o}", "n", json_count(h->n), "median_ns",
				 json_count((uint64_t)diff_stats_quantile(h, 0.5)), "p99_ns",
				 json_count((uint64_t)diff_stats_quantile(h, 0.99)), "mean_ns",
				 json_count((uint64_t)diff_stats_mean(h)), "max_ns", json_count(h->most));
}

static json_t *measure(const struct profile_histogram *old, const struct profile_histogram *now, bool known)
{
	static const char *const words[] = {
		[DIFF_FEW] = "few", [DIFF_SAME] = "same", [DIFF_SLOWER] = "slower", [DIFF_FASTER] = "faster"};
	double ratio = 1;
	enum diff_change change = diff_stats_compare(old, now, &ratio);
	if (!known || (!old->n && !now->n))
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:o}", "change", words[change], "ratio",
			 change == DIFF_SLOWER || change == DIFF_FASTER ? json_real(ratio) : json_null(),
			 "old", times(old), "new", times(now));
}

static json_t *measures(const struct diff *d, const struct profile_histogram h[PROFILE_COUNT][DIFF_SIDES],
			json_t *o)
{
	bool known = d->sides[DIFF_OLD].has_times && d->sides[DIFF_NEW].has_times;
	for (unsigned k = 0; k < PROFILE_COUNT; k++)
		json_object_set_new(o, diff_times[k], measure(&h[k][DIFF_OLD], &h[k][DIFF_NEW], known));
	return o;
}

static json_t *sites(const struct diff *d)
{
	json_t *a = json_array();
	for (size_t i = 0; i < d->nsites; i++) {
		const struct diff_site *s = &d->sites[i];
		char key[17];
		snprintf(key, sizeof(key), "%016" PRIx64, s->key);
		json_array_append_new(a,
				      measures(d, s->times,
					       json_pack("{s:s, s:o, s:o, s:o}", "fingerprint", key, "where",
							 json_text(s->where), "old_suspended",
							 json_count(s->suspended[DIFF_OLD]), "new_suspended",
							 json_count(s->suspended[DIFF_NEW]))));
	}
	return a;
}

int diff_json(FILE *to, const struct diff *d)
{
	struct profile_histogram all[PROFILE_COUNT][DIFF_SIDES];
	for (unsigned k = 0; k < PROFILE_COUNT; k++)
		for (int i = 0; i < DIFF_SIDES; i++)
			all[k][i] = d->sides[i].profile.all[k];
	json_t *root = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "version", 1, "tool",
				 "ctp-analyze " CTP_TOOL_VERSION, "old", side(&d->sides[DIFF_OLD]), "new",
				 side(&d->sides[DIFF_NEW]), "findings", findings(d), "all",
				 measures(d, all, json_object()), "sites", sites(d));
	int e = !root                                                         ? -ENOMEM :
		json_dumpf(root, to, JSON_INDENT(2)) || putc('\n', to) == EOF ? format_not_written() :
										0;
	json_decref(root);
	return e;
}
