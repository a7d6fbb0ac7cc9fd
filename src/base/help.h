// SPDX-License-Identifier: MIT
//
// help.h - the text of --help: options on the left, descriptions on the right, wrapped to the terminal.
#pragma once

#include <stddef.h>
#include <stdio.h>

// The columns of the terminal that `to` is, 100 at most; 80 if it is none.
size_t help_columns(FILE *to);
// "lead: text", further lines of which stand below the text. With lead "" from the margin.
void help_text(FILE *to, const char *lead, const char *text);
// An option as it is written (broken behind a | if it is too long) and what it does.
void help_row(FILE *to, const char *names, const char *text);
