// SPDX-License-Identifier: MIT
//
// ctp.h - the cTP region: what lies where in the memory that the watched
// program (the guest, libctp.so, and any version-1 probe) shares with the
// engine (ctp-run), and who writes each field.
//
// This header *is* the layout; spec/cTP.md says in prose what it means.
// A region begins exactly as cTP version 1: header, then stations. All that
// version 1 does not know is found through the extension descriptor, which
// lies in what version 1 calls reserved. asserts.h asserts every offset.
//
// Conventions: sizes in bytes, times in "ticks" (see clock_kind) unless a
// name ends in _ns, every integer little-endian and naturally aligned.
// "W:" names the one side that writes a field. Reading is open to both, but
// the engine treats all it reads as hostile: every index is bounded by the
// engine's own copy of the layout, never by what the region says later.
#pragma once

#include <stddef.h>
#include <stdint.h>

// ---------------------------------------------------------------- version 1

#define CTP_MAGIC 0x434F524F54524352ULL
#define CTP_VERSION 1u
#define CTP_HEADER_BYTES 1024u
#define CTP_STATION_BYTES 1024u
#define CTP_SLOTS 8u
// The most stations that version-1 probes can map: they compute the size
// 1024 + n * 1024 in an int.
#define CTP_STATIONS_LIMIT 2097150u
#define CTP_STATIONS_DEFAULT 1000000u
// Behind those that probes know of, for the threads' own stacks: so many coroutines as were asked for find
// room.
#define CTP_STATIONS_NATIVE CTP_THREADS_MAX

// One state change, as version 1 keeps it. W: the probe that owns the station.
// Protocol (spec/cTP.md, 1.2): seq odd = being written, even = published, +2 per lap.
struct ctp_slot {
	uint64_t timestamp_ns; // CLOCK_MONOTONIC
	uint64_t tid;
	uint64_t addr; // where it left (is_active 0) or goes on (1); 0 unknown
	uint64_t seq;
	uint8_t reserved[31];
	uint8_t is_active;
};

// ------------------------------------------------------- extension: stations

// Who writes a station. A version-1 probe leaves this 0 for ever.
enum ctp_owner {
	CTP_OWNER_V1 = 0,
	CTP_OWNER_GUEST = 0x47, // libctp.so: slots unused, `state` is valid
};

enum ctp_entity {
	CTP_COROUTINE = 1, // made by makecontext or its like
	CTP_NATIVE = 2,    // the stack that a thread was born with
	CTP_FRAME = 3,     // reserved: a stackless coroutine (C++20); `slot` is its frame
};

// How it is known that an entity exists, and in which state it is (ctp_state.source).
enum ctp_source {
	CTP_SOURCE_HOOK = 0,    // its switches were seen
	CTP_SOURCE_SEARCH = 1,  // it was found in the memory of the process
	CTP_SOURCE_PROGRAM = 2, // the program says so, through a header of ctp's
};

// Reasons to suspend that the program can give (include/ctp/coroutine.h names them).
#define CTP_WAITS_REASONS 11u

// Present state of an entity. Finished and destroyed are final; a station
// in a final state is recycled, oldest first.
enum ctp_life {
	CTP_NONE = 0,
	CTP_CREATED = 1,   // never ran
	CTP_SUSPENDED = 2, // saved itself and left
	CTP_RUNNING = 3,   // current on thread `thread`
	CTP_FINISHED = 4,  // returned, or left for good without saving itself
	CTP_DESTROYED = 5, // its stack went away or became another's
};

// How control left one stack for another (records and ctp_state.how).
enum ctp_how {
	CTP_HOW_NONE = 0,
	CTP_HOW_SWAP = 1,     // swapcontext: saved and left
	CTP_HOW_SET = 2,      // setcontext, saved earlier in this slice
	CTP_HOW_GONE = 3,     // setcontext or longjmp without a save: the leaver is finished
	CTP_HOW_RETURN = 4,   // returned through uc_link: the leaver is finished
	CTP_HOW_JUMP = 5,     // longjmp onto another stack, saved earlier in this slice
	CTP_HOW_FCONTEXT = 6, // jump_fcontext (Boost.Context): saved and left
	CTP_HOW_ONTOP = 7,    // ontop_fcontext: the same
	CTP_HOW_RELEASED = 8, // destroy: free or munmap of the stack
	CTP_HOW_REUSED = 9,   // destroy: the stack became another coroutine
};

