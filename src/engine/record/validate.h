// SPDX-License-Identifier: MIT
//
// validate.h - makes copied slots of a ring fit to be written.
#pragma once

#include "engine/record/writer.h"

// Of n slots, which follow b's, what is no record is taken out, and counted in *bad; b gets what is left.
// Events of the program's own go to b->events. *c goes past it. Returns what was used up: a record that is
// cut at their end stays.
uint32_t validate_records(struct ctp_record *slots, uint32_t n, struct ctp_cursor *c, struct writer_batch *b,
			  uint64_t *bad);
