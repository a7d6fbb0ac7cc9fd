// SPDX-License-Identifier: MIT
//
// A stack that grew left something on its pages: the lowest word that is neither zero nor paint
// is its high water mark. Only the last tenth of each stack is read, and of that only pages that
// exist. Pages that were filled in advance hold zeros or one pattern; a canary at the very end
// stands alone. Only stacks in mappings of their own count: on the heap, other data has been there
// before. The deepest function has returned since: words there that point into code are its
// remains, and name it, as a guess.
#include "engine/slices/highwater.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/living.h"
#include "ctp/rules.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/target/proc.h"
#include "engine/target/signals.h"

enum {
	PAGE = 4096,
	PART = 10,
	COROUTINES = 4096,
	READ_MOST = 1 << 20,
	CANARY_WORDS = 4,
	HEAD_WORDS = 128,
	PAINT_WORDS = 16,
	NEAR_WORDS = 64,
	REMAINS = 16,
	REMAINS_WORDS = 512,
	PAGES_AT_ONCE = 512
};

struct stack {
	uint64_t lo, hi; // what can be used of it
	uint64_t mark;   // lowest word in use so far; hi: none near the end
	uint64_t pcs[REMAINS];
	size_t n;
};

struct water {
	const struct ctp_region *r;
	const struct open_stacks *ends;
	pid_t pid;
	int pagemap;
	uint64_t deadline_ns;
	struct proc_maps maps;
	uint64_t words[READ_MOST / 8];
};

// One that was mapped for it: by a call that was seen, or by malloc as a chunk of its own.
static bool is_mapped(const struct water *w, const struct ctp_state *s)
{
	uint64_t head;
	if (s->block_lo)
		return true;
	return proc_peek(w->pid, s->lo - 8, &head, sizeof(head), false) == sizeof(head) && (head & 7) == 2 &&
	       (head & ~7ULL) >= s->hi - s->lo;
}

// The part of the declared stack that lies above its guard pages.
static bool usable(const struct water *w, const struct ctp_state *s, struct stack *k)
{
	const struct maps_line *m;
	*k = (struct stack){.lo = s->lo, .hi = s->hi};
	while (k->lo < k->hi && (m = proc_maps_find(&w->maps, k->lo)) && m->perms[1] != 'w')
		k->lo = m->hi;
	m = k->lo < k->hi ? proc_maps_find(&w->maps, k->lo) : NULL;
	return m && (k->hi - k->lo) / PART < m->hi - k->lo && m->perms[1] == 'w' && m->perms[3] == 'p' &&
	       (!*m->path || !strncmp(m->path, "[anon:", 6));
}

// The first address in [from, end) whose page exists; end: none.
static uint64_t first_there(const struct water *w, uint64_t from, uint64_t end)
{
	uint64_t entries[PAGES_AT_ONCE];
	while (from < end && !signals_late(w->deadline_ns)) {
		uint64_t page = from / PAGE;
		ssize_t n = pread(w->pagemap, entries, sizeof(entries), (off_t)(page * sizeof(*entries)));
		if (n < (ssize_t)sizeof(*entries))
			break;
		for (size_t i = 0; i < (size_t)n / sizeof(*entries); i++, page++)
			if (entries[i] >> 62)
				return page * PAGE > from ? page * PAGE : from;
		from = page * PAGE;
	}
	return end;
}

// The pattern that the stack was filled with, of one or two words: what repeats above the place
// of a canary. Zero: none.
static void find_paint(const uint64_t *v, size_t n, uint64_t paint[2])
{
	bool repeats = n > CANARY_WORDS + PAINT_WORDS + 2;
	for (size_t k = CANARY_WORDS; repeats && k < CANARY_WORDS + PAINT_WORDS; k++)
		repeats = v[k] == v[k + 2];
	paint[0] = repeats ? v[CANARY_WORDS] : 0;
	paint[1] = repeats ? v[CANARY_WORDS + 1] : 0;
}

static bool is_blank(uint64_t v, const uint64_t paint[2])
{
	return !v || v == paint[0] || v == paint[1];
}

// Is word i the lower end of something, and no lone canary?
static bool in_use(const uint64_t *v, size_t n, size_t i, const uint64_t paint[2])
{
	size_t others = 0;
	for (size_t k = i; k < n && k < i + NEAR_WORDS; k++)
		others += !is_blank(v[k], paint);
	return others > CANARY_WORDS;
}

// Words of a library's own at the very end of a piece of memory whose rest is the stack: they are few, and a
// blank page follows.
static size_t head_words(const uint64_t *v, size_t n, const uint64_t paint[2])
{
	size_t blank = 0, head = 0;
	for (size_t i = 0; i < n && head <= HEAD_WORDS && blank < PAGE / 8; i++) {
		blank = is_blank(v[i], paint) ? blank + 1 : 0;
		head = blank ? head : i + 1;
	}
	return blank == PAGE / 8 ? head : 0;
}

