/* SPDX-License-Identifier: MIT
 *
 * ask.pml - the word `ask`: processes that need a region of their own ask the engine through the first one.
 *
 * Mirrors: src/preload/guest/region_request.c take_turn, wait_for_engine, give_turn, region_request; src/engine/session/follow.c
 * follow_answer, begin_child, put_ask, take_back, follow_gone, close_child (spec/cTP.md, "Attaching").
 *
 * Claims: no region is written by two processes, nor by one for which the engine did not make it, nor after
 * the engine has given it back; a process that gives up, or dies at any moment, leaves the word to the others.
 *
 * Assumes: sequential consistency (every access to the word is a compare-and-swap or a load that one follows;
 * the system calls that open and map a descriptor are barriers). Time-outs may come at any moment: the guest's,
 * the engine's second, and the engine's look at who has died. Descriptor numbers are used again, lowest first,
 * so an old answer can name a new region. Two processes, two requests of each, one of them may die.
 *
 * mutation NO_LAST_SWAP: the guest writes the region without looking whether its answer was taken back
 * mutation TAKES_BACK_BY_STORE: the engine takes an answer back by a store
 * mutation DROPS_FIRST: the engine drops the region before it takes the answer back
 */
#define PROCS 2
#define REQUESTS 2
#define FDS 2
#define REGIONS 8
#define REFUSED 15
#define ASK(p, a) (((p) + 1) + 16 * (a))
#define PID(word) ((word) % 16 - 1)
#define ANSWER(word) ((word) / 16)

byte ask;
byte fd_region[FDS];       /* the engine's descriptors: region + 1 */
byte fd_of[PROCS];         /* of the process's region, + 1; 0: it has none */
bool used[PROCS];          /* guest_pid was stored in the region that it has */
byte made_for[REGIONS];    /* process + 1 */
bool gone[REGIONS];        /* given back */
byte written_by[REGIONS];  /* ghost: process + 1 */
byte regions;
bool dead[PROCS];
byte ended;
bool a_death;

/* A region of the guest's own is mapped: it begins to write there. */
inline write(r)
{
	assert(!gone[r] && made_for[r] == p + 1 && !written_by[r]);
	written_by[r] = p + 1;
	used[p] = true
}

inline drop(q) /* session_drop: the descriptor is closed */
{
	if
	:: fd_of[q] -> gone[fd_region[fd_of[q] - 1] - 1] = true; fd_region[fd_of[q] - 1] = 0; fd_of[q] = 0; used[q] = false
	:: else
	fi
}

#define dies() atomic { !a_death -> a_death = true; goto killed }

proctype guest(byte p)
{
	byte word, mapped, n;
	bool ours;
	do
	:: n < REQUESTS ->
		n++;
		/* take_turn */
		if
		:: atomic { ask == 0 -> ask = ASK(p, 0) }
		:: goto next /* no turn came */
		fi;
		/* wait_for_engine: until another word stands there, or for so long */
		if
		:: ask != ASK(p, 0)
		:: true
		:: dies()
		fi;
		word = ask;
		if
		:: word == 0 || PID(word) != p -> goto next /* it was given up */
		:: else
		fi;
		if
		:: ANSWER(word) == 0 || ANSWER(word) == REFUSED -> /* give_turn */
			atomic {
				if
				:: ask == word -> ask = 0
				:: else
				fi
			}
			goto next
		:: else
		fi;
		mapped = fd_region[ANSWER(word) - 1]; /* /proc/ENGINE/fd/NUMBER, as it is now; 0: it is closed */
		if
		:: true
		:: dies()
		fi;
#ifdef NO_LAST_SWAP
		ours = true;
		atomic {
			if
			:: ask == word -> ask = 0
			:: else
			fi
		}
#else
		atomic {
			ours = ask == word;
			if
			:: ours -> ask = 0
			:: else
			fi
		}
#endif
		if
		:: mapped && ours -> atomic { write(mapped - 1) }
		:: else
		fi;
next:
		atomic { mapped = 0; word = 0; ours = false }
	:: dies()
	:: n == REQUESTS -> break
	od;
killed:
	atomic { dead[p] = true; ended++ }
}

inline lowest_fd()
{
	f = 0;
	do
	:: f < FDS && fd_region[f] -> f++
	:: else -> break
	od
}

active proctype engine()
{
	byte word, p, f;
	do
	/* follow_answer */
	:: atomic { ask != 0 && ANSWER(ask) == 0 -> word = ask; p = PID(word) }
		atomic { /* next_image: what it had before has ended with its image; begin_child */
			if
			:: fd_of[p] -> drop(p)
			:: else
			fi;
			lowest_fd();
			if
			:: f < FDS && regions < REGIONS && !dead[p] ->
				made_for[regions] = p + 1;
				regions++;
				fd_region[f] = regions;
				fd_of[p] = f + 1;
				f = f + 1
			:: else -> f = REFUSED
			fi
		}
		atomic { /* put_ask */
			if
			:: ask == word -> ask = ASK(p, f)
			:: else
			fi;
			f = 0; word = 0
		}
	/* take_back, after a second */
	:: atomic { ask != 0 && ANSWER(ask) != 0 -> word = ask; p = PID(word) }
#ifdef DROPS_FIRST
		atomic {
			if
			:: !used[p] -> drop(p)
			:: else
			fi
		}
#endif
#ifdef TAKES_BACK_BY_STORE
		atomic { ask = 0; f = 1 }
#else
		atomic {
			f = (ask == word -> 1 : 0);
			if
			:: f -> ask = 0
			:: else
			fi
		}
#endif
		atomic {
			if
			:: f && !used[p] && ANSWER(word) != REFUSED -> drop(p)
			:: else
			fi;
			f = 0; word = 0
		}
	/* reap_ended: close_child, follow_gone */
	:: atomic {
			(dead[0] && (fd_of[0] || PID(ask) == 0)) || (dead[1] && (fd_of[1] || PID(ask) == 1)) ->
			p = (dead[0] && (fd_of[0] || PID(ask) == 0) -> 0 : 1);
			word = ask
		}
		atomic {
			if
			:: word && PID(word) == p && ask == word -> ask = 0
			:: else
			fi;
			word = 0;
			drop(p)
		}
	:: ended == PROCS && ask == 0 && !fd_of[0] && !fd_of[1] -> break
	od
}

init { atomic { run guest(0); run guest(1) } }
