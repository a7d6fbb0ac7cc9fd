// SPDX-License-Identifier: MIT
//
// predict.h - a packet's slots as what a prediction does not give (spec/trace.md, "Packed packets").
#pragma once

#include <stdbool.h>

#include "ctp/ctp.h"

enum plane { PLANE_KIND, PLANE_TIME, PLANE_TO, PLANE_NUMBER, PLANE_STACK, PLANE_LONG, PLANE_BITS, PLANES };

// Bytes that n slots take at most, in each plane.
static inline size_t plane_most(enum plane p, size_t n)
{
	return p < PLANE_LONG  ? n :
	       p == PLANE_LONG ? 4 * n :
				 16 * n + 16; // words of 8 are stored past the end
}

struct planes {
	unsigned char *at[PLANES], *end[PLANES];
	uint64_t unit; // of which times are multiples, most of them
};

struct foresight;                    // what is remembered within a packet
struct foresight *predict_new(void); // NULL: no memory
void predict_free(struct foresight *f);

// Writes n slots to where `at` says, where there must be room as plane_most says; sets `end` and `unit`.
void predict_write(struct foresight *f, struct planes *p, const struct ctp_record *slots, size_t n);
// Reads n slots from what lies between `at` and `end`, where 8 more bytes behind the last plane
// may be looked at. False: it is not what n slots become.
bool predict_read(struct foresight *f, struct planes *p, struct ctp_record *slots, size_t n);
