// SPDX-License-Identifier: MIT
//
// Finds the descriptors of events in the modules that are mapped, by a note that each leaves
// (include/ctp/event.h), enters each event into the region's table, and switches on what is chosen. The
// loader holds its lock while it walks the modules, so one thread at a time writes here. A descriptor is on
// only while its row is set.
#include "preload/guest/events.h"

#include <elf.h>
#include <errno.h>
#include <link.h>

#include "ctp/event_choice.h"
#include "ctp/seq.h"
#include "preload/guest/blocked.h"
#include "preload/guest/probes.h"
#include "preload/guest/say.h"

enum { KNOWN_MOST = 8192 };

_Static_assert(CTP_EVENT_ROW_FIELDS == CTP_EVENT_FIELDS && CTP_FIELD_MOST == CTP_EVENT_STRING &&
		       (int)CTP_FIELD_BYTES == (int)CTP_EVENT_BYTES,
	       "of the program's header, and of the region");

static struct ctp_event_info *known[KNOWN_MOST];
static uint32_t nknown;
static uint64_t adds, subs; // of the loader, as of the last walk

// The list of what is chosen, as last copied, and room for one that may turn out to be half written. Both
// change in a walk alone, or before there is one.
static struct event_list_copy {
	uint32_t seq, bytes;
	char text[CTP_CHOICE_TEXT];
} list, fresh;

// Walks under way, and those that wait for the loader's lock. A signal handler may have interrupted one in
// this thread: so who comes by and need not walk does not, unless there is none.
static uint32_t walks;

static const char *text_of(const struct ctp_event_info *d)
{
	return (const char *)(d + 1);
}

// The end of string `n` of the text, + 1; 0: there are not so many.
static uint32_t text_skip(const char *text, uint32_t bytes, unsigned n)
{
	uint32_t at = 0;
	for (; n && at < bytes; n--) {
		while (at < bytes && text[at])
			at++;
		if (at++ == bytes)
			return 0;
	}
	return n ? 0 : at;
}

// Strings: provider, name, file, then two for each field.
static bool is_sound(const struct ctp_event_info *d, uint64_t room)
{
	if (room < sizeof(*d) || memcmp(d->magic, CTP_EVENT_MAGIC, sizeof(d->magic)) != 0 ||
	    d->version != CTP_EVENT_VERSION || d->fields > CTP_EVENT_FIELDS || d->bytes < sizeof(*d) ||
	    d->bytes > room)
		return false;
	return text_skip(text_of(d), d->bytes - (uint32_t)sizeof(*d), 3 + 2u * d->fields) != 0;
}

// The text of a row: that of the descriptor, of a file that is too long its end alone.
static uint32_t row_text(const struct ctp_event_info *d, char *to)
{
	const char *text = text_of(d);
	uint32_t all = d->bytes - (uint32_t)sizeof(*d), head = text_skip(text, all, 2),
		 mid = text_skip(text, all, 3), end = text_skip(text, all, 3 + 2u * d->fields),
		 file = mid - head, rest = end - mid;
	if (head + 1 + rest > CTP_EVENT_ROW_TEXT)
		return 0;
	uint32_t keep = head + file + rest > CTP_EVENT_ROW_TEXT ? CTP_EVENT_ROW_TEXT - head - rest : file;
	memcpy(to, text, head);
	memcpy(to + head, text + mid - keep, keep);
	memcpy(to + head + keep, text + mid, rest);
	return head + keep + rest;
}

static bool same(const struct ctp_event_row *a, const struct ctp_event_row *b)
{
	uint32_t head = text_skip(a->text, a->text_bytes, 2), other = text_skip(b->text, b->text_bytes, 2),
		 mid = text_skip(a->text, a->text_bytes, 3), mid2 = text_skip(b->text, b->text_bytes, 3),
		 rest = a->text_bytes - mid;
	return a->fields == b->fields && head == other && rest == b->text_bytes - mid2 &&
	       memcmp(a->text, b->text, head) == 0 && memcmp(a->text + mid, b->text + mid2, rest) == 0 &&
	       memcmp(a->kinds, b->kinds, sizeof(a->kinds)) == 0 &&
	       memcmp(a->sizes, b->sizes, sizeof(a->sizes)) == 0;
}

