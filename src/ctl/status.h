// SPDX-License-Identifier: MIT
//
// status.h - the answer to `status` in words.
#pragma once

#include <stdio.h>

#include <jansson.h>

void status_print(const json_t *status, FILE *to);
