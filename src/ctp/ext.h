// SPDX-License-Identifier: MIT
//
// ext.h - the part of the layout by which all others are found: the extension descriptor, which lies in what
// version 1 calls reserved. Included by ctp.h alone.
#pragma once

// -------------------------------------------------- extension: descriptor

#define CTP_EXT_MAGIC 0x0031545845505443ULL // "CTPEXT1"
#define CTP_EXT_VERSION 6u
#define CTP_EXT_VERSION_READ \
	5u // the oldest that is still read: its descriptor ends before `uuid`, all else is as here
#define CTP_EXT_BYTES_READ 768u // of that one
#define CTP_EXT_OFFSET 0x40u

enum ctp_clock { CTP_CLOCK_MONOTONIC = 1, CTP_CLOCK_TSC = 2 }; // ns, or raw TSC

// ctp_ext.options, W: engine before the start
#define CTP_OPT_BLOCK 0x1u     // --overflow=block
#define CTP_OPT_NO_FREE 0x2u   // leave `free` alone (libasan in the program)
#define CTP_OPT_SELF 0x4u      // the guest started the engine itself (LD_PRELOAD alone)
#define CTP_OPT_FLIGHT 0x10u   // --flight: the rings are a pool of chunks
#define CTP_OPT_FOLLOW 0x8u    // --follow-forks: children ask for regions of their own
#define CTP_OPT_NO_PATCH 0x40u // --no-patch: functions that cannot be interposed are left alone
#define CTP_OPT_ATTACH 0x20u   // reserved: the process ran when the region was made
#define CTP_OPT_ADAPTIVE 0x80u // --clock=adaptive: at a high rate not every switch reads the clock
#define CTP_OPT_SPARSE 0x100u  // --clock=sparse: nor at any other

enum ctp_final { CTP_FINAL_NONE = 0, CTP_FINAL_ASKED = 1, CTP_FINAL_DONE = 2 };

// ctp_ext.gaps, W: guest (and OWN_FDS: engine), set and never cleared: why P0 cannot hold
#define CTP_GAP_STATIONS 0x01u  // no station left: some coroutines are not in the table
#define CTP_GAP_CANDS 0x02u     // a candidate found no free slot
#define CTP_GAP_FDS 0x04u       // an fd number above CTP_FDS_MAX
#define CTP_GAP_THREADS 0x08u   // no thread slot left
#define CTP_GAP_STACKS 0x10u    // stack table full: stacks are missing, nothing else
#define CTP_GAP_URING 0x20u     // io_uring or AIO was set up
#define CTP_GAP_MEMORY 0x40u    // guest memory used up: stacks could not be mapped to coroutines
#define CTP_GAP_BLIND 0x80u     // a signal handler switched away inside a hook: switches were missed
#define CTP_GAP_ATTACHED 0x100u // reserved: what was before `attached` is not known, or was found in memory
#define CTP_GAP_OWN_FDS 0x200u  // a thread has descriptors of its own: one number is several files

// ctp_ext.ask: pid | answer << 32. 0 -> {pid, 0} (a guest, compare-and-swap: an image after
// exec, or a child) -> {pid, fd number + 1 in the engine, or CTP_ASK_REFUSED} (engine) -> 0
// (the guest, when it has opened it; the engine, if that one died or took too long). Each move
// is a compare-and-swap of the whole word: who finds another word has been given up.
#define CTP_ASK(pid, answer) ((uint64_t)(uint32_t)(pid) | (uint64_t)(answer) << 32)
#define CTP_ASK_REFUSED UINT32_MAX

static inline int ctp_version_read(uint32_t version)
{
	return version >= CTP_EXT_VERSION_READ && version <= CTP_EXT_VERSION;
}

// ctp_ext.spare: a region that a forked child may take without waiting for the engine. {0, fd
// number + 1 in the engine} (engine: to be had) -> {pid, fd number + 1} (a guest that takes it)
// -> {pid, 0} (the same, when it has mapped it) -> {0, another number} (engine, which follows it
// from here on). {0, 0}: none. Each move is a compare-and-swap of the whole word; the engine takes
// it back from who died, or took too long, before it had mapped it.
enum { CTP_SPARES = 4 };

// How long an end may take, from the signal that asks for it.
#define CTP_END_NS 30000000000ULL