// ctp_state.flags. The low byte is about the last leave, and set anew by each
#define CTP_STATE_MOREWAITS 0x01u // it waited for more than CTP_WAITS things
#define CTP_STATE_AGAIN 0x02u     // it left from the same stack as the time before: from there it has gone on
#define CTP_STATE_OF_LEAVE 0xffu
#define CTP_STATE_SHARED_STACK 0x100u  // the stack is shared by copying: only `slot` identifies it
#define CTP_STATE_PRIVATE 0x200u       // (guest-private stations only) region was full
#define CTP_STATE_FOREIGN 0x400u       // its creation was not seen: found when it ran
#define CTP_STATE_STACK_FREED 0x800u   // finished, and its stack has been released since
#define CTP_STATE_POOLED 0x1000u       // `called` is a place where it waits for whatever comes
#define CTP_STATE_SINCE_LATEST 0x2000u // `since` is the latest possible time: it was found suspended
#define CTP_STATE_UNREACHED 0x4000u    // beside SINCE_LATEST: nothing led to it then

// How a wait is known; the bits add up.
#define CTP_WAIT_REGISTERED 0x1u // it called epoll_ctl(ADD|MOD, fd) in that slice
#define CTP_WAIT_EAGAIN 0x2u     // its last I/O call in that slice said EAGAIN, or a poll of it alone nothing
#define CTP_WAIT_REFUSED 0x4u    // beside EAGAIN: its epoll_ctl(MOD, fd) in that slice said ENOENT
#define CTP_WAIT_DECLARED 0x8u   // the program says so (include/ctp/coroutine.h)
#define CTP_WAIT_FULL 0x10u      // its last accept of it in that slice found no descriptor free
#define CTP_WAIT_WROTE \
	0x20u // beside EAGAIN and REGISTERED: a write said EAGAIN, and the registration lacks EPOLLOUT

#define CTP_WAITS 4u
struct ctp_wait { // W: guest, under ctp_state.seq
	int32_t fd;
	uint32_t gen;    // fd generation: `fd 7#3` is the third thing called 7
	uint32_t events; // EPOLL* bits waited for
	uint32_t how;    // CTP_WAIT_*
	uint64_t data;   // epoll_data of the registration, if REGISTERED
	int32_t epfd;    // -1 if not REGISTERED
	uint32_t epgen;  // its generation
};

// The registers that a suspended entity needs to go on, as of its return
// from the switch: enough to unwind it from outside (DWARF needs no more).
enum ctp_reg {
	// clang-format off
	CTP_REG_PC, CTP_REG_SP, CTP_REG_FP, // rip rsp rbp | pc sp x29
	CTP_REG_S0, CTP_REG_S1, CTP_REG_S2, CTP_REG_S3, CTP_REG_S4, // rbx r12 r13 r14 r15 | x19 to x23
	// clang-format on
	CTP_REGS
};

