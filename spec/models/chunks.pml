/* SPDX-License-Identifier: MIT
 *
 * chunks.pml - the pool of chunks that --flight makes of the rings: two threads write, one reader copies.
 *
 * Mirrors: src/preload/guest/emit.c next_chunk, emit_end, make_room; src/ctp/chunk.h ctp_chunk_end, ctp_chunk_take
 * (writer), ctp_chunk_look, ctp_chunk_read, ctp_chunk_is (reader); src/ctp/ring.h ctp_ring_publish.
 *
 * Claims: a reader that takes a copy for good has slots of the thread that the chunk names, with the
 * numbers that it names, and none of an older lap; a thread writes only in a chunk that it has taken.
 *
 * Assumes: sequential consistency. Each writer's stores are seen in their order (x86-TSO; elsewhere by the
 * release stores and the fence in ctp_chunk_take), and what it loads of others it loads by a locked
 * instruction, so a store buffer only moves its stores to a later time. The reader stores nothing.
 * A chunk has two slots, a record one or two; one thread makes three records, the other one, the reader tries twice.
 *
 * mutation NO_LOOK_AFTER_HEAD: ctp_chunk_look takes the thread's head without another look at seq
 * mutation NO_LOOK_AFTER_COPY: ctp_chunk_read does not look at seq again
 * mutation READY_FIRST: ctp_chunk_take stores ready before it says whose chunk it is
 * mutation EVEN_BEFORE_USED: ctp_chunk_end makes seq even before it stores used
 */
#define WRITERS 2
#define CHUNKS 2
#define SLOTS 2
#define RECORDS(w) (3 - 2 * w)
#define NONE 255
#define TAG(w, n) ((w) * 16 + (n) + 1)

byte seq[CHUNKS], ready[CHUNKS], first[CHUNKS], thread[CHUNKS], used[CHUNKS];
byte slot[CHUNKS * SLOTS];
byte head[WRITERS];
byte next;
byte owner[CHUNKS] = NONE; /* ghost */

/* Each atomic is one access to what is shared (or to words of which a later store says that they are there), with
 * what follows from it for the thread alone. */
inline end_chunk()
{
#ifdef EVEN_BEFORE_USED
	atomic { seq[mine]++; owner[mine] = NONE }
	used[mine] = h - from;
#else
	used[mine] = h - from;
	atomic { seq[mine]++; owner[mine] = NONE }
#endif
	mine = NONE
}

inline take_chunk()
{
	do
	:: atomic { tries < CHUNKS && mine == NONE -> tries++; i = next; next = (next + 1) % CHUNKS }
		atomic {
			if
			:: seq[i] % 2 == 0 -> seq[i] = seq[i] + 1; owner[i] = w; mine = i /* compare-and-swap */
			:: else
			fi
		}
	:: atomic { else -> tries = 0; i = 0; break }
	od;
	if
	:: mine != NONE ->
#ifdef READY_FIRST
		ready[mine] = seq[mine];
#endif
		atomic { first[mine] = to; thread[mine] = w }
#ifndef READY_FIRST
		ready[mine] = seq[mine]
#endif
	:: else
	fi
}

proctype writer(byte w)
{
	/* mine: guest.chunk; ring: the chunk that guest.ring leads to; until: ctp_thread.until */
	byte h, n, records, mine = NONE, ring = NONE, from, to, until, i, tries;
	bool unsure;
	do
	:: atomic {
			records < RECORDS(w) ->
			records++;
			if
			:: !unsure -> n = 1
			:: n = 2
			fi;
			to = ((h + SLOTS - 1) / SLOTS) * SLOTS
		}
		if
		:: h + n > until ->
			if
			:: mine != NONE -> end_chunk()
			:: else
			fi;
			take_chunk();
			atomic {
				if
				:: mine != NONE -> ring = mine; from = to; h = to; until = to + SLOTS; head[w] = h
				:: else -> n = 0; unsure = true /* dropped; the next record takes two slots */
				fi
			}
		:: else
		fi;
		if
		:: n > 0 ->
			atomic {
				assert(owner[ring] == w);
				slot[ring * SLOTS + h % SLOTS] = TAG(w, h);
				if
				:: n == 2 -> slot[ring * SLOTS + (h + 1) % SLOTS] = TAG(w, h + 1)
				:: else
				fi;
				h = h + n;
				unsure = false
			}
			head[w] = h
		:: else
		fi
	:: atomic { else -> n = 0; to = 0; break }
	od;
	if
	:: mine != NONE -> end_chunk() /* the thread ends */
	:: else
	fi;
	atomic { h = 0; from = 0; until = 0; ring = NONE; records = 0; unsure = false }
}

/* Of the other chunk the same is true. */
#define C 0
active proctype reader()
{
	byte s, taken, f, t, u, k, tries;
	bool got;
	byte copy[SLOTS];
	/* ctp_chunk_look */
	do
	:: atomic { tries < 2 && !got -> tries++; s = seq[C]; taken = (s % 2 -> s : s - 1) }
		if
		:: s == 0 || ready[C] != taken -> goto again
		:: else
		fi;
		atomic { f = first[C]; t = thread[C]; u = used[C] }
		if
		:: s % 2 ->
			atomic { k = head[t]; u = ((k >= f && k - f <= SLOTS) -> k - f : SLOTS + 1); k = 0 }
#ifndef NO_LOOK_AFTER_HEAD
			if
			:: seq[C] != taken -> goto again
			:: else
			fi
#endif
		:: else
		fi;
		atomic { got = (seq[C] == taken || seq[C] == taken + 1) && u <= SLOTS }
again:
		atomic { s = 0; if :: !got -> f = 0; t = 0; u = 0; taken = 0 :: else fi }
	:: atomic { else -> tries = 0; break }
	od;
	/* ctp_chunk_read */
	if
	:: got ->
		do
		:: atomic { k < u -> copy[k] = slot[C * SLOTS + k]; k++ }
		:: atomic { else -> k = 0; break }
		od;
#ifndef NO_LOOK_AFTER_COPY
		atomic { got = seq[C] == taken || seq[C] == taken + 1 }
#endif
		do
		:: atomic { got && k < u -> assert(copy[k] == TAG(t, f + k)); k++ }
		:: else -> break
		od
	:: else
	fi
}

init { atomic { run writer(0); run writer(1) } }