static bool chosen(const struct ctp_event_row *row)
{
	return event_choice_has(list.text, list.bytes, row->text,
				row->text + text_skip(row->text, row->text_bytes, 1));
}

// Copies the region's list. False: it is being written.
static bool list_load(void)
{
	const struct ctp_event_choice *c = ctp_tracer->region.event_choice;
	uint32_t seq = ctp_seq_read_begin(&c->seq), bytes = ctp_load32(&c->bytes);
	if (seq & 1)
		return false;
	bytes = bytes < CTP_CHOICE_TEXT ? bytes : CTP_CHOICE_TEXT;
	memcpy(fresh.text, c->text, bytes);
	if (ctp_seq_read_retry(&c->seq, seq))
		return false;
	fresh.seq = seq;
	fresh.bytes = bytes;
	list = fresh;
	return true;
}

// The row of the event, + 1; 0: there is no room.
static uint32_t row_of(const struct ctp_event_info *d)
{
	const struct ctp_region *r = &ctp_tracer->region;
	static struct ctp_event_row row;
	uint32_t n = ctp_load32(&r->ext->events);
	row = (struct ctp_event_row){.line = d->line, .fields = d->fields};
	memcpy(row.kinds, d->kinds, sizeof(row.kinds));
	memcpy(row.sizes, d->sizes, sizeof(row.sizes));
	row.text_bytes = (uint16_t)row_text(d, row.text);
	for (uint32_t i = 0; i < n && i < r->events_max; i++)
		if (same(&r->events[i], &row))
			return i + 1;
	if (!row.text_bytes || n >= r->events_max) {
		say_debug("event %s:%s is not recorded: no room for it", text_of(d),
			  text_of(d) + text_skip(text_of(d), d->bytes, 1));
		return 0;
	}
	row.on = chosen(&row);
	memcpy(&r->events[n], &row, sizeof(row));
	ctp_store32(&r->events[n].ready, 1);
	ctp_store32(&r->ext->events, n + 1);
	probes_defined(n);
	return n + 1;
}

static void set_on(struct ctp_event_info *d)
{
	unsigned on = (ctp_tracer->region.events[d->row].on ? CTP_EVENT_ON_RECORDED : 0) |
		      (probes_want(d->row) ? CTP_EVENT_ON_PROBED : 0);
	if (ctp_load16(&d->u.by.on) != on)
		ctp_store16(&d->u.by.on, (uint16_t)on);
}

static void enter(struct ctp_event_info *d)
{
	uint32_t row = row_of(d);
	if (!row)
		return;
	d->row = row - 1;
	d->signal = events_signal;
	set_on(d);
}

static void know(struct ctp_event_info *d)
{
	for (uint32_t i = nknown; i-- > 0;) // each place that signals an event leaves a note
		if (known[i] == d)
			return;
	if (nknown == KNOWN_MOST) {
		say_debug("an event is not recorded: there are more than %u", KNOWN_MOST);
		return;
	}
	known[nknown++] = d;
	enter(d);
}

static void found(struct ctp_event_info *d, uint64_t room)
{
	if (!is_sound(d, room))
		return;
	know(d);
	if (blocked_goes_with(d))
		know(&blocked_event.info);
}

// How much may be written from `at` on, in the module's own data.
static uint64_t room_at(const struct dl_phdr_info *m, uint64_t at)
{
	for (int i = 0; i < m->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &m->dlpi_phdr[i];
		uint64_t lo = m->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && (p->p_flags & PF_W) && at >= lo && at < lo + p->p_memsz)
			return at % 8 ? 0 : lo + p->p_memsz - at;
	}
	return 0;
}