// Present state of the entity that owns station i: row i of the table of states.
// W: guest, the thread that runs the entity, under `seq` (seq.h). A switch
// touches lines 0 and 1 only. Seven lines, an odd number: so those of a thousand
// entities do not lie in the same few sets of a cache, and a page holds nine.
struct ctp_state {
	// line 0: what changes at every switch
	union {
		uint64_t turn; // the four below, as one word
		struct {
			uint64_t seq : 5;      // odd = being written; starts anew with each state change
			uint64_t nwaits : 3;   // of waits[], for the last leave
			uint64_t life : 8;     // enum ctp_life
			uint64_t changes : 48; // n: state changes so far (leave or go on); seq in JSON lines
					       // is 2n
		};
	};
	uint64_t id;      // never reused, 1 is the first; below 2^40
	uint64_t since;   // time of the last change, or of creation
	uint64_t slot;    // address of the ucontext_t or jmp_buf it was made in or last saved itself into, or
			  // its fcontext_t
	uint64_t left_to; // address of the ucontext_t that its last swapcontext went to; 0
	uint32_t stack;   // stack id at the last leave; 0 = not captured
	uint32_t how : 8; // enum ctp_how of the last leave or end
	uint32_t flags : 16; // CTP_STATE_*
	uint32_t entity : 8; // enum ctp_entity
	uint32_t thread;     // thread slot where it runs or last ran
	uint32_t station;    // own index
	uint64_t last;       // the guest's own: what its stack was named by when it last left
	// line 1
	uint64_t regs[CTP_REGS]; // of the last leave (or as made: SP, PC)
	// lines 2 and 3
	struct ctp_wait waits[CTP_WAITS];
	// lines 4 to 6: written at creation (W: guest), except as noted
	uint64_t lo, hi;             // the stack [lo, hi); lo = hi: its end is not known; 0, top for natives
	uint64_t entry;              // the function given to makecontext; thread start for natives
	uint64_t created;            // time
	uint64_t creator;            // id
	uint32_t creator_stack;      // stack id
	uint32_t owner;              // enum ctp_owner
	uint64_t block_lo, block_hi; // mmap call that holds the stack, if seen; else 0
	uint64_t link;               // uc_link as of makecontext
	uint64_t guest[11];          // the guest's own; nobody else reads it
	uint64_t tried;  // fd << 32 | generation that last said EAGAIN before it suspended; 0: something was
			 // read or written since. Of a destroyed one: since when it was suspended; 0 = it was
			 // not
	uint32_t called; // stack id from which an event of what it had not asked for resumed it; 0
	uint8_t source;  // enum ctp_source
	uint8_t reason;  // SOURCE_PROGRAM: why it last suspended, as it said: enum ctp_reason; 0
	uint16_t function; // through which it last left: row of the table of switch functions + 1; 0 = an
			   // interposed
	uint64_t made;     // turns of the thread that made it, as of then, and above bit 48 its slot
	uint32_t runs;     // 0 = never ran
	uint8_t late;      // of a `since` without a reading: it left 2^late ticks later at most (late.h)
	uint8_t armed_in;  // the low bits of `changes` when it armed `armed`: the slice
	uint16_t
		armed; // the timerfd that it armed last, and did not disarm: its number + 1, 16 bits; 0: none
};
#define CTP_TURN_SEQ 0x1fu
#define CTP_TURN_WAITS 0xe0u
#define CTP_TURN_LIFE 8
#define CTP_TURN_CHANGES 16

// Version 1's. An entity that the guest owns leaves its own untouched, unless the engine knows version 1
// only.
struct ctp_station {
	uint64_t probe_id; // W: owner
	uint64_t birth_ts; // ns, CLOCK_MONOTONIC
	uint8_t is_dead;
	uint8_t reserved[47];
	struct ctp_slot slots[CTP_SLOTS];
	uint8_t flexible[448];
};

// Descriptors, and the candidates that their ends post
#include "ctp/fd_table.h"

// ------------------------------------------------------ extension: threads

enum ctp_thread_life {
	CTP_THREAD_FREE = 0,  // guest may take it by compare-and-swap to TAKEN
	CTP_THREAD_TAKEN = 1, // being filled in
	CTP_THREAD_LIVE = 2,
	CTP_THREAD_DEAD = 3, // W: guest, at the thread's end; the engine drains the ring, then stores FREE
};

// What a thread is in (ctp_thread.wait_call).
enum ctp_wait_call {
	CTP_IN_NONE = 0,
	CTP_IN_EPOLL = 1,  // epoll_wait, epoll_pwait, epoll_pwait2
	CTP_IN_IO = 2,     // read and its family, accept, connect: may block on wait_fd
	CTP_IN_EXIT = 3,   // waits for the engine's last snapshot
	CTP_IN_POLL = 4,   // poll, ppoll: wait_buf is the pollfd array, wait_fd -1
	CTP_IN_SELECT = 5, // select, pselect: wait_buf is the set to read from, wait_fd the number of bits
	CTP_IN_BLOCK = 6,  // another call that blocks: wait_fd is an enum ctp_block
};

enum ctp_block {
	CTP_BLOCK_SLEEP = 1, // sleep, usleep, nanosleep, clock_nanosleep
	CTP_BLOCK_LOCK = 2,  // pthread_mutex_lock, pthread_rwlock_*: wait_buf is the lock
	CTP_BLOCK_COND = 3,  // pthread_cond_wait, _timedwait, _clockwait
	CTP_BLOCK_SEM = 4,   // sem_wait, sem_timedwait, sem_clockwait
	CTP_BLOCK_JOIN = 5,  // pthread_join
	CTP_BLOCK_CHILD = 6, // wait, waitpid, wait4, waitid
	CTP_BLOCK_NAME = 7,  // getaddrinfo
	CTP_BLOCK_FILE = 8,  // flock
};

// ctp_thread.flags
#define CTP_THREAD_LOOPS \
	0x1u                   // its own stack has slept in poll or select, or anybody here in epoll: what a
			       // coroutine on it does in poll or select is no wait of its loop
#define CTP_THREAD_EVENTS 0x2u // it has signalled events of the program's own

