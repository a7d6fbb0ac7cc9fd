// SPDX-License-Identifier: MIT
//
// fd_table.h - the part of the layout that says what each descriptor is: its generations, its
// registrations and who waits for it, and the candidates, which are posted where a descriptor ends under
// a waiter. The conventions are those of ctp.h. Only ctp.h includes it.
#pragma once

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
	CTP_CALL_NONE = 0, // found open: it was there before us, or no hook saw it
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
	CTP_CALL_EPOLL_MOD, // no end: the interest in what a waiter waits for went
};

// ctp_fd.flags
#define CTP_FD_LISTENS 0x1u   // listen() was called on it
#define CTP_FD_MANY 0x2u      // more coroutines waited on it at once than `waiter` holds
#define CTP_FD_MANYREGS 0x4u  // registered in more than one epoll set at once
#define CTP_FD_NONBLOCK 0x8u  // reads and writes of it return at once, as far as was seen: they are no waits
#define CTP_FD_ROWS 0x10u     // an epoll set in which something has been registered
#define CTP_FD_OWN_SET 0x20u  // a timerfd that who made it has set
#define CTP_FD_PAUSED 0x40u   // interest in it was taken away under a waiter, with no event since that waited
#define CTP_FD_RESTORED 0x80u // and was once given back, while that still waited
#define CTP_FD_REFUSED \
	0x100u // it was in no set when somebody modified its registration (ENOENT), nor is since
#define CTP_FD_TAUGHT \
	0x200u // registered again with the same data, which leads nowhere: `leads` is whom its events resumed
#define CTP_FD_DUPED 0x400u // it has, or had, another number, and is no connection: they share a herd
#define CTP_FD_WROTE 0x800u // a wait for it had CTP_WAIT_WROTE

// ctp_fd.latest
#define CTP_FD_READ_LAST 1u // or accepted from; the end of the stream is none
#define CTP_FD_WRITTEN_LAST 2u

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
	uint16_t flags;     // CTP_FD_*
	uint8_t latest;   // of the calls that did not fail: CTP_FD_READ_LAST or CTP_FD_WRITTEN_LAST; 0: none
	uint8_t reserved; // 0
	uint64_t desc;    // open file description: equal for dups; 1 is the first
	uint64_t peer_desc; // other end of a pipe or socketpair; 0 = none or unknown
	uint64_t opened;    // time
	uint64_t opener;    // entity id
	uint32_t opener_stack;
	int32_t reg_epfd; // the registration made last; -1 = none
	uint64_t leads;   // coroutine that the registration leads to, by where its data points or as
			  // learned: station index << 40 | id; 0 = not known. A hint: near, not proven
	// line 1
	uint32_t reg_events; // as given to epoll_ctl; see CTP_REG_EVENTS
	uint32_t reg_epgen;  // generation of reg_epfd
	uint64_t reg_data;
	uint64_t reg_by; // entity that called epoll_ctl, and when; also where it was refused (CTP_FD_REFUSED)
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
// The events of a registration, without the bits that say how it reports them (Linux calls the others
// EP_PRIVATE_BITS). A one-shot that fired has none of them left: the kernel brings its data to nobody.
#define CTP_REG_EVENTS 0x0fffffffu

// --------------------------------------------------- extension: candidates

enum ctp_cand_kind {
	CTP_CAND_CLOSE = 1, // F#g ended while a coroutine may wait on it
	CTP_CAND_DEL = 2,   // EPOLL_CTL_DEL of F under a waiter, or EPOLL_CTL_MOD to a mask without what it
			    // waits for (`call` says which)
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
