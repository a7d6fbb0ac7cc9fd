/* SPDX-License-Identifier: MIT
 *
 * waits.pml - wait_seq, seen and the epoch: does a thread hold an event of a descriptor that was closed?
 *
 * Mirrors: src/preload/hooks/hook.h wait_enter, wait_leave; src/ctp/seq.h ctp_wait_seen, ctp_thread_read,
 * ctp_wait_still; src/preload/hooks/hook_epoll.c poll_enter, poll_leave (poller); src/preload/fds/fds.c fds_ended,
 * fd_candidates.c fd_candidates_epoch, fd_candidates_post (closer); src/engine/inspect/inspect.c inspect_thread, inspect_mark_hooked,
 * flight.c judge_p4, asleep_in_it (engine; spec/cTP.md 2.4).
 *
 * Claims: a poller that passes has no event of the descriptor in its hands, and never will;
 * and what the engine believes an entry to say of a wait (here: one word) is of that very wait.
 *
 * Assumes: x86-TSO. The poller has a store buffer, which is emptied in order, one store at a time, at any
 * moment; its loads go past it. A thread that sleeps in the kernel has been through the scheduler, which
 * empties it. The closer's and the engine's accesses are sequentially consistent: the epoch is raised by a
 * locked instruction, and the engine stores nothing. The kernel's close and its handing out of an event are
 * each of one moment. One poller, with three waits (each passes by itself); a library
 * that switches inside the real call may leave a wait without the hook's second half, and enters the next in it.
 *
 * mutation EPOCH_FIRST: the closer raises the epoch before the kernel has closed the descriptor
 * mutation EPOCH_OFF_BY_ONE: a thread passes with an epoch one less than the close's
 * mutation SEEN_LATE: the poller reads the epoch when the call has returned
 * mutation NO_KERNEL: an odd wait_seq alone says that the thread sleeps
 * mutation CALL_ONLY: that the thread is in the system call is taken for sleep (stopped or traced it may have the event)
 * mutation ONE_LOOK: the engine copies an entry without a look at wait_seq before and after
 * mutation NESTED_STAYS_ODD: a wait within a wait is noted while wait_seq is odd
 */
#define WAITS 3
#define SEEN 0
#define REGS 1
#define SEQ 2

byte epoch;
bool open = true, ready;       /* the descriptor, and that an event is there to be taken */
bool posted;
byte e;                        /* the candidate's epoch */
byte word[3];                   /* the entry, as memory has it */
bool in_call, asleep;
bool hand;            /* ghost: an event is under way to the program */
chan buffer = [4] of { byte, byte };

inline store(at, value)
{
	buffer!at, value
}

active proctype drain() /* the store buffer */
{
	byte at, value;
end:
	do
	:: atomic { buffer?at, value -> word[at] = value; at = 0; value = 0 }
	od
}

active proctype poller()
{
	byte seq, seen, n;
	do
	:: n < WAITS ->
		n++;
		/* wait_enter; seq: what this thread itself stored last */
		if
		:: seq % 2 ->
#ifdef NESTED_STAYS_ODD
			seq = seq + 1
#else
			seq = seq + 1;
			store(SEQ, seq)
#endif
		:: else
		fi;
#ifndef SEEN_LATE
		seen = epoch;
		store(SEEN, seen);
#endif
		store(REGS, seq + 1); /* each wait has words of its own */
		seq = seq + 1;
		store(SEQ, seq);
		/* the real call */
		in_call = true;
		if
		:: atomic { open && ready -> ready = false; hand = true }
		:: true /* nothing is there, and it does not wait */
		:: atomic { empty(buffer) -> asleep = true }
			if
			:: atomic { open && ready -> ready = false; hand = true; asleep = false }
			:: asleep = false /* another event, or its time is over */
			fi
		fi;
		in_call = false;
		/* the second half of the hook */
#ifdef SEEN_LATE
		seen = epoch;
		store(SEEN, seen);
#endif
		if
		:: seq = seq + 1; store(SEQ, seq)
		:: n < WAITS && !hand /* the library has switched away inside the call */
		fi;
		/* the program acts on what came */
		hand = false
	:: else -> break
	od
}

active proctype closer()
{
	ready = true; /* an event, before the close */
#ifdef EPOCH_FIRST
	atomic { epoch++; e = epoch }
	open = false;
#else
	open = false;
	atomic { epoch++; e = epoch }
#endif
	posted = true
}

#ifdef EPOCH_OFF_BY_ONE
#define enough(seen) ((seen) + 1 >= e)
#else
#define enough(seen) ((seen) >= e)
#endif

active proctype engine()
{
	byte a, regs, seen;
	bool sleeps, passes;
	posted;
	/* /proc */
#ifdef NO_KERNEL
	sleeps = true;
#else
#ifdef CALL_ONLY
	sleeps = in_call;
#else
	sleeps = asleep;
#endif
#endif
	/* the copy of the entry, in whatever order */
#ifdef ONE_LOOK
	regs = word[REGS];
	seen = word[SEEN];
	a = word[SEQ];
#else
	a = word[SEQ];
	regs = word[REGS];
	seen = word[SEEN];
	if
	:: word[SEQ] != a -> a = 0; regs = 0; seen = 0 /* nothing is known */
	:: else
	fi;
#endif
	assert(a % 2 == 0 || regs == a);
	passes = enough(seen) || (sleeps && a % 2 && word[SEQ] == a);
	do
	:: assert(!passes || !hand)
	:: break
	od
}