struct ctp_ext {
	// 0x40: layout. W: engine (or the guest that makes the region), before the start
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; // sizeof(struct ctp_ext)
	uint64_t region_bytes;
	uint64_t threads_off, fds_off, cands_off, modules_off;
	uint32_t stations_max; // the header's, which probes can overwrite, and one for each thread more
	uint32_t image;        // 0, and +1 for every exec in the same process
	// 0x80
	uint64_t stack_index_off; // uint32_t[CTP_STACKS_MAX]
	uint64_t stack_words_off; // uint64_t[CTP_STACK_WORDS]
	uint64_t rings_off;       // threads_max rings of ring_bytes
	uint64_t guest_off;       // guest's own memory: the engine never reads it
	uint64_t guest_bytes;
	uint32_t ring_bytes;
	uint32_t threads_max, fds_max, cands_max, modules_max, stacks_max;
	// 0xc0
	uint32_t stack_words_max;
	uint32_t clock_kind; // enum ctp_clock
	uint32_t options;    // CTP_OPT_*
	uint32_t engine_pid;
	uint64_t clock_ticks0, clock_ns0; // one pair, taken when the region was made
	uint32_t chunks;                  // with CTP_OPT_FLIGHT
	uint32_t reserved0;
	uint64_t states_off; // struct ctp_state[stations_max]
	uint64_t reserved2[2];
	// 0x100: engine's side. W: engine
	uint64_t heartbeat;  // +1 per harvest; standing still for a second = gone
	uint32_t waiting;    // 1 while it sleeps on `wake`; 0 by whoever wakes it as its ring is half full
	uint32_t final_done; // enum ctp_final; futex
	uint32_t root_pid;   // the process that it is for, before that one starts; 0: whoever comes first
	uint32_t reserved8;
	uint64_t clock_ticks1, clock_ns1; // the last pair that it took; 0, 0: none yet
	uint32_t rings;  // io_uring contexts that were open at once when it looked, the most of them
	uint32_t own_fd; // the engine's descriptor of this region, + 1; 0: unknown
	uint32_t reserved1[4];
	// 0x140: guest's side, rare. W: guest
	uint32_t guest_pid;   // 0 -> pid by compare-and-swap: attached
	uint32_t wake;        // futex: the engine sleeps on it. Also W: engine, when it takes a signal
	uint32_t final_asked; // enum ctp_final
	uint32_t inherited;   // 1: forked from a traced process, no exec since: shares what that had open
	uint64_t attached;    // time
	uint64_t attached_ns;
	uint64_t exit_begun;      // time; 0 = not yet
	uint64_t signal_taken;    // time of the first TERM that it took; 0
	uint64_t listener_closed; // time of the first close of a listener since one began to listen; 0.
				  // Not before the first coroutine: there was none to drain
	uint32_t gaps;            // CTP_GAP_*
	uint32_t exit_how;        // enum ctp_exit
	// 0x180: counters that several threads raise. W: guest
	uint64_t next_id; // ids given out so far
	uint64_t next_desc;
	uint32_t cand_count; // candidates so far: passes cands_max, wraps
	uint32_t module_count;
	uint32_t stack_count;    // ids given out
	uint32_t stack_words;    // words used
	uint32_t forks;          // children made by fork and vfork
	uint32_t thread_high;    // thread slots ever used
	uint64_t lost_unslotted; // records of threads without a slot
	uint64_t fd_high;        // highest fd number seen
	uint64_t dlcloses;
	// 0x1c0
	// raised after each close that posts a candidate; also W: engine, which
	// raises it when it finds a coroutine stuck, to see who has slept since
	uint64_t epoch;
	uint64_t pointer_guard;  // how a jmp_buf's words that glibc disguises are read: rotated right
	uint32_t pointer_rotate; // by pointer_rotate bits, then xored with the guard. W: guest, at attach
	uint32_t execs; // in the first image's region: images that came after it. W: guest, each of them
	uint64_t ask;   // in the first image's region: who asks for a region (CTP_ASK); futex on each half
	uint64_t chunk_next; // chunks that were looked at to be taken
	uint64_t sent_fds;   // messages that it sent with descriptors in them; also W: engine, for an image
			     // after exec
	uint32_t forker;     // a forked child's: the pid of its parent
	uint32_t reserved9;
	uint64_t reserved3;
	// 0x200: where things lie in the guest. W: guest, at attach
	uint64_t region_base;             // address of the region
	uint64_t areas_base, areas_bytes; // per-thread areas of the library
	uint64_t self_base, self_end;     // libctp.so's own mapping
	uint64_t reserved4;
	uint64_t names_off; // map of names, then one for each station; 0 = no names. W: engine, before the
			    // start
	// How a ucontext_t keeps registers: from byte context_off on, context_words words,
	// of which those with a bit in context_scratch are caller-saved.
	uint16_t context_off, context_words;
	uint32_t context_scratch;
	// 0x240: incidents, sites. Offsets W: engine, before the start; the counters W: guest
	uint64_t incidents_off, sites_off;
	uint32_t incidents_max; // a power of two
	uint32_t incidents_lost;
	uint64_t page;              // address of the guest's page that fork wipes. W: guest, at attach
	uint64_t spare[CTP_SPARES]; // in the first image's region: regions to be had. Also W: engine
	uint16_t incidents[32];     // entries by rule number
	// 0x2c0
	struct ctp_crash crash;
	// 0x340: from version 6 on. W: engine, before the start (CTP_OPT_SELF: before `engine_pid`)
	uint8_t uuid[16];  // of the trace (RFC 9562, version 4), the same in all its regions; zeros = none
	uint64_t wall_ns0; // CLOCK_REALTIME at clock_ns0; 0 = not known
	uint64_t functions_off; // struct ctp_switch_function[functions_max]; 0 = no such table
	uint64_t frames_off;    // struct ctp_birth[frames_max]; 0 = no such table
	uint64_t events_off;    // struct ctp_event_choice, then ctp_event_row[events_max]; 0 = none
	uint32_t functions_max, frames_max, events_max;
	uint32_t paused;                    // 1 while no history is recorded (ctp-ctl stop). W: engine
	uint32_t functions, frames, events; // rows used; of frames, births that found no free row. W: guest
	uint32_t events_chosen; // ctp_event_choice.seq of the list by which events are on. W: guest
	uint64_t crash_ours;    // bit N-1: signal N's handler is libctp's crash handler. W: guest
	uint64_t destroyed_off; // struct ctp_destroyed[destroyed_max]; 0 = no such table
	uint32_t destroyed_max;
	uint32_t destroyed; // that found no free row. W: guest
	uint32_t born;      // 1: a birth was noted. W: guest
	uint32_t reserved10;
	// times of the first INT or QUIT, and of the last of these or HUP, that it took: it ends, or goes on.
	// W: guest
	uint64_t asked_first, asked_last;
	uint64_t reserved7[8];
};
