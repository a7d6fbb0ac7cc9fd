// SPDX-License-Identifier: MIT
//
// json.h - what every JSON that we write needs.
#pragma once

#include <jansson.h>
#include <stdint.h>

json_t *json_count(uint64_t v);
// A string of the target's (a path, a name), or null for NULL. It may be no
// UTF-8: such bytes become '?'.
json_t *json_text(const char *s);
