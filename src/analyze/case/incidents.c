// SPDX-License-Identifier: MIT
//
// Shared by the passes of incidents: which incidents there are, and how much of what they
// say is certain.
#include "analyze/case/incidents.h"

#include <inttypes.h>


int incidents_each(const struct pass *pass, const struct world *w, unsigned rule, incidents_fn *fn,
		   struct results *out)
{
	int r = 0;
	for (size_t k = 0; !r && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		if (!m->has_tables || !m->counts.switches)
			continue;
		for (size_t n = 0; !r && n < m->incidents.n; n++) {
			const struct ctp_incident *i = image_incident(m, n);
			if (i->rule == rule)
				r = fn(pass, w, m, i, out);
		}
	}
	return r;
}

enum verdict incidents_late(const struct world *w, const struct image *m, const struct ctp_incident *i)
{
	const unsigned weak = CTP_LATE_NATIVE | CTP_LATE_SHARED | CTP_LATE_FOREIGN | CTP_LATE_PLACE |
			      CTP_LATE_ANEW;
	if ((m->ext.gaps & CTP_GAP_BLIND) || m->counts.unknown || w->manifest.nunseen)
		return VERDICT_SUSPECT; // a switch that was missed looks the same
	return case_complete(w, m) && !(i->flags & weak) ? VERDICT_PROVEN : VERDICT_LIKELY;
}

const struct ctp_state *incidents_coroutine(const struct image *m, uint64_t id)
{
	const struct ctp_state *s = id ? image_entity(m, id) : NULL;
	return s && s->entity == CTP_COROUTINE ? s : NULL;
}

void incidents_opener(struct verdict_case *c, const struct image *m, struct results *f)
{
	const struct ctp_fd *fd = c->fd < 0 ? NULL : image_fd(m, c->fd);
	if (fd && fd->gen == c->gen)
		case_opener(c, fd, f);
}

const char *incidents_who(const struct image *m, uint64_t id, struct results *f)
{
	const struct ctp_state *s = id ? image_entity(m, id) : NULL;
	if (!id)
		return "a native stack";
	for (size_t n = 0; n < m->threads.n; n++) {
		const struct ctp_thread *t = table_row(&m->threads, n);
		if (t->native == id)
			return results_text(f, "the native stack of thread %u", t->tid);
	}
	return results_text(f, "%s %" PRIu64, s && s->entity == CTP_NATIVE ? "native stack" : "coroutine",
			    id);
}

const char *incidents_times(const struct ctp_incident *i, struct results *f)
{
	return i->count > 1 ? results_text(f, " (%" PRIu64 " times)", i->count) : "";
}
