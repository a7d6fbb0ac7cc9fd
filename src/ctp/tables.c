// SPDX-License-Identifier: MIT
//
// How many rows of each table are in use, by the region's counters. The program writes these,
// so they are bounded by the reader's own copy of the layout; and a page that was never
// written is not read, as that would allocate it.
#include "ctp/tables.h"

#include <string.h>

#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/there.h"

const struct ctp_table_shape ctp_table_shapes[CTP_TABLES] = {
	[CTP_TABLE_STATIONS] = {"stations", sizeof(struct ctp_state), true},
	[CTP_TABLE_THREADS] = {"threads", sizeof(struct ctp_thread), true},
	[CTP_TABLE_FDS] = {"fds", sizeof(struct ctp_fd), true},
	[CTP_TABLE_CANDS] = {"cands", sizeof(struct ctp_cand), true},
	[CTP_TABLE_MODULES] = {"modules", sizeof(struct ctp_module), false},
	[CTP_TABLE_INCIDENTS] = {"incidents", sizeof(struct ctp_incident), true},
	[CTP_TABLE_NAMES] = {"names", sizeof(struct ctp_name), true},
	[CTP_TABLE_SWITCH_FUNCTIONS] = {"switch_functions", sizeof(struct ctp_switch_function), false},
	[CTP_TABLE_STACK_INDEX] = {"stack_index", sizeof(uint32_t), false},
	[CTP_TABLE_STACK_WORDS] = {"stack_words", sizeof(uint64_t), false},
	[CTP_TABLE_SITES] = {"sites", sizeof(struct ctp_site), false},
	[CTP_TABLE_EXT] = {"ext", sizeof(struct ctp_ext), false},
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void stations(const struct ctp_region *r, ctp_table_each *each, void *arg)
{
	struct ctp_walk w = ctp_walk_states(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state s;
		const struct ctp_state *state = &r->states[i];
		if (ctp_load32(&state->owner) != CTP_OWNER_GUEST)
			continue;
		if (!ctp_state_read_settled(r, state, &s))
			memcpy(&s, state, sizeof(s));
		each(arg, i, &s);
	}
}

static void threads(const struct ctp_region *r, ctp_table_each *each, void *arg)
{
	uint64_t n = least(ctp_load32(&r->ext->thread_high), r->threads_max);
	for (uint64_t i = 0; i < n; i++) {
		struct ctp_thread row = r->threads[i];
		if (row.life == CTP_THREAD_LIVE || row.life == CTP_THREAD_DEAD)
			each(arg, i, &row);
	}
}

static void fds(const struct ctp_region *r, ctp_table_each *each, void *arg)
{
	struct ctp_walk w = ctp_walk_fds(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_fd *fd = &r->fds[i];
		struct ctp_fd row;
		if (!ctp_load32(&fd->gen))
			continue;
		for (int tries = 0; tries < 1000; tries++) {
			uint32_t seq = ctp_seq_read_begin(&fd->seq);
			ctp_copy(&row, fd, sizeof(row));
			if (!ctp_seq_read_retry(&fd->seq, seq))
				break;
		}
		each(arg, i, &row);
	}
}

static void cands(const struct ctp_region *r, ctp_table_each *each, void *arg)
{
	struct ctp_walk w = ctp_walk(r, r->cands, sizeof(*r->cands),
				     least(ctp_load32(&r->ext->cand_count), r->cands_max));
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		if (ctp_load32(&r->cands[i].ready) != CTP_CAND_READY)
			continue;
		struct ctp_cand row = r->cands[i];
		each(arg, i, &row);
	}
}

static void modules(const struct ctp_region *r, ctp_table_each *each, void *arg)
{
	struct ctp_walk w = ctp_walk(r, r->modules, sizeof(*r->modules),
				     least(ctp_load32(&r->ext->module_count), r->modules_max));
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_module m;
		if (!ctp_load32(&r->modules[i].ready))
			continue;
		m = r->modules[i];
		m.path[sizeof(m.path) - 1] = '\0';
		each(arg, i, &m);
	}
}

static void incidents(const struct ctp_region *r, ctp_table_each *each, void *arg)
{
	uint32_t any = 0;
	for (size_t i = 0; i < sizeof(r->ext->incidents) / sizeof(r->ext->incidents[0]); i++)
		any |= r->ext->incidents[i];
	struct ctp_walk w = ctp_walk_incidents(r);
	for (uint64_t i = ctp_walk_from(&w, 0); any && i < w.n; i = ctp_walk_from(&w, i + 1)) {
		if (ctp_load32(&r->incidents[i].ready) != CTP_CAND_READY)
			continue;
		struct ctp_incident row = r->incidents[i];
		each(arg, i, &row);
	}
}

static void names(const struct ctp_region *r, ctp_table_each *each, void *arg)
{
	uint64_t n = r->names ? least(ctp_load32(&r->header->allocated_count), r->stations_max) : 0;
	struct ctp_walk w = ctp_walk(r, r->names, sizeof(*r->names), n);
	for (uint64_t i = n ? ctp_walk_from(&w, 0) : 0; i < n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_name row;
		if (!ctp_name_mapped(r->names_map, i))
			i |= CTP_NAMES_EACH - 1; // to the next bit
		else if (ctp_name_read(&r->names[i], &row) && row.id)
			each(arg, i, &row);
	}
}

static void functions(const struct ctp_region *r, ctp_table_each *each, void *arg)
{
	uint64_t n = r->functions ? least(ctp_load32(&r->ext->functions), r->functions_max) : 0;
	for (uint64_t i = 0; i < n; i++) {
		struct ctp_switch_function row = r->functions[i];
		row.kind[sizeof(row.kind) - 1] = '\0';
		if (row.ready)
			each(arg, i, &row);
	}
}

void ctp_table_rows(const struct ctp_region *r, enum ctp_table table, ctp_table_each *each, void *arg)
{
	static void (*const all[CTP_TABLES_BY_ROW])(const struct ctp_region *r, ctp_table_each *each,
						    void *arg) = {
		[CTP_TABLE_STATIONS] = stations, [CTP_TABLE_THREADS] = threads,
		[CTP_TABLE_FDS] = fds,           [CTP_TABLE_CANDS] = cands,
		[CTP_TABLE_MODULES] = modules,   [CTP_TABLE_INCIDENTS] = incidents,
		[CTP_TABLE_NAMES] = names,       [CTP_TABLE_SWITCH_FUNCTIONS] = functions,
	};
	all[table](r, each, arg);
}

const void *ctp_table_whole(const struct ctp_region *r, enum ctp_table table, uint64_t *n)
{
	uint64_t stacks = least((uint64_t)ctp_load32(&r->ext->stack_count) + 1, r->stacks_max);
	switch (table) {
	case CTP_TABLE_STACK_INDEX:
		*n = stacks;
		return r->stack_index;
	case CTP_TABLE_STACK_WORDS:
		*n = least(ctp_load32(&r->ext->stack_words), r->stack_words_max);
		return r->stack_words;
	case CTP_TABLE_SITES:
		*n = stacks;
		return r->sites;
	default:
		*n = 1;
		return r->ext;
	}
}
