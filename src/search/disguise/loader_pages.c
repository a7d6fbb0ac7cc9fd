// SPDX-License-Identifier: MIT
//
// The loader tells debuggers of its list of libraries (struct r_debug), and the entries of those that a
// program began with lie in its own pages (glibc's rtld_malloc). Its own entry is the last of these; later
// ones are the program's malloc's.
#include "search/disguise/loader_pages.h"

#include <link.h>
#include <string.h>

enum { PAGE = 4096, WORD = sizeof(uint64_t), LIBRARIES_MOST = 512 };

// By its name, or, before glibc 2.34, by that of its file.
static bool is_loader(const struct maps_line *m)
{
	return strstr(m->path, "/ld-linux") || strstr(m->path, "/ld-2.");
}

// The mapping that the loader begins with; NULL: there is none.
static const struct maps_line *loader(const struct memory *m)
{
	for (size_t i = 0; i < m->nmaps; i++)
		if (is_loader(&m->maps[i]) && !m->maps[i].offset)
			return &m->maps[i];
	return NULL;
}

static bool is_debug(const struct r_debug *d, const struct memory *m, const struct maps_line *loader)
{
	const struct maps_line *brk = memory_map(m, d->r_brk);
	return d->r_version > 0 && d->r_version < 16 && d->r_ldbase == loader->lo && d->r_map && brk &&
	       brk->perms[2] == 'x' && !strcmp(brk->path, loader->path);
}

// In a page of the loader's static storage: the list, or 0.
static uint64_t list_in(const struct memory *m, uint64_t page, const struct maps_line *loader)
{
	unsigned char bytes[PAGE + sizeof(struct r_debug)];
	size_t n = memory_peek_touched(m, page, bytes, sizeof(bytes));
	for (size_t i = 0; i < PAGE && i + sizeof(struct r_debug) <= n; i += WORD) {
		struct r_debug d;
		memcpy(&d, bytes + i, sizeof(d));
		if (is_debug(&d, m, loader))
			return (uint64_t)(uintptr_t)d.r_map;
	}
	return 0;
}

// Its static storage: what it has from its file, and what follows without a file. `at` is the loader's first
// mapping or a later one.
static bool is_static(const struct maps_line *at)
{
	return at->perms[1] == 'w' &&
	       (is_loader(at) || (!*at->path && at[-1].hi == at->lo && is_loader(at - 1)));
}

static uint64_t list(const struct memory *m, const struct maps_line *loader)
{
	uint64_t head = 0;
	for (const struct maps_line *at = loader; !head && at < m->maps + m->nmaps; at++)
		if (is_static(at))
			for (uint64_t page = at->lo; page < at->hi && !head; page += PAGE)
				head = list_in(m, page, loader);
	return head;
}

static void add(struct loader_pages *p, uint64_t page)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->page[i] == page)
			return;
	if (p->n < LOADER_PAGES_MOST)
		p->page[p->n++] = page;
}

static void find(struct loader_pages *p, const struct memory *m)
{
	struct link_map one = {0};
	const struct maps_line *own = loader(m);
	uint64_t at = own ? list(m, own) : 0;
	for (unsigned i = 0; at && one.l_addr != own->lo && i < LIBRARIES_MOST; i++) {
		const struct maps_line *in = memory_map(m, at);
		if (!in || memory_peek(m, at, &one, sizeof(one), false) != sizeof(one))
			return;
		if (!*in->path)
			add(p, at & ~(uint64_t)(PAGE - 1));
		at = (uint64_t)(uintptr_t)one.l_next;
	}
}

bool loader_pages_has(struct loader_pages *p, const struct memory *m, uint64_t addr)
{
	if (!p->known)
		find(p, m);
	p->known = true;
	for (size_t i = 0; i < p->n; i++)
		if (addr - p->page[i] < PAGE)
			return true;
	return false;
}

static void stale_in(const struct memory *m, uint64_t page, struct span_list *out)
{
	uint64_t words[PAGE / WORD];
	size_t n = memory_peek_touched(m, page, words, sizeof(words)) / WORD;
	for (size_t i = 0; i < n; i++) {
		bool begins = words[i] && words[i] <= SPAN_ADDRESS_MASK && !(words[i] & (PAGE - 1));
		const struct maps_line *in = begins ? memory_map(m, words[i]) : NULL;
		if (in && !*in->path)
			span_add(out, page + i * WORD, page + i * WORD + WORD);
	}
}

void loader_pages_stale(const struct memory *m, struct span_list *out)
{
	const struct maps_line *own = loader(m);
	for (const struct maps_line *at = own; at && at < m->maps + m->nmaps; at++)
		if (is_static(at))
			for (uint64_t page = at->lo; page < at->hi; page += PAGE)
				stale_in(m, page, out);
}