static void read_notes(const struct dl_phdr_info *m, const ElfW(Phdr) * ph)
{
	const char *p = (const char *)(m->dlpi_addr + ph->p_vaddr), *end = p + ph->p_memsz;
	uint32_t align = ph->p_align == 8 ? 7 : 3;
	while (end - p >= (long)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const void *)p;
		const char *name = p + sizeof(*n);
		uint64_t desc = (sizeof(*n) + n->n_namesz + align) & ~(uint64_t)align,
			 next = (desc + n->n_descsz + align) & ~(uint64_t)align;
		if (next > (uint64_t)(end - p) || next < sizeof(*n))
			return;
		if (n->n_namesz == 4 && n->n_descsz == 8 && n->n_type == 1 && memcmp(name, "CTP", 4) == 0) {
			int64_t off;
			memcpy(&off, p + desc, sizeof(off));
			uint64_t at = (uint64_t)(p + desc) + (uint64_t)off, room = room_at(m, at);
			if (room)
				found((struct ctp_event_info *)at, room);
		}
		p += next;
	}
}

static int module(struct dl_phdr_info *m, size_t bytes, void *again)
{
	bool *first = again;
	if (*first && m->dlpi_adds == adds && m->dlpi_subs == subs)
		return 1; // nothing came or went
	if (*first && m->dlpi_subs != subs)
		nknown = 0; // what is known may be gone
	*first = false;
	adds = m->dlpi_adds;
	subs = m->dlpi_subs;
	for (int i = 0; i < m->dlpi_phnum; i++)
		if (m->dlpi_phdr[i].p_type == PT_NOTE)
			read_notes(m, &m->dlpi_phdr[i]);
	return 0;
}

static bool has_table(void)
{
	return ctp_tracer->region.events && !ctp_tracer->v1;
}

static void find(void)
{
	bool first = true;
	if (!has_table())
		return;
	ctp_add32(&walks, 1);
	dl_iterate_phdr(module, &first);
	ctp_add32(&walks, -1u);
}

// Of a fresh region. If its list is being written, that which comes is another than this one's number.
static void list_begin(void)
{
	walks = 0;
	list = (struct event_list_copy){0};
	if (has_table() && !list_load())
		list.seq = CTP_CHOICE_NONE;
	if (has_table())
		ctp_store32(&ctp_tracer->region.ext->events_chosen, list.seq);
}

void events_init(void)
{
	nknown = 0;
	adds = subs = 0;
	list_begin();
	find();
}

// A change of what events are on, with all descriptors at hand.
struct change {
	void (*make)(void *arg);
	void *arg;
	bool done;
};

static int make_change(struct dl_phdr_info *m, size_t bytes, void *arg)
{
	struct change *c = arg;
	if (m->dlpi_adds != adds || m->dlpi_subs != subs)
		return 1; // modules came or went since they were gone through
	c->make(c->arg);
	for (uint32_t i = 0; i < nknown; i++)
		if (known[i]->signal == events_signal)
			set_on(known[i]);
	c->done = true;
	return 1;
}

void events_change(void (*make)(void *arg), void *arg)
{
	struct change c = {make, arg, false};
	ctp_add32(&walks, 1);
	while (!c.done) {
		find();
		dl_iterate_phdr(make_change, &c);
	}
	ctp_add32(&walks, -1u);
}

static void choose(void *took)
{
	const struct ctp_region *r = &ctp_tracer->region;
	*(bool *)took = list_load();
	for (uint32_t i = 0; *(bool *)took && i < r->events_max && i < ctp_load32(&r->ext->events); i++)
		r->events[i].on = chosen(&r->events[i]);
}

void events_choose(void)
{
	struct ctp_region *r = &ctp_tracer->region;
	bool took = false;
	if (!ctp_load32(&ctp_tracer->attached) || ctp_load64(&r->ext->exit_begun) || !has_table() ||
	    !ctp_cas32(&walks, 0, 1))
		return;
	int e = errno;
	events_change(choose, &took);
	if (took)
		ctp_store32(&r->ext->events_chosen, list.seq);
	ctp_add32(&walks, -1u);
	errno = e;
}

void events_forked(void)
{
	probes_forked();
	list_begin();
	for (uint32_t i = 0; ctp_tracer->region.events && i < nknown; i++)
		enter(known[i]);
}

void events_closed(void)
{
	find();
}

// A constructor of each file that includes ctp/event.h calls this: its module may have come by dlopen.
CTP_HOOK void ctp_events_mapped(void)
{
	int e = errno;
	if (ctp_tracer->attached)
		find();
	errno = e;
}
