// SPDX-License-Identifier: MIT
//
// Makes a case of a slice or a stack that ctp-run sampled: whose it was, when, and on what
// that rests. Nothing here is ever PROVEN, since only the program knows whether it may take
// its time.
#include "analyze/case/case_slice.h"

#include <inttypes.h>

#include "base/text.h"
#include "ctp/words.h"

void case_slice_make(struct verdict_case *c, const struct pass *pass, const struct world *w,
		     const struct image *m, const struct slices_item *i, const char *seen)
{
	bool complete = case_complete(w, m);
	*c = (struct verdict_case){
		.pass = pass,
		.about = {.world = w, .image = m, .state = image_entity(m, i->coroutine)},
		.id = i->coroutine,
		.fd = i->fd,
		.gen = i->gen,
		.fd_kind = CTP_FD_OTHER,
		.stack = i->stack,
	};
	const struct ctp_fd *fd = i->fd < 0 ? NULL : image_fd(m, i->fd);
	if (fd && fd->gen == i->gen) {
		c->fd_kind = fd->kind;
		c->opener = (struct case_party){.did = "opened",
						.call = words_call(fd->opened_how),
						.id = fd->opener,
						.ticks = fd->opened,
						.stack = fd->opener_stack};
	}
	c->proof.items[PROOF_P0] = case_completeness(complete);
	c->proof.items[PROOF_P3] = (struct obligation){HOLDS_TRUE, seen};
}

int case_slice_each(const struct pass *pass, unsigned rule, const struct world *w, struct results *out,
		    case_slice_fn *each)
{
	int r = 0;
	for (size_t k = 0; !r && k < w->nimages; k++) {
		const struct image *m = &w->images[k];
		for (size_t i = 0; !r && m->has_tables && i < m->slices.n; i++)
			if (m->slices.items[i].rule == rule)
				r = each(pass, w, m, &m->slices.items[i], out);
	}
	return r;
}

const char *case_slice_lock(const struct slices_item *i, struct results *f)
{
	return i->lock_name ? results_text(f, "%s (0x%" PRIx64 ")", i->lock_name, i->lock) :
			      results_text(f, "0x%" PRIx64, i->lock);
}

const char *case_slice_others(const struct slices_item *i, struct results *f)
{
	uint64_t n = i->others ? i->others : i->served;
	const char *s = n == 1 ? "" : "s";
	if (i->others)
		return results_text(f, "; %" PRIu64 " coroutine%s waited for this thread's loop", n, s);
	return results_text(f, "; another thread served the %" PRIu64 " coroutine%s that waited", n, s);
}

const char *case_slice_span(uint64_t ns, struct results *f)
{
	char span[32];
	text_duration(span, sizeof(span), ns);
	return results_text(f, "%s", span);
}
