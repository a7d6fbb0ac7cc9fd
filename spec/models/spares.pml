/* SPDX-License-Identifier: MIT
 *
 * spares.pml - a word `spare`: a forked child takes a region that the engine made before, and waits for nobody.
 *
 * Mirrors: src/preload/guest/region_request.c take_spare, region_request_spare; src/engine/start/spares.c spares_offer,
 * spares_taken; src/engine/session/session.c session_offer_spares (spec/cTP.md, "Attaching").
 *
 * Claims: no region is written by two processes, nor after the engine has given it back; the engine follows each
 * region that is written, and offers no such region again; a process that dies at any moment, or that could not map
 * the region, leaves it to the others.
 *
 * Assumes: sequential consistency (every change of the word but the offer is a compare-and-swap, and only the engine
 * offers; the system calls that open and map a descriptor are barriers). The engine's second may be over at any
 * moment. Descriptor numbers are used again, lowest first, so an offer that was read long ago can name a new
 * region. Two processes, two attempts of each, one of them may die.
 *
 * mutation NO_LAST_SWAP: the guest writes the region without looking whether it was taken back
 * mutation TAKES_BACK_BY_STORE: the engine takes the region back by a store
 * mutation OFFERS_AGAIN: the engine offers a region again that was mapped by who has died since
 */
#define PROCS 2
#define ATTEMPTS 2
#define FDS 3
#define REGIONS 6
#define SPARE(p, a) (((p) + 1) + 16 * (a)) /* p = -1: to be had */
#define PID(word) ((word) % 16 - 1)
#define ANSWER(word) ((word) / 16)

byte spare;
byte fd_region[FDS];       /* the engine's descriptors: region + 1 */
byte owner[FDS];           /* whom the engine follows in it: process + 1 */
byte written_by[REGIONS];  /* ghost: process + 1 */
bool gone[REGIONS];        /* given back */
byte regions;
bool dead[PROCS];
byte ended;
bool a_death;

#define dies() atomic { !a_death -> a_death = true; goto killed }

proctype guest(byte p)
{
	byte word, mapped, n;
	bool ours;
	do
	:: n < ATTEMPTS ->
		n++;
		word = spare;
		if
		:: ANSWER(word) == 0 || word % 16 -> goto next /* there is none: asks by the other word */
		:: else
		fi;
		atomic {
			ours = spare == word;
			if
			:: ours -> spare = SPARE(p, ANSWER(word))
			:: else
			fi
		}
		if
		:: !ours -> goto next
		:: dies()
		:: ours
		fi;
		mapped = fd_region[ANSWER(word) - 1]; /* /proc/ENGINE/fd/NUMBER, as it is now; 0: it is closed */
		if
		:: true
		:: mapped = 0 /* no room in its memory */
		:: dies()
		fi;
#ifdef NO_LAST_SWAP
		ours = true;
		spare = (mapped -> SPARE(p, 0) : SPARE(-1, ANSWER(word)));
#else
		atomic {
			ours = spare == SPARE(p, ANSWER(word));
			if
			:: ours -> spare = (mapped -> SPARE(p, 0) : SPARE(-1, ANSWER(word)))
			:: else
			fi
		}
#endif
		if
		:: mapped && ours ->
			atomic {
				assert(!gone[mapped - 1] && !written_by[mapped - 1]);
				written_by[mapped - 1] = p + 1
			}
			goto killed /* it has its region, and ends with it some time */
		:: else
		fi;
next:
		atomic { mapped = 0; word = 0; ours = false }
	:: dies()
	:: n == ATTEMPTS -> break
	od;
killed:
	atomic { dead[p] = true; ended++ }
}

active proctype engine()
{
	byte word, f, it; /* it: the descriptor that is offered, + 1 */
	do
	/* session_offer_spares */
	:: atomic {
			!it && regions < REGIONS ->
			f = 0;
			do
			:: f < FDS && fd_region[f] -> f++
			:: else -> break
			od;
			if
			:: f < FDS -> regions++; fd_region[f] = regions; it = f + 1
			:: else
			fi;
			f = 0
		}
		if
		:: it -> spare = SPARE(-1, it)
		:: else
		fi
	/* spares_taken: mapped, and followed from here on */
	:: atomic { it && spare % 16 && ANSWER(spare) == 0 -> word = spare }
#ifdef OFFERS_AGAIN
		if
		:: dead[PID(word)] -> spare = SPARE(-1, it); word = 0
		:: else -> owner[it - 1] = PID(word) + 1; it = 0; word = 0
		fi
#else
		atomic { owner[it - 1] = PID(word) + 1; it = 0; word = 0 }
#endif
	/* its second is over, or it has died */
	:: atomic { it && spare % 16 && ANSWER(spare) != 0 -> word = spare }
#ifdef TAKES_BACK_BY_STORE
		spare = SPARE(-1, it);
		word = 0
#else
		atomic {
			if
			:: spare == word -> spare = SPARE(-1, it)
			:: else
			fi;
			word = 0
		}
#endif
	/* the process that it follows has ended: the region is written to the trace, and given back */
	:: atomic {
			(owner[0] && dead[owner[0] - 1]) || (owner[1] && dead[owner[1] - 1]) || (owner[2] && dead[owner[2] - 1]) ->
			f = (owner[0] && dead[owner[0] - 1] -> 0 : (owner[1] && dead[owner[1] - 1] -> 1 : 2));
			assert(!written_by[fd_region[f] - 1] || written_by[fd_region[f] - 1] == owner[f]);
			gone[fd_region[f] - 1] = true;
			fd_region[f] = 0;
			owner[f] = 0;
			f = 0
		}
	:: ended == PROCS && !owner[0] && !owner[1] && !owner[2] && it && spare == SPARE(-1, it) ->
		/* what is still offered was written by nobody */
		assert(!written_by[fd_region[it - 1] - 1]);
		break
	:: ended == PROCS && !it && regions == REGIONS && !owner[0] && !owner[1] && !owner[2] -> break
	od
}

init { atomic { run guest(0); run guest(1) } }
