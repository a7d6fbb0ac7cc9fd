// SPDX-License-Identifier: MIT
//
// identity.h - what tells one run from all others, on this host and elsewhere. It stands in the
// manifest and in each of the run's regions.
#pragma once

#include <stdint.h>

struct ctp_ext;

struct identity {
	uint8_t uuid[16]; // RFC 9562, version 4
	char host[65];    // gethostname(2); "" = not known
	char boot_id[37]; // of /proc/sys/kernel/random/boot_id; "" = not known
	uint64_t wall_ns; // CLOCK_REALTIME of the clock's first pair
};

#define IDENTITY_UUID_TEXT 37u
#define IDENTITY_TIME_TEXT 48u

void identity_init(struct identity *id, uint64_t wall_ns);
// Into a region that nobody writes these words of but us.
void identity_describe(const struct identity *id, struct ctp_ext *e);
// "f81d4fae-7dec-41d0-8765-00a0c91e6bf6"
void identity_uuid_text(const struct identity *id, char text[IDENTITY_UUID_TEXT]);
// When the run began, in local time with its offset (RFC 3339): "2026-11-23T15:01:02.123456+01:00".
void identity_time_text(const struct identity *id, char text[IDENTITY_TIME_TEXT]);
