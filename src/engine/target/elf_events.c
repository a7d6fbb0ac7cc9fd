// SPDX-License-Identifier: MIT
//
// Reads the sections `ctp_events` (the descriptors of include/ctp/event.h) and `.note.stapsdt` (USDT: the
// convention of SystemTap, which perf, bpftrace and gdb read as well). What a file says is bounded by its
// sections.
#include "engine/target/elf_events.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gelf.h>
#include <libelf.h>

#include <ctp/event.h>

#include "base/grow.h"

enum { NOTE_STAPSDT = 3, TEXT_MOST = 1024 };

static void event_deinit(struct elf_event *e)
{
	free(e->provider);
	free(e->name);
	free(e->fields);
	free(e->file);
}

void elf_events_deinit(struct elf_events *e)
{
	for (size_t i = 0; i < e->n; i++)
		event_deinit(&e->items[i]);
	free(e->items);
	*e = (struct elf_events){0};
}

static bool same(const struct elf_event *a, const struct elf_event *b)
{
	return !strcmp(a->provider, b->provider) && !strcmp(a->name, b->name);
}

// Takes *e. A USDT probe is one event, however many places there are, and none if the file defines it itself.
static int add(struct elf_events *all, struct elf_event *e)
{
	bool whole = e->provider && e->name && e->fields;
	for (size_t i = 0; whole && i < all->n; i++) {
		struct elf_event *o = &all->items[i];
		bool known = same(o, e) && (e->file ? o->file && !strcmp(o->fields, e->fields) : true);
		if (!known)
			continue;
		if (!o->file && strlen(e->fields) > strlen(o->fields)) { // the most that any place has
			char *more = o->fields;
			o->fields = e->fields;
			e->fields = more;
		}
		o->places += e->places;
		event_deinit(e);
		return 0;
	}
	if (!whole || GROW(all->items, all->n, all->capacity)) {
		event_deinit(e);
		return -ENOMEM;
	}
	all->items[all->n++] = *e;
	return 0;
}

// The next string of [*at, end). NULL: it does not end there.
static const char *next(const char **at, const char *end)
{
	const char *s = *at, *zero = s < end ? memchr(s, 0, (size_t)(end - s)) : NULL;
	if (zero)
		*at = zero + 1;
	return zero ? s : NULL;
}

static void append(char *buf, const char *a, const char *b, const char *c)
{
	size_t n = strlen(buf);
	snprintf(buf + n, TEXT_MOST - n, "%s%s%s", a, b, c);
}

// ---------------------------------------------------------------- descriptors

static int descriptor(struct elf_events *all, const struct ctp_event_info *d, const char *end)
{
	char fields[TEXT_MOST] = "";
	const char *at = (const char *)(d + 1), *provider = next(&at, end), *name = next(&at, end),
		   *file = next(&at, end);
	for (unsigned i = 0; file && i < d->fields; i++) {
		const char *type = next(&at, end), *field = next(&at, end);
		if (!field)
			return 0;
		bool star = *type && type[strlen(type) - 1] == '*';
		append(fields, i ? ", " : "", type, star ? "" : " ");
		append(fields, field, "", "");
	}
	if (!file)
		return 0;
	return add(all, &(struct elf_event){.provider = strdup(provider),
					    .name = strdup(name),
					    .fields = strdup(fields),
					    .file = strdup(file),
					    .line = d->line});
}

static int read_descriptors(struct elf_events *all, const Elf_Data *data)
{
	const char *bytes = data->d_buf;
	int r = 0;
	for (size_t at = 0; !r && data->d_size >= sizeof(struct ctp_event_info) &&
			    at <= data->d_size - sizeof(struct ctp_event_info);) {
		struct ctp_event_info d;
		memcpy(&d, bytes + at, sizeof(d));
		bool is = !memcmp(d.magic, CTP_EVENT_MAGIC, sizeof(d.magic)) &&
			  d.version == CTP_EVENT_VERSION && d.fields <= CTP_EVENT_FIELDS &&
			  d.bytes >= sizeof(d) && d.bytes <= data->d_size - at;
		if (is)
			r = descriptor(all, (const void *)(bytes + at), bytes + at + d.bytes);
		at += is ? (d.bytes + 7u) & ~7u : 8;
	}
	return r;
}

