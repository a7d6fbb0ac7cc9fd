// SPDX-License-Identifier: MIT
//
// A template's arguments, and what it returns, are most of its name, and no graph has room for
// thousands of characters. Names come from files that may hold anything: one whose brackets do not
// match stays as it is.
#include "analyze/name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct shorter {
	const char *from; // what is left
	char *to;         // what is made
	char *begins;     // where the name itself does: behind what it returns
	int parentheses;
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

// The length of what stands in angle brackets, with them; 0: they do not match. An arrow's is none.
static size_t bracketed(const char *at)
{
	size_t depth = 0;
	for (const char *p = at; *p; p++) {
		depth += *p == '<';
		if (*p == '>' && p[-1] != '-' && !--depth)
			return (size_t)(p - at) + 1;
	}
	return 0;
}

// "operator" and its sign, which may be brackets.
static void copy_operator(struct shorter *s)
{
	const size_t word = strlen("operator");
	size_t sign = s->from[word] == '(' ? 2 : strspn(s->from + word, "<>=!+-*/%^&|~,[]");
	copy(s, word + sign);
	s->is_operator = true;
}

// False: its brackets do not match.
static bool step(struct shorter *s, bool word_begins)
{
	if (word_begins && begins_with(s->from, "operator") && !isalnum((unsigned char)s->from[8]) && s->from[8] != '_') {
		copy_operator(s);
		return true;
	}
	if (*s->from == '<') {
		size_t n = bracketed(s->from);
		bool is_name = begins_with(s->from, "<lambda") || begins_with(s->from, "<unnamed");
		if (!n)
			return false;
		if (is_name) {
			copy(s, n);
			return true;
		}
		s->from += n;
		*s->to++ = '<';
		*s->to++ = '>';
		return true;
	}
	s->parentheses += (*s->from == '(') - (*s->from == ')');
	copy(s, 1);
	if (s->to[-1] == ' ' && !s->parentheses && !s->is_operator)
		s->begins = s->to;
	return true;
}

void name_shorten(char *name)
{
	size_t bytes = strlen(name) + 1;
	char *made = malloc(bytes);
	if (!made)
		return;
	struct shorter s = { .from = name, .to = made, .begins = made };
	bool ok = true;
	while (ok && *s.from && !begins_with(s.from, " [clone"))
		ok = step(&s, s.from == name || strchr(" :", s.from[-1]));
	*s.to = 0;
	if (ok && *s.begins)
		memcpy(name, s.begins, (size_t)(s.to - s.begins) + 1);
	free(made);
}
