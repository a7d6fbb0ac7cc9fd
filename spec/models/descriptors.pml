/* SPDX-License-Identifier: MIT
 *
 * descriptors.pml - one descriptor's number: generations, closes that overlap with opens, candidates.
 *
 * Mirrors: src/preload/fds/fds.c ending, mark, unmark, renew, end_unseen, begin (openers), ending_one, ends_here,
 * end_kept, ended_one, fds_ended (closers); src/preload/fds/fd_candidates.c slot, fd_candidates_post;
 * src/engine/suspects/suspects.c add, suspects_release (engine).
 *
 * Claims: a candidate names a generation whose description the kernel has closed, and only such a one is called
 * closed; what a coroutine waited for has a candidate once it is closed, or the region says that one found no
 * place; no generation has two; an end that a hook is under way with is not
 * taken for one that nobody saw; what the engine copies from a slot is one candidate, whole.
 *
 * Assumes: sequential consistency. An entry is written by whoever has taken it (a compare-and-swap, then a
 * release), so that is one step here; `ready` of a slot is stored with release and loaded with acquire. The
 * kernel closes and hands out the number in one step each, and the hooks before and after are steps of their
 * own. Two threads close the number (the second closes what it does not have, or what was opened meanwhile),
 * one opens it; the table has one slot. (With two openers and a thread that closes what neither has been given
 * yet, the openers' hooks may come in the other order, and the table alone says of the later description that it
 * has ended; then the kernel's rows have the last word, which is P3.) Coroutines wait for the first two generations.
 *
 * mutation NO_MARK: an opener takes an end that is under way for one that nobody saw
 * mutation ANY_GENERATION: the second half of a close ends whatever generation stands there
 * mutation READY_FIRST: a slot is called ready before it is filled in
 * mutation NO_FILLING: a slot is filled in without being taken
 */
#define CLOSERS 2
#define OPENERS 1
#define GENERATIONS 8
#define OPEN 1
#define CLOSED 2
#define EMPTY 0
#define READY 1
#define FREE 2
#define FILLING 3

bool kernel_open = true;
byte kernel_object = 1;             /* that the number stands for, or stood for last */
byte gen = 1, life = OPEN, closed_gen; /* the entry */
byte ending_gen, ending_n;          /* its mark */
#define waited(g) ((g) <= 2)
byte under_way[GENERATIONS];        /* ghost: closing calls of a generation */
byte object_of[GENERATIONS];        /* ghost: what the kernel had under the number in this generation; 0: not known */
byte posted[GENERATIONS];           /* ghost: candidates */
bool closed[GENERATIONS];           /* ghost: objects that the kernel has closed */
bool gap;
byte ready, one, two;               /* the slot of the table: its state, and two words of what it says */
byte reads;
byte done;

#define ending (ending_gen == gen && ending_n)

inline renew()
{
	gen++;
	life = OPEN;
	ending_n = 0;
	ending_gen = 0
}

/* fd_candidates_post */
inline post(g)
{
	assert(object_of[g] == 0 || closed[object_of[g]]);
	assert(!posted[g]);
	posted[g]++;
#ifdef NO_FILLING
	is = ready;
	if
	:: is == EMPTY || is == FREE -> got = true
	:: else -> gap = true
	fi;
#else
	atomic {
		if
		:: ready == EMPTY || ready == FREE -> ready = FILLING; got = true
		:: else -> gap = true
		fi
	}
#endif
	if
	:: got ->
#ifdef READY_FIRST
		ready = READY;
#endif
		one = _pid;
		two = _pid;
#ifndef READY_FIRST
		ready = READY;
#endif
		got = false
	:: else
	fi
}

proctype closer()
{
	byte g, keep, is;
	bool was_open, counts, ends, got;
	atomic { /* ending_one */
		g = gen;
		was_open = life == OPEN;
		if
		:: was_open ->
			if
			:: ending_gen != gen -> ending_gen = gen; ending_n = 0
			:: else
			fi;
			ending_n++;
			under_way[g]++;
			if
			:: waited(gen) -> keep = gen
			:: else
			fi
		:: else
		fi
	}
	atomic { /* the call */
		counts = kernel_open;
		if
		:: kernel_open -> kernel_open = false; closed[kernel_object] = true
		:: else
		fi
	}
	atomic { /* ended_one */
		if
		:: g == gen && was_open && ending -> ending_n--
		:: else
		fi;
		if
		:: was_open -> under_way[g]--
		:: else
		fi;
		if
		:: !counts -> ends = false
#ifdef ANY_GENERATION
		:: counts && g != gen -> g = gen; ends = true
#else
		:: counts && g != gen -> ends = was_open && closed_gen != g
#endif
		:: counts && g == gen && was_open -> ends = life == OPEN
		:: counts && g == gen && !was_open -> renew(); g = gen; ends = true
		fi;
		if
		:: ends ->
			if
			:: !keep && g == gen && waited(gen) -> keep = gen
			:: else
			fi;
			if
			:: g == gen || closed_gen < g ->
				if
				:: g == gen -> life = CLOSED; assert(!object_of[g] || closed[object_of[g]])
				:: else
				fi;
				closed_gen = g
			:: else
			fi
		:: else
		fi
	}
	if
	:: ends && keep -> post(keep)
	:: else
	fi;
	done++
}

proctype opener()
{
	byte keep, is, object;
	bool got;
	if
	:: atomic { !kernel_open -> kernel_open = true; kernel_object++; object = kernel_object } /* the lowest number that is free */
	:: true -> goto none /* another one is */
	fi;
	atomic { /* begin */
		if
#ifdef NO_MARK
		:: life == OPEN ->
#else
		:: life == OPEN && !ending ->
#endif
			if
			:: waited(gen) -> keep = gen /* end_unseen */
			:: else
			fi;
			assert(!under_way[gen]);
			closed_gen = gen
		:: else
		fi;
		renew();
		object_of[gen] = object
	}
	if
	:: keep -> post(keep)
	:: else
	fi;
none:
	done++
}

active proctype engine()
{
	byte a, b;
	do
	:: ready == READY ->
		a = one;
		b = two;
		assert(a == b && a);
		reads++;
		one = 0; two = 0; /* ghost: what is read again would be seen */
		ready = FREE
	:: done == CLOSERS + OPENERS && ready != READY -> break
	od;
	assert(!closed[1] || posted[1])
}

init
{
	atomic {
		object_of[1] = 1;
		run closer(); run closer(); run opener()
	}
}
