// SPDX-License-Identifier: MIT
//
// records.h - the part of the layout that says what happened; ctp.h says what is now. It has
// the incidents, the crash, and the records of the rings. Only ctp.h includes it.
#pragma once

// ----------------------------------------------------- extension: incidents

// What happened once and cannot be undone: a switch into a coroutine that runs
// elsewhere, a close that said EBADF. One entry per rule, entity and stack; it
// counts repetitions. Entry of a key: probed from hash(key) on, CTP_INCIDENT_PROBES
// slots at most; none left, or CTP_INCIDENTS_EACH of the rule: counted in ext.incidents_lost.
// ready: EMPTY -> FILLING (compare-and-swap) -> READY (release), as of candidates.
struct ctp_incident { // W: guest, any thread; after READY only last, count and value
	uint32_t ready;
	uint16_t rule;  // enum ctp_rule
	uint16_t flags; // by rule (spec/cTP.md)
	uint64_t time;  // of the first
	uint64_t last;  // of the last
	uint64_t count;
	uint64_t who;    // entity
	uint32_t stack;  // its
	uint32_t thread; // slot
	uint64_t other;  // entity, by rule; 0
	uint32_t other_stack;
	uint32_t call; // enum ctp_fd_call, ctp_block or signal, by rule
	// line 1
	int32_t fd; // -1
	uint32_t gen;
	uint64_t other_time;
	uint64_t value[4]; // by rule; those of the incident with the largest value[0]
	uint64_t reserved[2];
};
// flags. CTP010, 011, 012: what the guest could see of the target, besides that it was entered
#define CTP_LATE_NATIVE 0x1u  // it is a thread's own stack
#define CTP_LATE_SHARED 0x2u  // stacks there are shared by copying
#define CTP_LATE_FOREIGN 0x4u // it, or the coroutine that entered it, was found: its creation was not seen
#define CTP_LATE_PLACE 0x8u   // not where it last saved itself: told by its stack alone
#define CTP_LATE_ANEW 0x10u   // its memory is another's since, or was given back
#define CTP_LATE_GONE 0x20u   // 011: it left for good, and did not return; 012: nothing is mapped there
#define CTP_LATE_NEVER 0x40u  // 012: it never ran
// CTP019
#define CTP_HELD_WAITS 0x1u // it was suspended for a descriptor, not to run another coroutine
// CTP006, 024
#define CTP_BAD_CLOSE 0x1u // 024: closed again
#define CTP_BAD_IO 0x2u    // read or written
#define CTP_BAD_EPOLL 0x4u // 024: epoll_ctl(ADD or MOD)
#define CTP_BAD_WOKEN 0x8u // 006: an event of it resumed who
#define CTP_BAD_STALE \
	0x10u // 006: who waits for it, and was resumed in the turn that took an event of the one before
#define CTP_INCIDENTS_MAX 16384u // a power of two
#define CTP_INCIDENTS_EACH 1024u
#define CTP_INCIDENT_PROBES 16u

// Per stack: coroutines made there, and how many of them ended. W: guest, any thread
struct ctp_site {
	uint32_t created, ended;
	uint32_t resumed; // 1: somebody who had left with this stack has gone on
	uint32_t reserved;
};

// The signal that ends the process, as its handler saw it. W: guest; ready last (release)
struct ctp_crash {
	uint32_t ready;       // 0; 2 = being written; 1 = valid
	int32_t signal, code; // si_signo, si_code
	uint32_t tid;
	uint64_t addr; // si_addr
	uint64_t time;
	uint64_t who;            // entity that ran
	uint32_t stack;          // its, as of the signal; 0
	uint32_t thread;         // slot
	uint64_t regs[CTP_REGS]; // as of the signal
	uint32_t armed; // threads on which a handler would run on a stack of its own: no note, and death by
	uint32_t steps; // SIGSEGV all the same, then means something else. steps: callers found in `stack`'s
			// memory
	uint64_t time_ns; // `time`, as CLOCK_MONOTONIC
};

// ------------------------------------------------------- extension: rings

// A slot of a ring, 16 bytes; a record takes one or two, and is the event in the
// CTF trace, byte for byte (spec/trace.md). How they are read: ctp/record.h.
//   any record   w0  kind : 8 | time : 56 (ticks, the low bits)
//   a switch, in one slot: kind = CTP_EV_SHORT + ctp_how
//                w1  to : 22, id - near of the thread | leaver's stack : 20 | to_n : 22
//   all others, in two
//                w1  b : 40 | stack : 24
//           then w0  CTP_EV_REST : 8 | how : 8 | a : 40 | mark : 8
//                w1  by kind
//   of a kind that is reserved here, or of an event: 2 + mark slots, all but the first
//   begin with CTP_EV_REST, so a reader that does not know the kind goes past the record
// The leaver of a switch in one slot is whom the thread's last record left running,
// and its number one more than it had then. A thread's first switch, and the first
// after a record was lost, takes two slots.
struct ctp_record {
	uint64_t w0, w1;
};

