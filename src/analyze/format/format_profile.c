// SPDX-License-Identifier: MIT
//
// The formats of a profile differ in how they write its rows; what the rows are is one thing for all of them.
#include "analyze/format/format_profile.h"

int format_profile_make(struct format_profile *out, const struct report *report,
			const struct format_settings *settings, unsigned weight)
{
	*out = (struct format_profile){0};
	int r = profile_make(&out->profile, report->world, settings->symfs, report->group_by == GROUP_BY_NAME,
			     settings->event, settings->all_time ? PROFILE_WHOLE : PROFILE_ENDED);
	if (r)
		return r;
	profile_note(&out->profile, weight, settings->note, FORMAT_NOTE);
	r = profile_rows_of(&out->profile, &out->rows);
	if (r)
		format_profile_deinit(out);
	return r;
}

void format_profile_deinit(struct format_profile *p)
{
	profile_rows_deinit(&p->rows);
	profile_deinit(&p->profile);
}
