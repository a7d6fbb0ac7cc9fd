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
#define CTP_STATE_FOREIGN 0x400u       // met, not made: created by means that were not seen
#define CTP_STATE_STACK_FREED 0x800u   // finished, and its stack has been released since
#define CTP_STATE_POOLED 0x1000u       // `called` is a place where it waits for whatever comes
#define CTP_STATE_SINCE_LATEST 0x2000u // `since` is the latest possible time: it was found suspended

// How a wait is known; the bits add up.
#define CTP_WAIT_REGISTERED 0x1u // it called epoll_ctl(ADD|MOD, fd) in that slice
#define CTP_WAIT_EAGAIN 0x2u     // its last I/O call in that slice said EAGAIN, or a poll of it alone nothing

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
	uint64_t lo, hi;             // the stack [lo, hi) as declared; 0, top for natives
	uint64_t entry;              // the function given to makecontext; thread start for natives
	uint64_t created;            // time
	uint64_t creator;            // id
	uint32_t creator_stack;      // stack id
	uint32_t owner;              // enum ctp_owner
	uint64_t block_lo, block_hi; // mmap call that holds the stack, if seen; else 0
	uint64_t link;               // uc_link as of makecontext
	uint64_t guest[11];          // the guest's own; nobody else reads it
	uint64_t tried;  // fd << 32 | generation that last said EAGAIN before it suspended; 0: something was
			 // read or written since
	uint32_t called; // stack id from which an event of what it had not asked for resumed it; 0
	uint8_t source;  // enum ctp_source
	uint8_t reserved;
	uint16_t function; // through which it last left: row of the table of switch functions + 1; 0 = an
			   // interposed
	uint64_t made;     // turns of the thread that made it, as of then, and above bit 48 its slot
	uint64_t runs;     // 0 = never ran
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

// -------------------------------------------------- extension: fd generations

enum ctp_fd_kind { // report.schema.json names them
	CTP_FD_OTHER = 0,
	CTP_FD_FILE,
	CTP_FD_PIPE,
	CTP_FD_TCP,
	CTP_FD_UDP,
	CTP_FD_UNIX,
	CTP_FD_EVENTFD,
	CTP_FD_TIMERFD,
	CTP_FD_SIGNALFD,
	CTP_FD_EPOLL,
};

enum ctp_fd_life { CTP_FD_UNKNOWN = 0, CTP_FD_OPEN = 1, CTP_FD_CLOSED = 2 };

// Which call opened or ended a generation.
enum ctp_fd_call {
	CTP_CALL_NONE = 0, // met: it was there before us, or nobody saw it
	CTP_CALL_OPEN,
	CTP_CALL_SOCKET,
	CTP_CALL_SOCKETPAIR,
	CTP_CALL_ACCEPT,
	CTP_CALL_PIPE,
	CTP_CALL_EVENTFD,
	CTP_CALL_TIMERFD,
	CTP_CALL_SIGNALFD,
	CTP_CALL_EPOLL_CREATE,
	CTP_CALL_DUP,
	CTP_CALL_DUP2,
	CTP_CALL_DUP3,
	CTP_CALL_FCNTL,
	CTP_CALL_FOPEN,
	CTP_CALL_OPENDIR,
	CTP_CALL_CLOSE,
	CTP_CALL_CLOSE_RANGE,
	CTP_CALL_CLOSEFROM,
	CTP_CALL_FCLOSE,
	CTP_CALL_CLOSEDIR,
	CTP_CALL_PCLOSE,
	CTP_CALL_REOPENED, // REOPENED: the number was handed out again, its end went unseen
	CTP_CALL_EPOLL_DEL,
	CTP_CALL_RECVMSG,
	CTP_CALL_POPEN,
};

// ctp_fd.flags
#define CTP_FD_LISTENS 0x1u  // listen() was called on it
#define CTP_FD_MANY 0x2u     // more coroutines waited on it at once than `waiter` holds
#define CTP_FD_MANYREGS 0x4u // registered in more than one epoll set at once
#define CTP_FD_NONBLOCK 0x8u // reads and writes of it return at once, as far as was seen: they are no waits
#define CTP_FD_ROWS 0x10u    // an epoll set in which something has been registered
#define CTP_FD_OWN_SET 0x20u // a timerfd that who made it has set

// In last_in, last_out, closed_owner. An entity without an id: a thread that has never switched.
#define CTP_FD_SEVERAL (1ULL << 63) // others did before
#define CTP_FD_UNNAMED (1ULL << 62) // | thread slot, instead of an id

