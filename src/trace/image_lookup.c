// SPDX-License-Identifier: MIT
//
// What an image has under an id, a number, a generation; names and stacks.
#include "trace/image.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

const struct ctp_state *image_entity(const struct image *m, uint64_t id)
{
	uint32_t row = idmap_get(&m->by_id, id);
	return row == IDMAP_NONE ? NULL : image_state(m, row);
}

// Of the thread with this own stack, or, if that is 0, with this number.
static const char *thread_name(const struct image *m, uint64_t native, uint64_t tid)
{
	const char *name = NULL, *process = NULL, *first = NULL;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		name = (native ? t->native == native : t->tid == tid) ? t->name : name;
		process = t->tid == m->pid ? t->name : process;
		first = !first && *t->name ? t->name : first;
	}
	process = process ? process :
			    first; // of one whose first thread is not known: the first of the others
	return name && strncmp(name, process ? process : "", sizeof(((struct ctp_thread *)0)->name)) != 0 ?
		       name :
		       NULL;
}

static const char *own_name(const char *name, char buf[CTP_NAME_TEXT])
{
	if (!name)
		return NULL;
	snprintf(buf, CTP_NAME_TEXT, "%.*s", (int)sizeof(((struct ctp_thread *)0)->name), name);
	text_clean(buf);
	return *buf ? buf : NULL;
}

const char *image_name(const struct image *m, uint64_t id, char buf[CTP_NAME_TEXT])
{
	uint32_t row = id ? idmap_get(&m->by_name, id) : IDMAP_NONE;
	if (row == IDMAP_NONE)
		return id ? own_name(thread_name(m, id, 0), buf) : NULL;
	snprintf(buf, CTP_NAME_TEXT, "%.*s", (int)CTP_NAME_TEXT - 1,
		 ((const struct ctp_name *)table_row(&m->names, row))->text);
	text_clean(buf);
	return *buf ? buf : NULL;
}

const char *image_thread_name(const struct image *m, uint64_t tid, char buf[CTP_NAME_TEXT])
{
	return own_name(thread_name(m, 0, tid), buf);
}

const struct ctp_fd *image_fd(const struct image *m, int32_t fd)
{
	uint32_t row = idmap_get(&m->by_fd, (uint64_t)(uint32_t)fd);
	return row == IDMAP_NONE ? NULL : table_row(&m->fds, row);
}

const struct ctp_cand *image_end_of(const struct image *m, int32_t fd, uint32_t gen)
{
	uint32_t row = idmap_get(&m->closes, image_key(fd, gen));
	return row == IDMAP_NONE ? NULL : image_cand(m, row);
}

const struct ctp_cand *image_del_of(const struct image *m, int32_t fd, uint32_t gen)
{
	uint32_t row = idmap_get(&m->dels, image_key(fd, gen));
	return row == IDMAP_NONE ? NULL : image_cand(m, row);
}

const struct ctp_cand *image_set_end_of(const struct image *m, int32_t fd, uint32_t gen)
{
	uint32_t row = idmap_get(&m->sets, image_key(fd, gen));
	return row == IDMAP_NONE ? NULL : image_cand(m, row);
}

const uint64_t *image_stack(const struct image *m, uint32_t id, unsigned *n, uint32_t *flags)
{
	*n = 0;
	if (flags)
		*flags = 0;
	if (id >= SLICES_STACK && id - SLICES_STACK < m->slices.nstacks) {
		*n = m->slices.stacks[id - SLICES_STACK].n;
		if (flags)
			*flags = m->slices.stacks[id - SLICES_STACK].flags;
		return m->slices.stacks[id - SLICES_STACK].pcs;
	}
	if (!id || id >= m->stack_index.n)
		return NULL;
	uint32_t at = *(const uint32_t *)table_row(&m->stack_index, id);
	if (!at || at > m->stack_words.n)
		return NULL;
	uint64_t head = *(const uint64_t *)table_row(&m->stack_words, at - 1);
	uint32_t count = (uint32_t)head;
	if (!count || count > CTP_FRAMES_MAX || at + (uint64_t)count > m->stack_words.n ||
	    m->stack_words.row_bytes != 8)
		return NULL;
	*n = count;
	if (flags)
		*flags = (uint32_t)(head >> 32);
	return (const uint64_t *)table_row(&m->stack_words, at);
}

uint32_t image_told_stack(const struct image *m, const struct ctp_state *s)
{
	uint32_t stack = m->scripts.by_id.n ? idmap_get(&m->scripts.by_id, s->id) : IDMAP_NONE;
	return stack == IDMAP_NONE || s->life != CTP_SUSPENDED ? s->stack : stack;
}