// ----------------------------------------------------------------------- USDT

// "8@%rdi -4@-4(%rbp)" as types: a size, negative if it has a sign, with an f if it is a float.
static void types_of(const char *arguments, char types[TEXT_MOST])
{
	*types = '\0';
	for (const char *p = arguments; *p;) {
		char *end, type[24];
		long size = strtol(p, &end, 10);
		const char *at = strchr(end, '@');
		bool is_float = *end == 'f';
		snprintf(type, sizeof(type), "%s%ld",
			 is_float ? "f" :
			 size < 0 ? "i" :
				    "u",
			 8 * (size < 0 ? -size : size));
		if (end == p || !at || size < -8 || size > 8 || !size)
			snprintf(type, sizeof(type), "?");
		append(types, *types ? ", " : "", type, "");
		// an operand may hold blanks: the next argument begins behind a blank with a number and an @
		for (p = at ? at : p + strlen(p); *p; p++) {
			const char *n = p + 1 + strspn(p + 1, "-0123456789f");
			if (*p == ' ' && (n > p + 1 ? *n == '@' : p[1] == '\0'))
				break;
		}
		p += strspn(p, " ");
	}
}

static int probe(struct elf_events *all, const char *desc, size_t bytes, size_t address)
{
	char types[TEXT_MOST];
	const char *at = desc + 3 * address, *end = desc + bytes;
	if (bytes < 3 * address)
		return 0;
	const char *provider = next(&at, end), *name = next(&at, end), *arguments = next(&at, end);
	uint64_t semaphore = 0;
	memcpy(&semaphore, desc + 2 * address, address);
	if (!name)
		return 0;
	types_of(arguments ? arguments : "", types);
	return add(all, &(struct elf_event){.provider = strdup(provider),
					    .name = strdup(name),
					    .fields = strdup(types),
					    .places = 1,
					    .has_semaphore = semaphore != 0});
}

static int read_probes(struct elf_events *all, Elf *elf, Elf_Data *data)
{
	size_t address = gelf_getclass(elf) == ELFCLASS32 ? 4 : 8, at = 0, next_at, name, desc;
	GElf_Nhdr n;
	int r = 0;
	for (; !r && (next_at = gelf_getnote(data, at, &n, &name, &desc)) > 0; at = next_at) {
		const char *bytes = data->d_buf;
		if (n.n_type == NOTE_STAPSDT && n.n_namesz == 8 && !memcmp(bytes + name, "stapsdt", 8))
			r = probe(all, bytes + desc, n.n_descsz, address);
	}
	return r;
}

// ---------------------------------------------------------------- the sections

static int by_name(const void *a, const void *b)
{
	const struct elf_event *x = a, *y = b;
	int r = strcmp(x->provider, y->provider);
	r = r ? r : strcmp(x->name, y->name);
	return r ? r : strcmp(x->fields, y->fields);
}

// Descriptors first: their USDT notes say the same again.
static int read_sections(struct elf_events *all, Elf *elf, size_t names, bool probes)
{
	int r = 0;
	for (Elf_Scn *s = NULL; !r && (s = elf_nextscn(elf, s));) {
		GElf_Shdr h;
		const char *name = gelf_getshdr(s, &h) ? elf_strptr(elf, names, h.sh_name) : NULL;
		if (!name || h.sh_type == SHT_NOBITS)
			continue;
		Elf_Data *data = NULL;
		if (!probes && !strcmp(name, "ctp_events") && (data = elf_rawdata(s, NULL)) && data->d_buf)
			r = read_descriptors(all, data);
		if (probes && h.sh_type == SHT_NOTE && !strcmp(name, ".note.stapsdt") &&
		    (data = elf_getdata(s, NULL)) && data->d_buf)
			r = read_probes(all, elf, data);
	}
	return r;
}

int elf_events_read(struct elf_events *e, int fd)
{
	size_t names;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	int r = elf && elf_kind(elf) == ELF_K_ELF && !elf_getshdrstrndx(elf, &names) ? 0 : -ENOEXEC;
	r = r ? r : read_sections(e, elf, names, false);
	r = r ? r : read_sections(e, elf, names, true);
	elf_end(elf);
	if (e->n)
		qsort(e->items, e->n, sizeof(*e->items), by_name);
	return r;
}