// One fd number. W: guest, any thread; seq is taken odd by compare-and-swap.
struct ctp_fd {
	uint32_t seq;
	uint32_t gen;       // current or last generation; 0 = never seen
	uint8_t life;       // enum ctp_fd_life
	uint8_t kind;       // enum ctp_fd_kind
	uint8_t opened_how; // enum ctp_fd_call
	uint8_t closed_how; // of the previous or, if life is CLOSED, this generation
	uint32_t flags;     // CTP_FD_*
	uint64_t desc;      // open file description: equal for dups; 1 is the first
	uint64_t peer_desc; // other end of a pipe or socketpair; 0 = none or unknown
	uint64_t opened;    // time
	uint64_t opener;    // entity id
	uint32_t opener_stack;
	int32_t reg_epfd; // the registration made last; -1 = none
	uint64_t leads;   // coroutine that the registration leads to, by where its data points or as
			  // learned: station index << 40 | id; 0 = not known. A hint: near, not proven
	// line 1
	uint32_t reg_events;
	uint32_t reg_epgen; // generation of reg_epfd
	uint64_t reg_data;
	uint64_t reg_by; // entity that called epoll_ctl
	uint64_t reg_time;
	uint64_t waiter[2];  // last to suspend on it for in [0], out [1]: station index << 40 | id
	uint64_t learned;    // entity resumed right after an event of it, alone in its batch; 0
	uint64_t event_time; // last time an epoll_wait returned an event of it; 0
	// line 2
	uint64_t closed; // time
	uint64_t closer; // entity id
	uint32_t closer_stack;
	uint32_t closed_gen;
	uint64_t closed_epoch;
	uint64_t adder;    // last *coroutine* that registered it itself in any slice; 0
	uint64_t polled;   // time when it last stood in a set given to poll or select, for input; 0
	uint64_t last_in;  // entity whose read, recv or accept of it last did not fail, CTP_FD_*; 0
	uint64_t last_out; // the same for write, send; 0
	// line 3
	uint64_t guest[2];      // the guest's own; nobody else reads it
	uint64_t polled_out;    // as polled, for output
	uint64_t stale;         // events that came for generation closed_gen when it had ended
	uint64_t closed_owner;  // whom a registration led to that closed_gen had at its end, or who made it;
				// 0: it had none
	uint64_t closed_desc;   // closed_gen's
	uint32_t learned_stack; // where that stood when an event last resumed it; while `learned` is 0: where
				// its first waiter does
	uint32_t set_stack;     // of a timerfd: where `last_out` called timerfd_settime; 0
	uint64_t herd;          // the guest's own: woken in vain, served, since when (fd_spurious.c)
};
#define CTP_FDS_MAX 1048576u

// --------------------------------------------------- extension: candidates

enum ctp_cand_kind {
	CTP_CAND_CLOSE = 1, // F#g ended while a coroutine may wait on it
	CTP_CAND_DEL = 2,   // EPOLL_CTL_DEL of F under a waiter
	CTP_CAND_SET = 3,   // F is an epoll set, and ended while coroutines wait through it
};

// ctp_cand.ready: EMPTY or FREE -> FILLING (guest, compare-and-swap) -> READY
// (guest, release) -> FREE (engine, release, when nobody waits for it any more).
enum ctp_cand_ready { CTP_CAND_EMPTY = 0, CTP_CAND_READY = 1, CTP_CAND_FREE = 2, CTP_CAND_FILLING = 3 };

// Posted by the closer's hook after the call returned. Candidate i, as counted
// by cand_count, goes into slot i mod cands_max; if that one is neither empty nor
// free, it is lost (CTP_GAP_CANDS). W: guest, except READY -> FREE.
struct ctp_cand {
	uint32_t ready; // enum ctp_cand_ready: READY when the rest may be read
	uint32_t kind;  // enum ctp_cand_kind
	uint64_t time;  // when the call had returned
	uint64_t epoch; // value that the call raised ctp_ext.epoch to
	int32_t fd;
	uint32_t gen;
	uint32_t call;          // enum ctp_fd_call
	uint32_t closer_thread; // thread slot
	uint64_t closer;        // entity id
	uint32_t closer_stack;
	uint32_t fd_kind; // enum ctp_fd_kind
	uint64_t reserved0;
	// line 1: identity of the description, taken before the call
	uint64_t dev, ino;           // fstat(2); 0, 0 if it failed
	uint32_t mode;               // st_mode
	uint32_t name_len;           // of local, peer: address bytes used (0 = none)
	uint8_t local[28], peer[28]; // struct sockaddr_in / _in6, cut at 28 bytes
	uint64_t before;             // time just before the call
	// then: the fd's entry as it was
	struct ctp_fd was;
	uint64_t reserved[13];
};
#define CTP_CANDS_MAX 65536u

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
	0x1u // its own stack has slept in poll or select, or anybody here in epoll: what a
	     // coroutine on it does in poll or select is no wait of its loop

