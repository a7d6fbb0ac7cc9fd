// SPDX-License-Identifier: MIT
//
// Reads lists of events. libctp.so compiles this into itself: no libc.
#include "ctp/event_choice.h"

// Does the pattern [p, end) stand for all of `text`? A star is tried again, one letter further, until
// what follows it fits.
static bool glob(const char *p, const char *end, const char *text)
{
	const char *star = NULL, *again = text;
	while (*text) {
		if (p < end && *p == '*') {
			star = ++p;
			again = text;
		} else if (p < end && (*p == '?' || *p == *text)) {
			p++;
			text++;
		} else if (star) {
			p = star;
			text = ++again;
		} else {
			return false;
		}
	}
	while (p < end && *p == '*')
		p++;
	return p == end;
}

bool event_choice_matches(const char *item, size_t bytes, const char *provider, const char *name)
{
	const char *end = item + bytes, *colon = item;
	while (colon < end && *colon != ':')
		colon++;
	return glob(item, colon, provider) && (colon == end || glob(colon + 1, end, name));
}

static bool is_between(char c)
{
	return c == ',' || c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

bool event_choice_item(const char *list, size_t bytes, size_t *at, const char **item, size_t *item_bytes,
		       bool *minus)
{
	while (*at < bytes && is_between(list[*at]))
		++*at;
	*minus = *at < bytes && list[*at] == '!';
	size_t begin = *at += *minus;
	while (*at < bytes && !is_between(list[*at]))
		++*at;
	*item = list + begin;
	*item_bytes = *at - begin;
	return *item_bytes > 0;
}

bool event_choice_has(const char *list, size_t bytes, const char *provider, const char *name)
{
	const char *item;
	size_t at = 0, n;
	bool minus, named = false, any = false;
	while (event_choice_item(list, bytes, &at, &item, &n, &minus)) {
		bool matches = event_choice_matches(item, n, provider, name);
		if (minus && matches)
			return false;
		named |= !minus;
		any |= !minus && matches;
	}
	return any || !named;
}
