// SPDX-License-Identifier: MIT
//
// distances.h - addresses as distances of 32 bits from a base, in units of bytes, words, blocks of 16 bytes,
// lines of the cache, or pages.
//
// There are many bases, and distances are numbers like others. So three walks over memory find them: of a
// few addresses all distances; of those that are there, how many other numbers of their kind are there as
// well; of all addresses the distances that are in use.
#pragma once

#include "search/disguise/handle_forms.h"

// How many forms there are, from DISGUISES on.
size_t distances_forms(const struct handle_forms *f);
// Of such a form: from where, in units of how many bytes (a power of two), and of what.
uint64_t distances_base(const struct handle_forms *f, uint32_t form);
unsigned distances_shift(uint32_t form);
unsigned distances_kind(uint32_t form);
// For the first walk.
void distances_sample(struct handle_forms *f);
// For the second one: `values` become decoys. False if none is needed, or out of memory (then
// `values.failed`).
bool distances_try(struct handle_forms *f);
// For the third: `values` become distances in use. The same.
bool distances_settle(struct handle_forms *f);
void distances_deinit(struct distances *d);
