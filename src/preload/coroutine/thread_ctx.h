// SPDX-License-Identifier: MIT
//
// thread_ctx.h - what the assembly code knows of the structures in C: offsets in bytes, and
// values. Asserted in thread_ctx.c.
#pragma once

// struct thread_ctx
#define CTX_GUARD 0
#define CTX_HOOK 4
#define HOOK_HELD 1 // a bit that no stack pointer has
#define CTX_CURRENT 8
#define CTX_SLICE 16
#define CTX_KEEPS (CTX_SLICE + 3)
#define SLICE_KEEPS 0x1000000 // that alone
#define CTX_THREAD 24
#define CTX_RING 32
#define CTX_RING_MASK 40
#define CTX_STACK_TOP 56
#define CTX_PC 64
#define CTX_SP 72
#define CTX_FP 80
#define CTX_S0 88
#define CTX_S1 96
#define CTX_S2 104
#define CTX_S3 112
#define CTX_S4 120
#define CTX_LOST 128
#define CTX_GAPS 136
#define CTX_SAVED_SLOT 144
#define CTX_SAVED_PC 152
#define CTX_SAVED_SP 160
#define CTX_SAVED_FP 168
#define CTX_SAVED_S0 176
#define CTX_SAVED_S1 184
#define CTX_SAVED_S2 192
#define CTX_SAVED_S3 200
#define CTX_SAVED_S4 208
#define CTX_KEPT 216 // as from CTX_SAVED_SLOT to here
#define CTX_VFORK_PC 288
#define CTX_ARGUMENT 296
#define CTX_CANDIDATE 304
#define CTX_DEPTH 312
#define CTX_SITES 320
#define CTX_SAVES_AT 328
#define CTX_INSTANCE 336
#define CTX_FIRST 344
#define CTX_FOURTH 352
#define CTX_CLOCK_MASK 360
#define CTX_CLOCK_NEXT 364
#define CTX_CLOCK 368
#define CTX_WINDOW 376
#define CTX_SLOT 504
#define CLOCK_WINDOW 4000

// handle_cache_table. Slots mostly lie at equal distances, pages or powers of two: searched for so that
// no pair gets a third, for 10,000 in 16,384 places at 37 such distances.
#define HANDLE_CACHE_FACTOR 0x195B5E99
#define HANDLE_CACHE_SHIFT 22

// struct ctp_state
#define STATE_TURN 0
#define STATE_ID 8
#define STATE_SINCE 16
#define STATE_SLOT 24
#define STATE_LEFT_TO 32
#define STATE_STACK 40
#define STATE_HOW 44 // and behind it the low byte of flags
#define STATE_THREAD 48
#define STATE_LAST 56
#define STATE_PC 64
#define STATE_SP 72
#define STATE_FP 80
#define STATE_S0 88
#define STATE_S1 96
#define STATE_S2 104
#define STATE_S3 112
#define STATE_S4 120
#define STATE_LO 256
#define STATE_OTHER 336
#define STATE_OTHER_SP 344
#define STATE_TOP 352
#define TURN_SUSPENDED 0x200 // low 16 bits: suspended, without waits
#define TURN_RUNNING 0x300
#define TURN_CHANGE 0x10000
#define TURN_CHANGE_BIT 16
#define TURN_TOLD_LOW \
	0xfffe0000 // what of CTP_TOLD_MASK lies in the low half of `turn`: 0 if a count is to be told
#define HOW_SWAP 1
#define HOW_JUMP 5
#define HOW_FCONTEXT 6
#define HOW_ONTOP 7
#define HOW_AGAIN 0x200            // beside how, the flag
#define HOW_SHARED (STATE_HOW + 2) // CTP_STATE_SHARED_STACK is its lowest bit

// struct candidate; where those of a key begin (stacks.h); what is known of a stack
#define CANDIDATE_NEXT 0
#define CANDIDATE_DEPTH 8
#define CANDIDATE_PC 16
#define CANDIDATE_FP_VAL 24
#define CANDIDATE_STACK 32
#define CANDIDATE_FP 36
#define CANDIDATE_PLAIN 48
#define CANDIDATE_LAST_ABSOLUTE 56
#define CANDIDATE_LAST 60
#define CANDIDATE_CHECKS 64
#define CHECK_BYTES 16
#define STACKS_FACTOR 0x9E3779B97F4A7C15 // as a uint64_t
#define STACKS_SHIFT 49
#define STACKS_DEPTH_SHIFT 20
#define SITE_SHIFT 4 // struct ctp_site
#define SITE_RESUMED 8

// struct ctp_thread, and a record
#define THREAD_NATIVE 8
#define THREAD_CURRENT 16
#define THREAD_TIME_READ 56
#define THREAD_HEAD 64
#define THREAD_UNTIL 80
#define THREAD_NEAR 88
#define THREAD_SWITCHES 0x140
#define RECORD_SHORT 16
#define RECORD_TO_BITS 22
#define RECORD_STACK_BITS 20
#define RECORD_NATIVE 0x3fffff
#define RECORD_ID_BITS 40
