// SPDX-License-Identifier: MIT
//
// image.h - one program image: its last tables, and what ctp-run witnessed.
#pragma once

#include "base/idmap.h"
#include "ctp/ctp.h"
#include "trace/looks/descriptors.h"
#include "trace/script_frames.h"
#include "trace/looks/set_looks.h"
#include "trace/looks/slices.h"
#include "trace/looks/stackless_looks.h"
#include "trace/table.h"
#include "trace/looks/witness.h"

struct image_counts {
	uint64_t created, suspended, running, finished, destroyed; // coroutines
	uint64_t switches, lost, hand, reused, unknown;
	uint64_t healthy; // suspended, and all that they wait for is alive
	uint64_t parked;  // suspended without a known wait
};

// image.row_flags
#define IMAGE_ROW_LIVE 0x1u     // a live registration leads to it
#define IMAGE_ROW_HEALTHY 0x2u  // is one of counts.healthy
#define IMAGE_ROW_PARKED 0x4u   // is one of counts.parked
#define IMAGE_ROW_TAKEN 0x8u    // would be healthy, but another has read what it waits for (image_taken)
#define IMAGE_ROW_USED 0x20u    // it has used what is registered, and an event has come before it suspended
#define IMAGE_ROW_UNHEARD 0x10u // would be healthy, but what it waits for is there, and nothing tells it

// Live registrations by what they lead to: rows of fds in chains.
struct image_chain {
	struct idmap head;
	uint32_t *next; // by row; IDMAP_NONE ends
};

struct manifest;

struct image {
	unsigned index;
	unsigned process;            // 0 is the one that ctp-run started
	uint64_t pid;                // 0 = not said
	uint64_t snapshot_ns;        // of its process; 0 = none
	const char *snapshot_reason; // the manifest's; NULL = none
	uint64_t term_forwarded_ns;  // 0 = not sent on
	int ended_signal;            // that its process died by; 0 = by none; -1 = not known
	uint32_t layout;             // another than this reader's, of which it is; 0 = ours, or not known
	bool damaged;                // a table is cut off or not one at all
	char *refused;               // what of it is not read, and why: file_open; NULL: nothing
	bool has_tables;
	bool replaced; // a later image of the same process took its place: all it held is gone
	struct table stations, threads, fds, cands, modules, stack_index, stack_words, ext_table;
	struct table incidents, sites, names; // empty in older traces
	struct table
		later; // stations as of the end, where `stations` are of a snapshot before it; else empty
	struct ctp_ext ext; // signal_taken: also of a HUP, INT or QUIT by which it ended (image_settle_end)
	struct idmap by_id; // entity id -> row of stations
	struct idmap later_by_id; // entity id -> row of later
	struct idmap by_name;     // entity id -> row of names
	struct idmap by_fd;       // fd number -> row of fds
	struct idmap closes;      // image_key(fd, gen) -> row of cands: the generation's end
	struct idmap dels;        // the same: its last EPOLL_CTL_DEL under a waiter
	struct idmap sets;        // the same: the end of an epoll set
	struct idmap dead_sets;   // those of which no other number is open
	struct set_looks set_looks;
	struct stackless_looks stackless;
	struct descriptors descriptors;
	struct image_chain by_data; // epoll_data -> rows of fds
	struct image_chain by_mind; // entity that added it or was woken by it -> rows of fds
	unsigned char *row_flags;   // IMAGE_ROW_*, by row of stations
	struct witness_set witness;
	struct slices_set slices;
	struct script_frames scripts;
	struct image_counts counts;
};

static inline uint64_t image_key(int32_t fd, uint32_t gen)
{
	return (uint64_t)(uint32_t)fd << 32 | gen;
}

// Is it a coroutine that is suspended, or was until the program, which was told
// to end, swept it away? What was seen of it before holds then.
bool image_suspended(const struct image *m, const struct ctp_state *s);

// Has it run since the snapshot that the tables are of?
bool image_ran_since(const struct image *m, const struct ctp_state *s);

// Who ran and where when its process died by a signal; NULL if it did not, or nobody saw it.
const struct ctp_crash *image_crash(const struct image *m);

// A program that takes HUP, INT or QUIT may end by it, after a drain, or reload and go on. It ended by it if
// its exit began within CTP_END_NS, and no TERM came before.
void image_settle_end(struct image *m, const struct manifest *clock);
// The time of such a signal after which, at `ns`, it could still be on its way to its end; 0: there is none.
uint64_t image_asked(const struct image *m, const struct manifest *clock, uint64_t ns);