enum ctp_kind {
	// kind           how           a          b          stack    last word
	CTP_EV_SWITCH =
		1, // ctp_how   from       to         leaver's from_n : 32 | to_n : 32 (low bits of `changes`)
	CTP_EV_CREATE = 2,   // 0         id         creator    creator's entry
	CTP_EV_FINISH = 3,   // ctp_how   id         0          0        0   (ended, and nobody went on)
	CTP_EV_DESTROY = 4,  // ctp_how  id         by         by's     0
	CTP_EV_FD_OPEN = 5,  // fd_call  by         0          by's     fd : 32 | gen : 32
	CTP_EV_FD_CLOSE = 6, // fd_call by         0          by's     fd : 32 | gen : 32
	CTP_EV_THREAD = 7,   // 0         native     0          0        tid
	CTP_EV_EXIT = 8,     // ctp_exit  by         0          by's     status
	CTP_EV_SIGNAL = 9,   // 0         by         0          0        signal number (TERM, INT, HUP, QUIT
			     // taken by a handler)
	CTP_EV_READY = 10,   // 0        id         by         0          fd : 32 | gen : 32 (id is suspended,
			     // and this event leads to it)
	CTP_EV_SLEPT =
		11, // 0        by         0          0          ticks that it was in a wait of its loop
	// 12..15, 33..63: reserved, the latter for stackless coroutines
	CTP_EV_SHORT = 16,       // 16..31: a switch in one slot
	CTP_EV_REST = 32,        // the second slot of a record, never one of its own
	CTP_EV_STATION = 64,     // written by the engine: a version-1 slot (spec/trace.md)
	CTP_EV_STATION_END = 65, // the same: its probe has marked that station as dead
	CTP_EV_USER = 128, // 128..255: an event of the program's own, in 2 + mark slots: a is who ran (0: a
			   // thread that never switched), how and kind - 128 are the row in the table of
			   // events (ctp_event_row_of), and all else of its slots is what it says (events.h)
};

// Kind, and how, of an event of a row.
static inline unsigned ctp_event_row_of(unsigned kind, unsigned how)
{
	return (kind - CTP_EV_USER) << 8 | how;
}

enum ctp_exit { CTP_EXIT_MAIN = 1, CTP_EXIT_EXIT, CTP_EXIT__EXIT, CTP_EXIT_QUICK, CTP_EXIT_LINK };

#define CTP_ID_BITS 40
#define CTP_ID_MASK ((1ULL << CTP_ID_BITS) - 1)

// A switch in one slot. `near`: ids from there on fit; each thread has its own, and says it with
// the mark of a switch in two: from there on, it is as of that one's `to` (ctp_near).
#define CTP_SHORT_BITS 22 // of to, and of to_n
#define CTP_SHORT_STACK_BITS 20
#define CTP_SHORT_MASK ((1ULL << CTP_SHORT_BITS) - 1)
#define CTP_SHORT_NATIVE CTP_SHORT_MASK // as `to`: the thread's own stack
#define CTP_MARK_NEAR 1u
// A count whose low bits look so is always told in full.
#define CTP_TOLD_MASK 0xffffeu
#define CTP_TOLD 0x80000u

static inline uint64_t ctp_near(uint64_t id)
{
	uint64_t half = 1ULL << (CTP_SHORT_BITS - 1);
	return id < half ? 0 : (id & ~(half - 1)) - half;
}

// What a record in two slots is made from: w1 has kind, how, a; w2 has b and the stack.
static inline uint64_t ctp_w1(unsigned kind, unsigned how, uint64_t a)
{
	return (uint64_t)kind | (uint64_t)how << 8 | (a & CTP_ID_MASK) << 16;
}
static inline uint64_t ctp_w2(uint64_t b, uint32_t stack)
{
	return (b & CTP_ID_MASK) | (uint64_t)stack << CTP_ID_BITS;
}
static inline void ctp_record_set(struct ctp_record *first, struct ctp_record *rest, uint64_t time,
				  uint64_t w1, uint64_t w2, uint64_t w3)
{
	*first = (struct ctp_record){(w1 & 0xff) | time << 8, w2};
	*rest = (struct ctp_record){(w1 & ~0xffULL) | CTP_EV_REST, w3};
}
static inline void ctp_record_set_short(struct ctp_record *r, uint64_t time, unsigned how, uint64_t to,
					uint32_t stack, uint64_t to_n)
{
	*r = (struct ctp_record){
		(CTP_EV_SHORT + how) | time << 8,
		to | (uint64_t)stack << CTP_SHORT_BITS | to_n << (CTP_SHORT_BITS + CTP_SHORT_STACK_BITS)};
}
static inline unsigned ctp_record_kind(const struct ctp_record *r)
{
	return r->w0 & 0xff;
}

#define CTP_RING_BYTES (4u << 20) // a power of two

// With --flight the memory of the rings is one pool of chunks, and behind those lies this of each. A thread
// writes one chunk after the other (chunk.h), always the one that was begun longest ago; the slots of a chunk
// are numbered as those of a ring, its first a multiple of CTP_CHUNK_SLOTS. No record lies in two, and before
// the first switch of a chunk in one slot there is one in two, so that each can be read alone.
#define CTP_CHUNK_BYTES (16u << 10)
#define CTP_CHUNK_SLOTS (CTP_CHUNK_BYTES / 16)
struct ctp_chunk {            // W: guest, the thread that has it
	uint64_t seq;         // odd: a thread writes in it; even: nobody any more; 0: never used
	uint64_t ready;       // seq, once what follows is valid
	uint64_t first;       // number of its first slot
	uint32_t thread, use; // slot of the thread; its `uses`
	uint32_t tid;
	uint32_t used;   // slots, when seq is even; else it follows from the thread's head
	uint64_t native; // as of its beginning; 0
	uint64_t time;   // of its beginning
	uint64_t lost;   // the thread's, when seq is even
};