struct ctp_thread {
	// line 0. W: guest, except life's DEAD -> FREE
	uint32_t life; // enum ctp_thread_life
	uint32_t tid;
	uint64_t native;     // entity id of its own stack; 0 = none yet
	uint64_t current;    // entity id that runs on it; 0 = native, not yet named
	uint64_t began;      // time
	uint32_t uses;       // how many threads had this slot before, for stream names
	uint32_t flags;      // CTP_THREAD_*
	char name[16];       // W: engine: the thread's, as of when it was last looked at
	uint64_t time_bound; // ticks: times of its records and states are that much too late at most; 0 =
			     // exact
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
// ctp_thread.near. A reader does not know who leaves next, or with what number: the next switch
// says all. TWICE: and the one after it, too. W: also another thread that enters who runs here.
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
	CTP_FUNCTION_PATCHED = 1, // its entry leads to a hook
	CTP_FUNCTION_REFUSED = 2, // its switches are not seen; `reason` says why
};
struct ctp_switch_function { // W: guest; `ready` last (release)
	uint32_t ready;
	uint16_t how;    // enum ctp_function_how
	uint16_t reason; // 0 = none
	uint32_t module; // row of the table of modules
	uint32_t reserved;
	uint64_t addr;     // of its first instruction
	uint64_t switches; // through it
	char kind[32]; // of which library and release its instructions are: "boost 1.63"; ends with a zero
};
#define CTP_SWITCH_FUNCTIONS_MAX 1024u // the rows that `function` can name are 65,535

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

// -------------------------------------------------- extension: descriptor

#define CTP_EXT_MAGIC 0x0031545845505443ULL // "CTPEXT1"
#define CTP_EXT_VERSION 6u
#define CTP_EXT_VERSION_READ \
	5u // the oldest that is still read: its descriptor ends before `uuid`, all else is as here
#define CTP_EXT_BYTES_READ 768u // of that one
#define CTP_EXT_OFFSET 0x40u

enum ctp_clock { CTP_CLOCK_MONOTONIC = 1, CTP_CLOCK_TSC = 2 }; // ns, or raw TSC

// ctp_ext.options, W: engine before the start
#define CTP_OPT_BLOCK 0x1u   // --overflow=block
#define CTP_OPT_NO_FREE 0x2u // leave `free` alone (libasan in the program)
#define CTP_OPT_SELF 0x4u    // the guest started the engine itself (LD_PRELOAD alone)
#define CTP_OPT_FLIGHT 0x10u // --flight: the rings are a pool of chunks
#define CTP_OPT_FOLLOW 0x8u  // --follow-forks: children ask for regions of their own
#define CTP_OPT_ATTACH 0x20u // reserved: the process ran when the region was made

enum ctp_final { CTP_FINAL_NONE = 0, CTP_FINAL_ASKED = 1, CTP_FINAL_DONE = 2 };

// ctp_ext.gaps, W: guest, set and never cleared: why P0 cannot hold
#define CTP_GAP_STATIONS 0x01u  // no station left: some coroutines are not in the table
#define CTP_GAP_CANDS 0x02u     // a candidate found no free slot
#define CTP_GAP_FDS 0x04u       // an fd number above CTP_FDS_MAX
#define CTP_GAP_THREADS 0x08u   // no thread slot left
#define CTP_GAP_STACKS 0x10u    // stack table full: stacks are missing, nothing else
#define CTP_GAP_URING 0x20u     // io_uring or AIO was set up
#define CTP_GAP_MEMORY 0x40u    // guest memory used up: stacks could not be mapped to coroutines
#define CTP_GAP_BLIND 0x80u     // a signal handler switched away inside a hook: switches were missed
#define CTP_GAP_ATTACHED 0x100u // reserved: what was before `attached` is not known, or was found in memory

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
	uint64_t signal_taken;    // time of the first TERM, INT, HUP, QUIT that a handler took; 0
	uint64_t listener_closed; // time of the last close of a listening fd; 0
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
	uint64_t frames_off;    // reserved: stackless coroutines; 0
	uint64_t events_off;    // reserved: events of the program's own; 0
	uint32_t functions_max, frames_max, events_max;
	uint32_t paused;                               // reserved: 1 while nothing is to be recorded; 0
	uint32_t functions, frames, events, reserved6; // rows used. W: guest
	uint64_t reserved7[14];
};

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