static void find_mark(struct water *w, struct stack *k, uint64_t end)
{
	uint64_t from = (first_there(w, k->lo, end) + 7) & ~7ULL;
	k->mark = k->hi;
	if (from >= end)
		return;
	// a frame may begin below `end` and go on above it
	uint64_t to = end + NEAR_WORDS * 8 < k->hi ? end + NEAR_WORDS * 8 : k->hi;
	size_t want = to - from < READ_MOST ? to - from : READ_MOST;
	size_t n = proc_peek(w->pid, from, w->words, want, false) / 8, first = (end - from) / 8;
	uint64_t paint[2];
	find_paint(w->words, n, paint);
	for (size_t i = from - k->lo < 8 ? head_words(w->words, n, paint) : 0; i < n && i < first; i++) {
		if (!is_blank(w->words[i], paint) && in_use(w->words, n, i, paint)) {
			k->mark = from + 8 * i;
			return;
		}
	}
}

static void find_remains(struct water *w, struct stack *k)
{
	size_t want = k->hi - k->mark < REMAINS_WORDS * 8 ? k->hi - k->mark : REMAINS_WORDS * 8;
	size_t n = proc_peek(w->pid, k->mark, w->words, want, false) / 8;
	const struct ctp_ext *e = w->r->ext;
	for (size_t i = 0; i < n && k->n < REMAINS; i++) {
		uint64_t v = w->words[i];
		const struct maps_line *m = v >> 12 ? proc_maps_find(&w->maps, v) : NULL;
		if (m && m->perms[2] == 'x' && *m->path == '/' && (v < e->self_base || v >= e->self_end))
			k->pcs[k->n++] = v;
	}
}

static void write_line(FILE *out, const struct ctp_state *s, const struct stack *k)
{
	char site[32], pc[32];
	json_t *a = json_array();
	snprintf(site, sizeof(site), "0x%llx", (unsigned long long)s->entry);
	for (size_t i = 0; i < k->n; i++) {
		snprintf(pc, sizeof(pc), "0x%llx", (unsigned long long)k->pcs[i]);
		json_array_append_new(a, json_string(pc));
	}
	json_t *o = json_pack("{s:i, s:s, s:o, s:o, s:s, s:i, s:o, s:o, s:o}", "v", 1, "rule",
			      rules_id[RULE_HIGHWATER], "coroutine", json_count(s->id), "changes",
			      json_count(s->changes), "site", site, "count", 1, "size",
			      json_count(k->hi - k->lo), "unused", json_count(k->mark - k->lo), "stack", a);
	if (!o)
		return;
	json_line(out, o);
}

static void look_at(struct water *w, FILE *out, struct ctp_state *s)
{
	struct stack k;
	const struct open_stack *open = open_stacks_of(w->ends, s);
	s->lo = open ? open->lo : s->lo;
	if (s->entity != CTP_COROUTINE || (s->life != CTP_SUSPENDED && s->life != CTP_RUNNING) || !s->runs ||
	    s->lo >= s->hi || s->source == CTP_SOURCE_PROGRAM ||
	    (s->flags & (CTP_STATE_SHARED_STACK | CTP_STATE_STACK_FREED)) ||
	    !(open ? open->mapped : is_mapped(w, s)) || !usable(w, s, &k))
		return;
	uint64_t size = k.hi - k.lo, page = size / 4 < PAGE ? size / 4 : PAGE;
	uint64_t margin = size / PART > page ? size / PART : page;
	find_mark(w, &k, k.lo + margin);
	if (k.mark >= k.lo + margin)
		return;
	find_remains(w, &k);
	write_line(out, s, &k);
}

void highwater_write(FILE *out, const struct ctp_region *r, pid_t pid, const struct open_stacks *ends,
		     uint64_t deadline_ns)
{
	static struct water w; // one look at a time; too large for a stack
	char path[64];
	uint32_t looked = 0;
	struct ctp_walk all = ctp_walk_states(r);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", living_of(pid));
	w.r = r;
	w.ends = ends;
	w.pid = pid;
	w.deadline_ns = deadline_ns;
	w.pagemap = out ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (w.pagemap < 0)
		return;
	if (!proc_maps_read(pid, &w.maps)) {
		for (uint64_t i = ctp_walk_from(&all, 0);
		     i < all.n && looked < COROUTINES && !signals_late(deadline_ns);
		     i = ctp_walk_from(&all, i + 1)) {
			struct ctp_state s;
			if (ctp_load32(&r->states[i].owner) != CTP_OWNER_GUEST ||
			    !ctp_state_read(&r->states[i], &s))
				continue;
			look_at(&w, out, &s);
			looked++;
		}
		proc_maps_deinit(&w.maps);
	}
	close(w.pagemap);
	fflush(out);
}
