// SPDX-License-Identifier: MIT
//
// libctp.so notes a lock that a coroutine held when it was suspended, and whether it was released
// since (spec/cTP.md, 2.6): a released lock is reported only if others had to wait for it while the
// coroutine waited for a descriptor. Of one that is held, the final inspection checks whether
// the coroutine is still suspended, whether the lock's word still says taken, and which threads
// are blocked on it. The program runs on meanwhile, so an observation counts only if the coroutine
// has not been resumed in between, and if the lock's thread is not working for it: a coroutine may
// hold a lock and resume another one, as a generator, that returns to it. Such a thread is busy, or
// is in a call that is no loop's wait, with a coroutine on it.
#include "engine/slices/held.h"

#include <string.h>
#include <sys/types.h>

#include "base/json.h"
#include "ctp/polled.h"
#include "ctp/rules.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/target/names.h"
#include "engine/target/proc.h"

enum { HELD_MOST = 256, TIME = 0, LOCK = 1, WAITED = 2, RELEASED = 3, BY_ITSELF = 1 };

struct held {
	struct ctp_incident i;
	const struct ctp_incident *at;
	const struct ctp_state *state; // of its coroutine, suspended; or NULL
	uint64_t changes;
	bool over;        // it was released
	bool taken;       // as the lock says
	uint32_t owner;   // thread
	bool runs;        // that one is at work
	unsigned blocked; // threads in a call for it
	uint32_t blocked_tid;
	uint64_t blocked_id; // what runs there
};

static size_t gather(const struct ctp_region *r, struct held *v)
{
	size_t n = 0;
	struct ctp_walk w = ctp_walk_incidents(r);
	for (uint64_t k = ctp_walk_from(&w, 0); k < w.n && r->ext->incidents[19] && n < HELD_MOST;
	     k = ctp_walk_from(&w, k + 1)) {
		const struct ctp_incident *i = &r->incidents[k];
		if (ctp_load32(&i->ready) != CTP_CAND_READY || i->rule != RULE_HELD)
			continue;
		uint64_t released = ctp_load64(&i->value[RELEASED]);
		if (released &&
		    (released != BY_ITSELF || !ctp_load64(&i->value[WAITED]) || !(i->flags & CTP_HELD_WAITS)))
			continue; // released: as a lock that is held while another coroutine runs under it
		v[n++] = (struct held){.i = *i, .at = i, .over = released};
	}
	return n;
}

// Do they still sleep?
static void find_coroutines(const struct ctp_region *r, struct held *v, size_t n)
{
	struct ctp_walk w = ctp_walk_states(r);
	for (uint64_t i = ctp_walk_from(&w, 0); n && i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_state *s = &r->states[i];
		for (size_t k = 0; k < n; k++)
			if (s->id == v[k].i.who && ctp_load32(&s->owner) == CTP_OWNER_GUEST &&
			    s->life == CTP_SUSPENDED) {
				v[k].state = s;
				v[k].changes = ctp_state_changes(s);
			}
	}
}

// Has it slept, with the lock held, since that was looked at?
static bool same_still(const struct held *h)
{
	return ctp_state_changes(h->state) == h->changes && h->state->id == h->i.who &&
	       h->state->life == CTP_SUSPENDED && !ctp_load64(&h->at->value[RELEASED]);
}

// Does the thread, which has locked it, run what will go on to unlock it, as far as can be told?
static bool at_work(const struct ctp_thread *t, uint64_t lock)
{
	uint64_t current = ctp_load64(&t->current);
	bool waits = ctp_load64(&t->wait_seq) & 1, other = current && current != t->native;
	bool wants = t->wait_call == CTP_IN_BLOCK && t->wait_fd == CTP_BLOCK_LOCK && t->wait_buf == lock;
	return !waits || (other && !wants && !ctp_loop_waits(t));
}

static void look_at_lock(const struct ctp_region *r, pid_t pid, struct held *h)
{
	uint32_t words[8] = {0}, high = ctp_load32(&r->ext->thread_high); // of a pthread_mutex_t or _rwlock_t
	if (proc_peek(pid, h->i.value[LOCK], words, sizeof(words), false) != sizeof(words))
		return;
	h->taken = words[0] != 0;
	for (uint32_t i = 0; i < high && i < r->threads_max; i++) {
		const struct ctp_thread *t = &r->threads[i];
		if (ctp_load32(&t->life) != CTP_THREAD_LIVE)
			continue;
		uint64_t seq = ctp_load64(&t->wait_seq);
		if (t->tid == words[2] || t->tid == words[6]) {
			h->owner = t->tid;
			h->runs = at_work(t, h->i.value[LOCK]);
		}
		if (!(seq & 1) || t->wait_call != CTP_IN_BLOCK || t->wait_fd != CTP_BLOCK_LOCK ||
		    t->wait_buf != h->i.value[LOCK])
			continue;
		h->blocked++;
		h->blocked_tid = t->tid;
		h->blocked_id = ctp_load64(&t->current);
	}
}

static void write_line(FILE *out, pid_t pid, const struct held *h)
{
	char name[64];
	json_t *o = json_pack(
		"{s:i, s:s, s:b, s:o, s:o, s:o, s:o, s:b, s:i, s:i, s:i, s:o, s:i}", "v", 1, "rule",
		rules_id[RULE_HELD], "over", (int)h->over, "coroutine", json_count(h->i.who), "site",
		json_hex(h->i.value[LOCK] ^ (uint64_t)h->i.stack << 48), "count", json_count(h->i.count),
		"lock", json_hex(h->i.value[LOCK]), "waited", (int)(h->i.value[WAITED] != 0), "left",
		(int)h->i.stack, "owner_tid", (int)h->owner, "others", (int)h->blocked, "owner",
		json_count(h->blocked_id), "blocked_tid", (int)h->blocked_tid);
	if (!o)
		return;
	names_of(pid, h->i.value[LOCK], name, sizeof(name));
	if (*name)
		json_object_set_new(o, "lock_name", json_text(name));
	json_line(out, o);
}

void held_write(FILE *out, const struct ctp_region *r, pid_t pid)
{
	struct held v[HELD_MOST];
	size_t n = out ? gather(r, v) : 0;
	find_coroutines(r, v, n);
	for (size_t i = 0; i < n; i++) {
		if (v[i].over) {
			write_line(out, pid, &v[i]);
			continue;
		}
		if (!v[i].state)
			continue;
		look_at_lock(r, pid, &v[i]);
		if (v[i].taken && !v[i].runs && same_still(&v[i]))
			write_line(out, pid, &v[i]);
	}
	if (n)
		fflush(out);
}
