// SPDX-License-Identifier: MIT
//
// arch.h - maps each stored register (enum ctp_reg) to libunwind's number. The only file here
// that knows a CPU.
#pragma once

#include "ctp/ctp.h"

#if defined(__x86_64__)
#include <libunwind-x86_64.h>
static const int arch_regs[CTP_REGS] = {
	[CTP_REG_PC] = UNW_X86_64_RIP, [CTP_REG_SP] = UNW_X86_64_RSP, [CTP_REG_FP] = UNW_X86_64_RBP,
	[CTP_REG_S0] = UNW_X86_64_RBX, [CTP_REG_S1] = UNW_X86_64_R12, [CTP_REG_S2] = UNW_X86_64_R13,
	[CTP_REG_S3] = UNW_X86_64_R14, [CTP_REG_S4] = UNW_X86_64_R15,
};
// The same in a sample of perf_event_open(2): numbers of enum perf_event_x86_regs.
static const unsigned arch_perf[CTP_REGS] = {
	[CTP_REG_PC] = 8,  [CTP_REG_SP] = 7,  [CTP_REG_FP] = 6,  [CTP_REG_S0] = 1,
	[CTP_REG_S1] = 20, [CTP_REG_S2] = 21, [CTP_REG_S3] = 22, [CTP_REG_S4] = 23,
};
// Of the words of NT_PRSTATUS: what a system call returns.
enum { ARCH_RESULT_WORD = 10 };
// What a function's frame pointer is, if it keeps one, by its caller's stack pointer.
static inline uint64_t arch_frame(uint64_t callers_sp)
{
	return callers_sp - 16;
}
// Whether a called function need preserve none of the registers that are not in NT_PRSTATUS
// (psABI 3.2.1). A CPU on which it preserves some (aarch64: d8 to d15) says 0.
enum { ARCH_CALLS_TAKE_VECTORS = 1 };
#else
#error "src/unwind/arch.h has no row for this CPU yet"
#endif

// libunwind's search in a table of .eh_frame_hdr that it reads through our accessors: exported by
// libunwind-<cpu> and used by other tracers, but in none of its headers.
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip, unw_dyn_info_t *table,
				       unw_proc_info_t *info, int need_unwind_info, void *arg);
#define arch_search_table UNW_OBJ(dwarf_search_unwind_table)
