// SPDX-License-Identifier: MIT
#include "ctp/births.h"

#include "ctp/seq.h"
#include "ctp/there.h"

bool ctp_births_find(const struct ctp_region *r, uint64_t at, struct ctp_birth *out)
{
	const struct ctp_birth *v = r->births ? r->births + ctp_births_group(at, r->births_max) : NULL;
	if (!v || at <= 1 || !ctp_there(r, v))
		return false;
	for (unsigned i = 0; i < CTP_BIRTHS_GROUP; i++) {
		if (ctp_load64(&v[i].at) != at)
			continue;
		*out = v[i];
		return ctp_load64(&v[i].at) == at;
	}
	return false;
}
