// SPDX-License-Identifier: MIT
//
// Shortens names of templates: arguments and return types can take thousands of
// characters, for which no graph and no line has room. Names come from files that may
// hold anything: one with unbalanced brackets stays as it is.
#include "symbols/name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct shorter {
	const char *from; // what is left
	char *to;         // what is made
	char *made;
	char *begins; // where the name itself does: behind what it returns
	bool is_operator;
};

static bool begins_with(const char *s, const char *word)
{
	return !strncmp(s, word, strlen(word));
}

static void copy(struct shorter *s, size_t n)
{
	memcpy(s->to, s->from, n);
	s->to += n;
	s->from += n;
}

// The length of what stands in brackets of this kind, with them; 0: they do not match. An arrow's is none.
static size_t bracketed(const char *at, char open, char close)
{
	size_t depth = 0;
	for (const char *p = at; *p; p++) {
		depth += *p == open;
		if (*p == close && p[-1] != '-' && !--depth)
			return (size_t)(p - at) + 1;
	}
	return 0;
}

static void put(struct shorter *s, const char *text)
{
	s->to = stpcpy(s->to, text);
}

static bool follows(const struct shorter *s, const char *word)
{
	size_t n = strlen(word);
	return (size_t)(s->to - s->made) >= n && !memcmp(s->to - n, word, n);
}

// "operator" and its sign, which may be brackets.
static void copy_operator(struct shorter *s)
{
	const size_t word = strlen("operator");
	size_t sign = begins_with(s->from + word, "()") ? 2 : strspn(s->from + word, "<>=!+-*/%^&|~,[]");
	copy(s, word + sign);
	s->is_operator = true;
}

// False: its brackets do not match.
static bool step(struct shorter *s, bool word_begins)
{
	if (word_begins && begins_with(s->from, "operator") && !isalnum((unsigned char)s->from[8]) &&
	    s->from[8] != '_') {
		copy_operator(s);
		return true;
	}
	bool angle = *s->from == '<';
	if ((angle && !begins_with(s->from, "<lambda") && !begins_with(s->from, "<unnamed")) ||
	    (*s->from == '(' && !begins_with(s->from, "(anonymous"))) {
		size_t n = angle ? bracketed(s->from, '<', '>') : bracketed(s->from, '(', ')');
		if (!follows(s, "lambda"))
			put(s, angle ? "<>" : "()");
		s->from += n;
		return n > 0;
	}
	if (*s->from == '(') {
		size_t n = bracketed(s->from, '(', ')');
		copy(s, n);
		return n > 0;
	}
	copy(s, 1);
	if (s->to[-1] == ' ' && !s->is_operator)
		s->begins = s->to;
	return true;
}

void name_shorten(char *name)
{
	size_t bytes = strlen(name) + 1;
	char *made = malloc(bytes + 2); // a bracket that matches none is two, too
	if (!made)
		return;
	struct shorter s = {.from = name, .to = made, .made = made, .begins = made};
	bool ok = true;
	while (ok && *s.from && !begins_with(s.from, " [clone"))
		ok = step(&s, s.from == name || strchr(" :", s.from[-1]));
	*s.to = 0;
	if (ok && *s.begins)
		memcpy(name, s.begins, (size_t)(s.to - s.begins) + 1);
	free(made);
}
