// SPDX-License-Identifier: MIT
//
// event_choice.h - which events a list chooses: 'http:*,!http:debug'. An item is PROVIDER:NAME or PROVIDER,
// in each of which * stands for any letters, and ? for one; with a ! before it, it takes away what the others
// choose. A list of such items alone takes away from all.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Of a list that is empty: all.
bool event_choice_has(const char *list, size_t bytes, const char *provider, const char *name);
// The item of the list that begins at *at, without its !; *at becomes where the next begins. False: none
// left.
bool event_choice_item(const char *list, size_t bytes, size_t *at, const char **item, size_t *item_bytes,
		       bool *minus);
bool event_choice_matches(const char *item, size_t bytes, const char *provider, const char *name);