// Who has read what this coroutine, which waits for nothing else, is suspended for, instead of it, and nobody
// has read it since; NULL: nobody.
const struct ctp_incident *image_taken(const struct image *m, const struct ctp_state *s);

// Opens image<m->index> in the folder `ctp` of a trace; what is known of its process stands in `m`. 0 also if
// there are no tables (has_tables is false then); -errno on failure.
int image_open(struct image *m, int folder, const struct manifest *clock);
void image_close(struct image *m);
// Of what it waits for, or alone reads where it did not say, what was readable for a second whenever the
// kernel was asked, though no event of it has come since the coroutine suspended; NULL: nothing.
const struct descriptor *image_unheard(const struct image *m, const struct manifest *clock,
				       const struct ctp_state *s);
// Those for which this holds are not healthy.
void image_settle_unheard(struct image *m, const struct manifest *clock);
// With its tables open: makes what is found through them, and counts. 0 or -ENOMEM.
int image_index(struct image *m);
// With what was asked of the kernel read as well: those for which image_taken holds are not healthy.
void image_settle_taken(struct image *m);
// All that it held is gone: what lived counts as destroyed.
void image_replace(struct image *m);

static inline const struct ctp_state *image_state(const struct image *m, size_t row)
{
	return table_row(&m->stations, row);
}
static inline const struct ctp_cand *image_cand(const struct image *m, size_t row)
{
	return table_row(&m->cands, row);
}
static inline const struct ctp_incident *image_incident(const struct image *m, size_t row)
{
	return table_row(&m->incidents, row);
}
// The entity with this id, or NULL if its station was recycled.
const struct ctp_state *image_entity(const struct image *m, uint64_t id);
// What the program calls this coroutine, or the thread that this is the own stack of (if that is not what its
// process is called); fit for a terminal. NULL: it does not say.
const char *image_name(const struct image *m, uint64_t id, char buf[CTP_NAME_TEXT]);
// The same for a thread by its number.
const char *image_thread_name(const struct image *m, uint64_t tid, char buf[CTP_NAME_TEXT]);
// The entry of an fd number, or NULL.
const struct ctp_fd *image_fd(const struct image *m, int32_t fd);
// The candidate for the end (or the EPOLL_CTL_DEL) of fd#gen, or NULL.
const struct ctp_cand *image_end_of(const struct image *m, int32_t fd, uint32_t gen);
const struct ctp_cand *image_del_of(const struct image *m, int32_t fd, uint32_t gen);
const struct ctp_cand *image_set_end_of(const struct image *m, int32_t fd, uint32_t gen); // of an epoll set
// The pcs of a stack, innermost first; *n = 0 if it was not captured.
const uint64_t *image_stack(const struct image *m, uint32_t id, unsigned *n, uint32_t *flags);
// Where a coroutine is suspended, as a reader is to see it: with the functions of its script, if it runs one.
uint32_t image_told_stack(const struct image *m, const struct ctp_state *s);
// Waits of a state, bounded.
static inline unsigned image_nwaits(const struct ctp_state *s)
{
	return s->nwaits < CTP_WAITS ? s->nwaits : CTP_WAITS;
}
// Another live registration than that of fd#gen that has this data, or that this coroutine
// added, or was woken by where it stands; NULL if there is none. Numbers other than
// fd come first: *same_number says that only fd itself, opened again, was found.
const struct ctp_fd *image_other_registration(const struct image *m, const struct ctp_state *s, uint64_t data,
					      int32_t fd, bool *same_number);
// Stands a descriptor in the set with which a thread sleeps in poll or select? MAYBE: it
// did at some time, and none sleeps so now, or another thread has polled it since.
enum image_polled { IMAGE_POLLED_OUT, IMAGE_POLLED_MAYBE, IMAGE_POLLED_IN };
enum image_polled image_polled_by(const struct image *m, const struct ctp_fd *f);
// Does the program take interest in a descriptor away under its waiter, and give it back? It has done so.
bool image_pauses(const struct image *m);
// Whether what it waits for is open now, and registered in an epoll set, for that event, or polled.
bool image_wait_is_live(const struct image *m, const struct ctp_wait *wait);
