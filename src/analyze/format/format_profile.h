// SPDX-License-Identifier: MIT
//
// format_profile.h - what the formats of a profile write: the profile and its rows.
#pragma once

#include "analyze/format/format.h"
#include "analyze/history/profile.h"

struct format_profile {
	struct profile profile;
	struct profile_rows rows;
};

// As the settings want it, with the note that goes to stderr: of that weight, or of PROFILE_WEIGHTS (all).
// 0; or -errno, and there is nothing to give back.
int format_profile_make(struct format_profile *out, const struct report *report,
			const struct format_settings *settings, unsigned weight);
void format_profile_deinit(struct format_profile *p);
