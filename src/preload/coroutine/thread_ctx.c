// SPDX-License-Identifier: MIT
//
// Asserts what thread_ctx.h tells the assembly code. Bit-fields have no offset: a unit test
// checks where those of a state are.
#include "preload/coroutine/thread_ctx.h"

#include "ctp/late.h"
#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/stacks.h"
#include "preload/guest/switcher.h"

#define IS(type, field, off) _Static_assert(offsetof(struct type, field) == (off), #type "." #field)

IS(thread_ctx, guard, CTX_GUARD);
IS(thread_ctx, hook, CTX_HOOK);
_Static_assert(CTX_HOOK == CTX_GUARD + 4, "one store frees the guard and forgets the hook");
IS(thread_ctx, slot, CTX_SLOT);
IS(thread_ctx, current, CTX_CURRENT);
IS(thread_ctx, slice, CTX_SLICE);
IS(thread_ctx, keeps, CTX_KEEPS);
IS(thread_ctx, thread, CTX_THREAD);
IS(thread_ctx, ring, CTX_RING);
IS(thread_ctx, ring_mask, CTX_RING_MASK);
IS(thread_ctx, stack_top, CTX_STACK_TOP);
IS(thread_ctx, regs[CTP_REG_PC], CTX_PC);
IS(thread_ctx, regs[CTP_REG_SP], CTX_SP);
IS(thread_ctx, regs[CTP_REG_FP], CTX_FP);
IS(thread_ctx, regs[CTP_REG_S0], CTX_S0);
IS(thread_ctx, regs[CTP_REG_S4], CTX_S4);
IS(thread_ctx, lost, CTX_LOST);
IS(thread_ctx, gaps, CTX_GAPS);
IS(thread_ctx, saved_slot, CTX_SAVED_SLOT);
IS(thread_ctx, saved[CTP_REG_PC], CTX_SAVED_PC);
IS(thread_ctx, saved[CTP_REG_FP], CTX_SAVED_FP);
IS(thread_ctx, saved[CTP_REG_S1], CTX_SAVED_S1);
IS(thread_ctx, saved[CTP_REG_S3], CTX_SAVED_S3);
IS(thread_ctx, saved[CTP_REG_S4], CTX_SAVED_S4);
IS(thread_ctx, kept_slot, CTX_KEPT);
IS(thread_ctx, vfork_pc, CTX_VFORK_PC);
IS(thread_ctx, argument, CTX_ARGUMENT);
IS(thread_ctx, candidate, CTX_CANDIDATE);
IS(thread_ctx, depth, CTX_DEPTH);
IS(thread_ctx, sites, CTX_SITES);
IS(thread_ctx, saves_at, CTX_SAVES_AT);
IS(thread_ctx, instance, CTX_INSTANCE);
IS(thread_ctx, first, CTX_FIRST);
IS(thread_ctx, fourth, CTX_FOURTH);
IS(thread_ctx, clock_mask, CTX_CLOCK_MASK);
IS(thread_ctx, clock_next, CTX_CLOCK_NEXT);
IS(thread_ctx, clock, CTX_CLOCK);
IS(thread_ctx, window, CTX_WINDOW);
_Static_assert(CLOCK_WINDOW + 2 * GUEST_WINDOW <= CTP_LATE_TICKS, "a window that is not long");
IS(switcher, entry, SWITCHER_ENTRY);
IS(switcher, real, SWITCHER_REAL);
IS(switcher, bytes, SWITCHER_BYTES);
IS(switcher, sp_at, SWITCHER_SP_AT);