struct ctp_thread {
	// line 0. W: guest, except life's DEAD -> FREE
	uint32_t life; // enum ctp_thread_life
	uint32_t tid;
	uint64_t native;    // entity id of its own stack; 0 = none yet
	uint64_t current;   // entity id that runs on it; 0 = native, not yet named
	uint64_t began;     // time
	uint32_t uses;      // how many threads had this slot before, for stream names
	uint32_t flags;     // CTP_THREAD_*
	char name[16];      // W: engine: the thread's, as of when it was last looked at
	uint64_t time_read; // when its clock was read last, of the times without a reading (late.h); 0
	// line 1: ring, guest's side (ring.h). W: guest
	uint64_t head;  // slots published
	uint64_t lost;  // records dropped: exact
	uint64_t until; // head may go up to here without another look at tail
	uint64_t near;  // CTP_NEAR_*, or as records count ids from (CTP_MARK_NEAR)
	uint64_t reserved1[4];
	// line 2: ring, engine's side. W: engine
	uint64_t tail; // slots taken
	uint64_t reserved2[7];
	// line 3, 4: the harvest/close protocol (spec/cTP.md). W: guest
	uint64_t wait_seq;       // odd = in a wait; changes at every entry and exit
	uint64_t seen;           // ctp_ext.epoch as read before it entered its last wait
	uint32_t wait_call;      // enum ctp_wait_call
	int32_t wait_fd;         // epfd, or the descriptor of the I/O call, or as wait_call says
	int64_t wait_timeout_ns; // -1 = none
	uint64_t wait_buf;       // epoll_event buffer
	uint64_t wait_buf_bytes;
	uint64_t wait_since;          // time of entry
	uint64_t slept_epoch;         // `seen` of the last wait with a timeout other than 0 that it slept in
	uint64_t wait_regs[CTP_REGS]; // caller's registers as of the hook
	// line 5: counters. W: guest
	uint64_t switches;
	uint64_t created, finished, destroyed; // coroutines, by this thread
	uint64_t turns;  // waits of a loop (epoll, poll, select) entered with a timeout other than 0
	uint64_t polls;  // epoll waits entered
	uint64_t passed; // hooks that passed through because one was under way
	uint64_t events; // events returned by epoll waits
	// line 6
	uint64_t hand;    // coroutines resumed after the fd they waited for had ended
	uint64_t reused;  // suspended coroutines whose stack became another's
	uint64_t unknown; // switches to or from a stack that could not be named
	uint64_t sets;    // polls and selects entered with a descriptor in the set
	uint64_t set_sum; // of what the last one was given (polled.h)
	// what a search for pointers must know of it
	uint64_t came_buf,
		came_bytes; // events: where the last came, and how many bytes of it they filled so far
	uint64_t alt_stack; // ss_sp of its last sigaltstack; 0
	uint64_t base;      // its other base register as of its last wait, where the CPU has one; 0
	uint64_t reserved6[7];
};
#define CTP_THREADS_MAX 16384u // in any region; one has room for as many as its rings allow (region.c)
// ctp_thread.near. A reader does not know which coroutine leaves next, or its count: the next switch is
// written in full. TWICE: so is the one after it. W: also another thread, where it resumes what runs here.
#define CTP_NEAR_UNSURE (1ULL << 62)
#define CTP_NEAR_TWICE (1ULL << 63)

// -------------------------------------------------- extension: stacks, modules

// A stack: pcs innermost first. Ids are dense from 1; id i is found through
// the index (stack_index_off): offset in words into the stack words, + 1; 0 =
// not there yet. W: guest; the index entry is stored last (release).
// words[off] = n | flags << 32; words[off + 1 .. off + n] = pcs: return
// addresses (look up pc - 1), but the first word too is a return address.
#define CTP_STACK_GUESSED 0x1u   // at least one frame by frame pointer
#define CTP_STACK_TRUNCATED 0x2u // more than CTP_FRAMES_MAX
#define CTP_FRAMES_MAX 96u
#define CTP_STACKS_MAX (1u << 20) // ids; below 2^20, as records keep 20 bits
#define CTP_STACK_WORDS (8u << 20)

// A mapped object that some pc lay in. W: guest; `ready` last (release).
struct ctp_module {
	uint32_t ready;
	uint32_t build_id_len; // 0 = none
	uint64_t base;         // load bias: pc - base is the address in the file
	uint64_t start, end;   // mapped range
	uint8_t build_id[32];
	char path[440];    // NUL-terminated, absolute where known
	uint32_t since;    // the first stack id that may have frames in it: what dlclose and dlopen
	uint32_t reserved; // put into the range of another is entered again
};
#define CTP_MODULES_MAX 4096u

