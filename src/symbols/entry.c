// SPDX-License-Identifier: MIT
//
// Finds what a coroutine runs if its first function belongs to a library. Boost's
// fiber_entry<fiber_record<context, stack, F>> names F, if that is a type of its own: a
// lambda or a functor. If F is the type of a function pointer, only the template is named.
// Or the first function is a trampoline in the library's source: then the next frame tells
// more. Names come from a file that may hold anything; all reads are bounded by the text.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/frames.h"
#include "symbols/name.h"

struct span {
	const char *at;
	size_t n;
};

static bool has(struct span s, const char *word)
{
	return memmem(s.at, s.n, word, strlen(word)) != NULL;
}

// The last of the arguments that follow `word`, a template's name with its "<". n 0: there are none.
static struct span last_argument(struct span in, const char *word)
{
	const char *found = memmem(in.at, in.n, word, strlen(word)), *end = in.at + in.n;
	struct span last = {found ? found + strlen(word) : end, 0};
	int depth = 0;
	for (const char *p = last.at; p < end; p++) {
		bool closes = (*p == '>' && p[-1] != '-') || *p == ')' || *p == '}';
		if (closes && depth-- == 0) {
			last.n = (size_t)(p - last.at);
			break;
		}
		depth += *p == '<' || *p == '(' || *p == '{';
		if (*p == ',' && !depth)
			last.at = p + 1;
	}
	while (last.n && *last.at == ' ')
		last = (struct span){last.at + 1, last.n - 1};
	while (last.n && strchr(" &", last.at[last.n - 1]))
		last.n--;
	return last;
}

// "main()::<lambda(int)>" without what the lambda takes.
static void put(struct span s, char *buf, size_t bytes)
{
	char *name = strndup(s.at, s.n);
	if (name)
		name_shorten(name);
	snprintf(buf, bytes, "%s", name ? name : "?");
	free(name);
}

bool frames_is_named(const struct symbols_frame *f)
{
	return !f->symbol || strncmp(f->symbol, "operator()", 10) != 0; // a lambda's own name is none
}

const char *frames_entry_name(const struct symbols_frame *f, const struct symbols_frame *own, char *buf,
			      size_t bytes)
{
	const char *arguments = f && f->symbol && frames_is_library(f) ? strchr(f->symbol, '<') : NULL;
	if ((own && frames_is_named(own)) || !arguments)
		return frames_name(own ? own : f, buf, bytes);
	struct span fn = last_argument((struct span){f->symbol, strlen(f->symbol)}, "_record<");
	if (fn.n &&
	    has(fn, "control_block<")) // Boost.Coroutine2: its own lambda, in a template over the program's
		fn = last_argument(fn, "control_block<");
	const char *name = f->symbol;
	if (!strncmp(name, "void ", 5)) // a template's name has what it returns
		name += 5;
	bool of_library = !strncmp(fn.at, "boost::", 7) || !strncmp(fn.at, "std::", 5);
	if (fn.n && !of_library && !has(fn, "(&)") && !has(fn, "(*)"))
		put(fn, buf, bytes);
	else if (own)
		frames_name(own, buf, bytes);
	else
		snprintf(buf, bytes, "%.*s<>", (int)(arguments - name), name);
	return buf;
}

static bool same_function(const struct symbols_frame *a, const struct symbols_frame *b)
{
	return a->symbol && b->symbol && !strcmp(a->symbol, b->symbol);
}

static bool same_file(const struct symbols_frame *a, const struct symbols_frame *b)
{
	return a->file && b->file && !strcmp(a->file, b->file);
}

// Does its file come again, with another in between?
static bool file_again(const struct frames *f, size_t at)
{
	size_t i = at;
	while (i > 0 && same_file(f->items[i - 1], f->items[at]))
		i--;
	while (i-- > 0)
		if (same_file(f->items[i], f->items[at]))
			return true;
	return false;
}

// No program's function is one that a coroutine's stack is laid out to begin with.
static bool in_assembly(const struct symbols_frame *f)
{
	size_t n = f->file ? strlen(f->file) : 0;
	return n > 2 && (!strcmp(f->file + n - 2, ".S") || !strcmp(f->file + n - 2, ".s"));
}

// Where one source file has both the coroutine's first function and the switch,
// it is its library's: the first function whose file does not come again nearer
// to the switch is the program's. So is one in assembly, and what that calls may be.
// NULL: there is none.
static const struct symbols_frame *past_trampoline(const struct frames *f, const struct symbols_frame *entry)
{
	size_t at = f->n, inner = 0;
	while (inner < f->n && frames_is_library(f->items[inner]))
		inner++;
	while (at-- > inner)
		if (same_function(f->items[at], entry))
			break;
	bool assembly = at + 1 > inner && in_assembly(entry);
	if (at + 1 <= inner || (!assembly && !same_file(entry, f->items[inner])))
		return NULL;
	at -= assembly && at > inner;
	while (at > inner && file_again(f, at))
		at--;
	return at > inner && f->items[at]->file && !frames_is_library(f->items[at]) ? f->items[at] : NULL;
}

const struct symbols_frame *frames_outermost_own(const struct frames *f)
{
	for (size_t i = f->n; i-- > 0;)
		if (!frames_is_library(f->items[i]))
			return f->items[i];
	return NULL;
}

const struct symbols_frame *frames_task(const struct frames *f, const struct symbols_frame *entry)
{
	return frames_is_library(entry) ? frames_outermost_own(f) : past_trampoline(f, entry);
}

const struct symbols_frame *frames_beyond(const struct frames *f, const struct symbols_frame *entry,
					  const struct frames *like, const struct symbols_frame *own)
{
	size_t at = f->n, k = like->n;
	while (at > 0 && !same_function(f->items[at - 1], entry))
		at--;
	while (k > 0 && !same_function(like->items[k - 1], entry))
		k--;
	while (at > 0 && k > 0 && like->items[k - 1] != own &&
	       same_function(f->items[at - 1], like->items[k - 1])) {
		at--;
		k--;
	}
	bool whole = k > 0 && like->items[k - 1] == own; // the other's way to what it runs
	return whole && at > 0 && f->items[at - 1]->file && !frames_is_library(f->items[at - 1]) ?
		       f->items[at - 1] :
		       NULL;
}
