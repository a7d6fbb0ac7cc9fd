// SPDX-License-Identifier: MIT
//
// source.h - a trace as rows of the schema's tables: what every target gets.
#pragma once

#include "analyze/export/target.h"
#include "analyze/report/finding.h"
#include "base/idmap.h"
#include "base/intern.h"

// Where something happened, in short.
struct source_site {
	char *name;
	const struct symbols_frame *frame; // NULL: not known
};

enum source_measure { SOURCE_WAIT, SOURCE_LATENCY, SOURCE_SLICE, SOURCE_MEASURES };

struct source_sum { // of one stack and measure
	uint64_t key, n, sum, max;
};

struct source_bucket {
	uint64_t key, n;
};

// A coroutine or native stack as the history tells of it.
struct source_entity {
	uint64_t id, entry, created_ns, ended_ns, since_ns, creator, changes;
	uint64_t ran_ns, waited_ns, longest_slice_ns, longest_wait_ns;
	const struct image *image; // NULL: none
	uint32_t creator_stack, stack;
	uint8_t life; // enum ctp_life
	bool native;
};

struct source {
	const struct world *world;
	const struct report *report;
	struct target *to;
	int64_t trace;               // traces.id
	uint32_t wanted;             // bits of enum schema_table_id
	const char *labels, *tables; // of its row in traces
	const char *uuid;
	uint32_t putting;           // tables whose rows the walk emits
	bool counting;              // the walk fills what is below
	struct source_site **sites; // by image and stack id of its index
	struct intern names_by;     // of entry and stack
	char **names;
	size_t nnames, names_capacity;
	struct source_entity *entities;
	size_t nentities, entities_capacity;
	struct idmap by_id;
	struct source_sum *sums;
	size_t nsums, sums_capacity;
	struct idmap sum_of;
	struct source_bucket *buckets;
	size_t nbuckets, buckets_capacity;
	struct idmap bucket_of;
	uint64_t seq[SCHEMA_TABLES];
	struct row row;
};

int source_open(struct source *s, const struct report *report, struct target *to);
void source_close(struct source *s);
// All rows of the wanted tables, and last that of the trace. 0, -errno; a failure of the target's is in
// its why.
int source_put(struct source *s);

// ------------------------------------------------------------ between the source's files

static inline bool source_wants(const struct source *s, enum schema_table_id id)
{
	return s->wanted >> id & 1;
}
void source_row(struct source *s, enum schema_table_id id); // begins one, with the trace if it is not its own
int source_done(struct source *s);                          // hands it on
// A time of the trace's clock, from its start; 0 is null.
void source_time(struct source *s, uint64_t ns);
// A stack's id in the export; 0, and one that was not captured, is null.
void source_stack(struct source *s, const struct image *m, uint32_t stack);
static inline int64_t source_stack_id(const struct image *m, uint32_t stack)
{
	return (int64_t)((uint64_t)m->index << 32 | stack);
}
// In short where it is: name NULL if it is not known. -ENOMEM is said by NULL.
const struct source_site *source_site(struct source *s, const struct image *m, uint32_t stack);
// Puts site, file, line.
int source_put_site(struct source *s, const struct image *m, uint32_t stack);
int source_history(struct source *s); // one walk, as `putting` and `counting` say
int source_coroutines(struct source *s);
int source_sites(struct source *s);
int source_histograms(struct source *s);
int source_descriptors(struct source *s);
int source_stacks(struct source *s);
int source_frames(struct source *s);
int source_findings(struct source *s);
int source_finding_coroutines(struct source *s);
int source_evidence(struct source *s);
int source_timelines(struct source *s);
int source_facts(struct source *s);
int source_traces(struct source *s);
// Of a value: the number of its bucket, and a bucket's upper bound.
unsigned source_bucket(uint64_t v);
uint64_t source_bucket_le(unsigned bucket);
int source_measured(struct source *s, const struct image *m, uint32_t stack, enum source_measure what,
		    uint64_t ns);
// The bit pattern's word for a measure.
extern const char *const source_measures[SOURCE_MEASURES];