// A function that switches stacks and is no import of anybody, so that no hook interposes it: it was
// found by its instructions, and patched or left alone.
enum ctp_function_how {
	CTP_FUNCTION_PATCHED = 1,    // its entry leads to a hook
	CTP_FUNCTION_REFUSED = 2,    // its switches are not seen; `reason` says why
	CTP_FUNCTION_INTERPOSED = 3, // as it is, but calls of it come by its name, and are seen
};
enum ctp_function_reason {
	CTP_FUNCTION_WELL = 0,
	CTP_FUNCTION_UNKNOWN = 1,    // its name is known, its code is not
	CTP_FUNCTION_BREAKPOINT = 2, // somebody has put a breakpoint into it
	CTP_FUNCTION_THREADS = 3, // threads were running already, and a jump from it leads into other memory
	CTP_FUNCTION_MEMORY = 4,  // /proc/self/mem could not be written
	CTP_FUNCTION_PART = 5,    // half of a pair is missing
	CTP_FUNCTION_ROOM = 6,    // there were too many
};
struct ctp_switch_function { // W: guest; `ready` last (release)
	uint32_t ready;
	uint16_t how;    // enum ctp_function_how
	uint16_t reason; // enum ctp_function_reason
	uint32_t module; // row of the table of modules
	uint32_t reserved;
	uint64_t addr; // of its first instruction
	uint64_t reserved2;
	char kind[32]; // of which library and release its instructions are: "boost 1.63"; ends with a zero
};
#define CTP_SWITCH_FUNCTIONS_MAX 1024u // the rows that `function` can name are 65,535

// When and where the program allocated the frame of a C++20 coroutine. Frames are looked for in memory: a
// row whose address is no frame's means nothing. Which row: births.h.
struct ctp_birth {        // W: guest; `at` last (release)
	uint64_t at;      // address of the frame; 0 = free, 1 = being written
	uint64_t created; // time
	uint64_t creator; // id of the entity that made it; 0: a thread without one
	uint32_t stack;   // stack id
	uint32_t thread;  // slot
};
#define CTP_BIRTHS_MAX (1u << 21) // a power of two: a row for each 32 bytes of 64 MB

// Frames that operator delete was called for while their coroutines were suspended, and not at their last
// suspension, by their function and where they were created. Clang's code that deletes the frame of a
// coroutine that has ended is counted, too: `pc` lies in its resume function then.
struct ctp_destroyed {   // W: guest; `resume` last (release)
	uint64_t resume; // the first two words of the frames; 0 = free, 1 = being written
	uint64_t destroy;
	uint64_t pc; // to which operator delete returned
	uint64_t count;
	uint64_t longest; // ticks from its birth to then, of the oldest
	uint64_t first;   // time of the first one
	uint32_t stack;   // stack id of their births
	uint32_t by;      // stack id of what deleted the first one
	uint64_t reserved;
};
#define CTP_DESTROYED_MAX 1024u

// A name that the program gave to a coroutine: in the row of the coroutine's station, and its own
// only while `id` is its own. Nobody touches names where the map has no bit: that memory is not there.
#define CTP_NAME_TEXT 48u
struct ctp_name { // W: guest, any thread; seq is taken odd by compare-and-swap
	uint32_t seq;
	uint32_t reserved;
	uint64_t id;              // of the entity
	char text[CTP_NAME_TEXT]; // UTF-8, ends with a zero; empty = none
};
// At names_off: this map, then the names. Bit b: one of the names from b * CTP_NAMES_EACH on was given.
#define CTP_NAMES_EACH 64u
#define CTP_NAMES_MAP_BYTES 8192u

// Incidents, the crash and the rings' records
#include "ctp/records.h"

// Events of the program's own
#include "ctp/events.h"

// The extension descriptor
#include "ctp/ext.h"

struct ctp_header {
	uint64_t magic;           // W: engine
	uint32_t version;         // W: engine
	uint32_t max_stations;    // W: engine
	uint32_t allocated_count; // W: probes and guest, fetch-and-add; may pass max_stations
	uint32_t tracer_sleeping; // version 1's wake-up: our engine leaves it 0
	uint8_t reserved[40];
	struct ctp_ext ext;
	uint8_t reserved2[CTP_HEADER_BYTES - CTP_EXT_OFFSET - sizeof(struct ctp_ext)];
};

#include "ctp/asserts.h"
