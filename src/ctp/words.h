// SPDX-License-Identifier: MIT
//
// words.h - how reports call the numbers of the region.
#pragma once

#include <stddef.h>
#include <stdint.h>

const char *words_kind(unsigned kind); // of enum ctp_fd_kind; "other" if it is none
const char *words_call(unsigned call); // of enum ctp_fd_call: "accept"; NULL if it is none
const char *words_signal(int sig, char *buf, size_t bytes);  // "SIGSEGV"; buf holds it
void words_events(uint32_t events, char *buf, size_t bytes); // "EPOLLIN|EPOLLET"
