// SPDX-License-Identifier: MIT
//
// --baseline: findings of an older report are marked, and do not count for the exit status.
// --suppress: findings are left out, but counted; a line of its file is a rule and a function of
// waiter or closer, or a fingerprint.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyze/report/accounting.h"
#include "base/file.h"
#include "base/grow.h"

static void print_of(const struct finding *f, char out[17])
{
	snprintf(out, 17, "%016" PRIx64, f->fingerprint);
}

static int mark_known(struct report *r, const char *path)
{
	json_error_t error;
	json_t *root = json_load_file(path, 0, &error);
	const json_t *all = json_object_get(root, "findings");
	int e = !root && json_error_code(&error) == json_error_cannot_open_file ? -ENOENT :
		!json_is_array(all)                                             ? -EPROTO :
										  0;
	for (size_t i = 0; !e && i < r->nfindings; i++) {
		char print[17];
		size_t k;
		json_t *old;
		print_of(&r->findings[i], print);
		json_array_foreach(all, k, old)
		{
			const char *s = json_string_value(json_object_get(old, "fingerprint"));
			r->findings[i].known |= s && !strcmp(s, print);
		}
		r->known += r->findings[i].known;
	}
	json_decref(root);
	return e;
}

static bool has_function(const struct frames *f, const char *name)
{
	char buf[512];
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(frames_name(f->items[i], buf, sizeof(buf)), name) ||
		    !strcmp(frames_whole_name(f->items[i], buf, sizeof(buf)), name))
			return true;
	return false;
}

// A line: "CTP001 function", "CTP001 *", or a fingerprint; # begins a comment.
static bool line_hits(const char *line, const struct finding *f)
{
	char rule[64], name[512], print[17];
	int n = sscanf(line, "%63s %511s", rule, name);
	print_of(f, print);
	if (n < 1 || rule[0] == '#')
		return false;
	if (n == 1 || name[0] == '#')
		return !strcasecmp(rule, print) || !strcasecmp(rule, f->pass->rule);
	return (!strcasecmp(rule, f->pass->rule) || !strcmp(rule, "*")) &&
	       (!strcmp(name, "*") || !strcasecmp(name, print) || has_function(&f->waiter, name) ||
		has_function(&f->closer, name));
}

static void drop(struct report *r, size_t i)
{
	struct finding gone = r->findings[i];
	memmove(&r->findings[i], &r->findings[i + 1], (r->nfindings - i - 1) * sizeof(gone));
	r->nfindings--;
	frames_deinit(&gone.waiter);
	frames_deinit(&gone.closer);
	frames_deinit(&gone.creator);
	frames_deinit(&gone.opener);
	free(gone.cases);
	r->suppressed++;
}

static bool is_comment(const char *line)
{
	line += strspn(line, " \t\r\n");
	return !*line || *line == '#';
}

static int note_unused(struct report *r, char *line)
{
	line[strcspn(line, "\r\n")] = 0;
	int e = GROW(r->unused, r->nunused, r->unused_capacity);
	char *copy = e ? NULL : strdup(line);
	if (!copy)
		return -ENOMEM;
	r->unused[r->nunused++] = copy;
	return 0;
}

static int suppress(struct report *r, const char *path)
{
	int e;
	FILE *f = file_open_input(path, &e);
	if (!f)
		return e;
	char *line = NULL;
	size_t room = 0;
	while (!e && getline(&line, &room, f) > 0) {
		size_t before = r->nfindings;
		for (size_t i = r->nfindings; i-- > 0;)
			if (line_hits(line, &r->findings[i]))
				drop(r, i);
		if (r->nfindings == before && !is_comment(line))
			e = note_unused(r, line);
	}
	free(line);
	fclose(f);
	return e;
}

int report_filter(struct report *r, const struct report_settings *settings, const char **at)
{
	int e = 0;
	if (settings->suppress) {
		*at = settings->suppress;
		e = suppress(r, settings->suppress);
		e = e || !r->accounts ? e : accounting_count(r);
	}
	if (!e && settings->baseline) {
		*at = settings->baseline;
		e = mark_known(r, settings->baseline);
		r->compared = !e;
	}
	return e;
}

int report_count_others(struct report *r, const struct report_settings *settings, const char **at)
{
	struct report_settings all = *settings;
	struct report with = {.world = r->world};
	all.rules = NULL;
	int e = report_make(&with, r->world, &all);
	e = e ? e : report_filter(&with, &all, at);
	for (size_t i = 0; !e && i < with.nfindings; i++)
		r->others += !report_selects(settings, with.findings[i].pass);
	report_deinit(&with);
	return e;
}
