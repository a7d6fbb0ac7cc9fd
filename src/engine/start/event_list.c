// SPDX-License-Identifier: MIT
//
// A list of events is text, which libctp.so reads in the region. ctp-run reads it as well, only to tell which
// of its items are of no use.
#include "engine/start/event_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ctp/event_choice.h"
#include "ctp/seq.h"
#include "ctp/there.h"

void event_list_deinit(struct event_list *l)
{
	free(l->text);
	free(l->matched);
	*l = (struct event_list){0};
}

static int append(struct event_list *l, const char *text, size_t n)
{
	char *more = realloc(l->text, l->bytes + n + 2);
	if (!more)
		return -ENOMEM;
	l->text = more;
	if (l->bytes)
		l->text[l->bytes++] = ',';
	memcpy(l->text + l->bytes, text, n);
	l->bytes += n;
	l->text[l->bytes] = '\0';
	return 0;
}

// A line of a file is an item or a list; what follows a # is not.
static int append_file(struct event_list *l, const char *path, char *why, size_t why_bytes)
{
	char line[1024];
	int e = 0;
	FILE *f = file_open_input(path, &e);
	if (!f) {
		snprintf(why, why_bytes, "--events=@%s: cannot read it: %s", path, file_why(e));
		return -EINVAL;
	}
	while (!e && fgets(line, sizeof(line), f)) {
		size_t n = strcspn(line, "#\r\n");
		if (strspn(line, " \t,") < n)
			e = append(l, line, n);
	}
	fclose(f);
	return e;
}

static bool is_item(const char *item, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*?";
	unsigned colons = 0;
	for (size_t i = 0; i < n; i++) {
		colons += item[i] == ':';
		if (item[i] != ':' && !strchr(letters, item[i]))
			return false;
	}
	return colons <= 1 && item[0] != ':' && item[n - 1] != ':';
}

static int check(struct event_list *l, char *why, size_t why_bytes)
{
	const char *item;
	size_t at = 0, n, items = 0;
	bool minus;
	while (event_choice_item(l->text, l->bytes, &at, &item, &n, &minus)) {
		items++;
		if (is_item(item, n))
			continue;
		snprintf(why, why_bytes,
			 "--events: '%.*s' is not PROVIDER:NAME; * and ? stand for letters, ! takes away",
			 (int)(n < 60 ? n : 60), item);
		return -EINVAL;
	}
	if (at < l->bytes || !items) {
		snprintf(why, why_bytes, "--events: %s; give a list such as 'http:*,!http:debug', or '@FILE'",
			 items ? "a ! stands alone" : "it names no event");
		return -EINVAL;
	}
	if (l->bytes > CTP_CHOICE_TEXT) {
		snprintf(why, why_bytes, "--events: the list is longer than %u bytes; use * in it",
			 CTP_CHOICE_TEXT);
		return -EINVAL;
	}
	l->matched = calloc(items, sizeof(*l->matched));
	return l->matched ? 0 : -ENOMEM;
}

int event_list_parse(struct event_list *l, const char *value, char *why, size_t why_bytes)
{
	int r = 0;
	event_list_deinit(l);
	snprintf(why, why_bytes, "out of memory");
	for (const char *p = value; !r; p++) {
		size_t n = strcspn(p, ",");
		char *piece = strndup(p, n);
		r = !piece        ? -ENOMEM :
		    *piece == '@' ? append_file(l, piece + 1, why, why_bytes) :
				    append(l, p, n);
		free(piece);
		p += n;
		if (!*p)
			break;
	}
	r = r ? r : check(l, why, why_bytes);
	if (r)
		event_list_deinit(l);
	else
		*why = '\0';
	return r ? -EINVAL : 0;
}

void event_list_describe(const struct event_list *l, const struct ctp_region *r)
{
	if (!r->event_choice || !l->text)
		return;
	r->event_choice->bytes = (uint32_t)l->bytes;
	memcpy(r->event_choice->text, l->text, l->bytes);
}

void event_list_change(const struct event_list *l, const struct ctp_region *r)
{
	struct ctp_event_choice *c = r->event_choice;
	if (!c)
		return;
	ctp_seq_begin(&c->seq);
	event_list_describe(l, r);
	ctp_seq_end(&c->seq);
}

bool event_list_taken(const struct ctp_region *r)
{
	return !r->event_choice || ctp_load32(&r->ext->events_chosen) == ctp_load32(&r->event_choice->seq);
}

// libc:*, libc: without a letter that stands for others in the provider, and nothing is taken away.
static bool spells(const char *item, size_t n, bool minus)
{
	const char *colon = memchr(item, ':', n);
	size_t provider = colon ? (size_t)(colon - item) : n;
	return !minus && !memchr(item, '*', provider) && !memchr(item, '?', provider);
}

bool event_list_names_any(const struct event_list *l)
{
	const char *item;
	size_t at = 0, n;
	bool minus;
	while (l->text && event_choice_item(l->text, l->bytes, &at, &item, &n, &minus))
		if (spells(item, n, minus))
			return true;
	return false;
}

bool event_list_names(const struct event_list *l, const char *provider, const char *name)
{
	const char *item;
	size_t at = 0, n;
	bool minus, named = false;
	while (l->text && event_choice_item(l->text, l->bytes, &at, &item, &n, &minus))
		named |= spells(item, n, minus) && event_choice_matches(item, n, provider, name);
	return named && event_choice_has(l->text, l->bytes, provider, name);
}

void event_list_found(const struct event_list *l, const char *provider, const char *name)
{
	const char *item;
	size_t at = 0, n;
	bool minus;
	for (size_t i = 0; event_choice_item(l->text, l->bytes, &at, &item, &n, &minus); i++)
		l->matched[i] |= event_choice_matches(item, n, provider, name);
}

static void match(const struct event_list *l, const struct ctp_event_row *row)
{
	const char *end = row->text + sizeof(row->text) - 1,
		   *name = memchr(row->text, 0, sizeof(row->text) - 1);
	if (name && memchr(name + 1, 0, (size_t)(end - name)))
		event_list_found(l, row->text, name + 1);
}

void event_list_look(const struct event_list *l, const struct ctp_region *r, uint32_t *seen)
{
	uint32_t n = l->text ? ctp_load32(&r->ext->events) : 0;
	for (n = n < r->events_max ? n : r->events_max; *seen < n; ++*seen) {
		if (!ctp_there(r, &r->events[*seen]))
			return;
		struct ctp_event_row row = r->events[*seen];
		match(l, &row);
	}
}

bool event_list_unmatched(const struct event_list *l, char *buf, size_t bytes)
{
	const char *item;
	size_t at = 0, n, used = 0;
	bool minus, any = false;
	*buf = '\0';
	for (size_t i = 0; l->text && event_choice_item(l->text, l->bytes, &at, &item, &n, &minus); i++) {
		if (l->matched[i])
			continue;
		any = true;
		if (used < bytes)
			used += (size_t)snprintf(buf + used, bytes - used, "%s%s%.*s", used ? ", " : "",
						 minus ? "!" : "", (int)n, item);
	}
	return any;
}