IS(ctp_state, turn, STATE_TURN);
IS(ctp_state, id, STATE_ID);
IS(ctp_state, since, STATE_SINCE);
IS(ctp_state, slot, STATE_SLOT);
IS(ctp_state, left_to, STATE_LEFT_TO);
IS(ctp_state, stack, STATE_STACK);
_Static_assert(STATE_HOW == STATE_STACK + 4, "how");
IS(ctp_state, thread, STATE_THREAD);
IS(ctp_state, last, STATE_LAST);
IS(ctp_state, regs[CTP_REG_PC], STATE_PC);
IS(ctp_state, regs[CTP_REG_SP], STATE_SP);
IS(ctp_state, regs[CTP_REG_FP], STATE_FP);
IS(ctp_state, regs[CTP_REG_S0], STATE_S0);
IS(ctp_state, regs[CTP_REG_S4], STATE_S4);
IS(ctp_state, lo, STATE_LO);
#define IS_PRIVATE(field, off) \
	_Static_assert(offsetof(struct ctp_state, guest) + offsetof(struct state_private, field) == (off), \
		       #field)
IS_PRIVATE(other, STATE_OTHER);
IS_PRIVATE(other_sp, STATE_OTHER_SP);
IS_PRIVATE(top, STATE_TOP);
_Static_assert(TURN_SUSPENDED == CTP_SUSPENDED << CTP_TURN_LIFE &&
		       TURN_RUNNING == CTP_RUNNING << CTP_TURN_LIFE && TURN_CHANGE == 1 << CTP_TURN_CHANGES &&
		       TURN_CHANGE_BIT == CTP_TURN_CHANGES,
	       "turn");
_Static_assert(SLICE_KEEPS == 1 << 8 * (CTX_KEEPS - CTX_SLICE), "slice");
_Static_assert(HOW_SWAP == CTP_HOW_SWAP && HOW_JUMP == CTP_HOW_JUMP && HOW_FCONTEXT == CTP_HOW_FCONTEXT &&
		       HOW_ONTOP == CTP_HOW_ONTOP && HOW_AGAIN == CTP_STATE_AGAIN << 8 &&
		       CTP_STATE_SHARED_STACK << 8 == 1 << 8 * (HOW_SHARED - STATE_HOW),
	       "how");

IS(candidate, next, CANDIDATE_NEXT);
IS(candidate, depth, CANDIDATE_DEPTH);
IS(candidate, stack, CANDIDATE_STACK);
IS(candidate, pc, CANDIDATE_PC);
IS(candidate, fp_val, CANDIDATE_FP_VAL);
IS(candidate, fp, CANDIDATE_FP);
IS(candidate, plain, CANDIDATE_PLAIN);
IS(candidate, last_absolute, CANDIDATE_LAST_ABSOLUTE);
IS(candidate, last, CANDIDATE_LAST);
IS(candidate, checks, CANDIDATE_CHECKS);
IS(check, off, 8);
_Static_assert(sizeof(struct check) == CHECK_BYTES, "check");
IS(ctp_site, resumed, SITE_RESUMED);
_Static_assert(sizeof(struct ctp_site) == 1 << SITE_SHIFT, "site");

IS(ctp_thread, native, THREAD_NATIVE);
IS(ctp_thread, until, THREAD_UNTIL);
IS(ctp_thread, near, THREAD_NEAR);
IS(ctp_thread, current, THREAD_CURRENT);
IS(ctp_thread, time_read, THREAD_TIME_READ);
IS(ctp_thread, head, THREAD_HEAD);
IS(ctp_thread, switches, THREAD_SWITCHES);
IS(ctp_record, w1, 8);
_Static_assert(RECORD_SHORT == CTP_EV_SHORT && sizeof(struct ctp_record) == 16, "record");
_Static_assert(RECORD_TO_BITS == CTP_SHORT_BITS && RECORD_STACK_BITS == CTP_SHORT_STACK_BITS &&
		       RECORD_ID_BITS == CTP_ID_BITS && RECORD_NATIVE == CTP_SHORT_NATIVE,
	       "record");
_Static_assert(CTP_GAP_BLIND == 0x80, "trampoline.S");
_Static_assert(TURN_TOLD_LOW == (uint32_t)((uint64_t)CTP_TOLD_MASK << CTP_TURN_CHANGES) &&
		       ((uint64_t)CTP_TOLD << CTP_TURN_CHANGES & TURN_TOLD_LOW) == 0,
	       "told");
