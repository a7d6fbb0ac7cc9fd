// SPDX-License-Identifier: MIT
//
// asserts.h - the layout of ctp.h, offset by offset, as spec/cTP.md has it.
// Included by ctp.h alone, so that nobody can have one without the other.
#pragma once

#define CTP_AT(type, field, off) \
	_Static_assert(offsetof(struct type, field) == (off), #type "." #field)

_Static_assert(sizeof(struct ctp_slot) == 64, "slot");
CTP_AT(ctp_slot, seq, 0x18);
CTP_AT(ctp_slot, is_active, 0x3f);
_Static_assert(sizeof(struct ctp_header) == CTP_HEADER_BYTES, "header");
CTP_AT(ctp_header, allocated_count, 0x10);
CTP_AT(ctp_header, tracer_sleeping, 0x14);
CTP_AT(ctp_header, ext, CTP_EXT_OFFSET);
_Static_assert(sizeof(struct ctp_station) == CTP_STATION_BYTES, "station");
CTP_AT(ctp_station, is_dead, 0x10);
CTP_AT(ctp_station, slots, 0x40);
CTP_AT(ctp_station, flexible, 0x240);
_Static_assert(sizeof(struct ctp_state) == 448, "state");
CTP_AT(ctp_state, turn, 0x00);
CTP_AT(ctp_state, id, 0x08);
CTP_AT(ctp_state, since, 0x10);
CTP_AT(ctp_state, slot, 0x18);
CTP_AT(ctp_state, left_to, 0x20);
CTP_AT(ctp_state, stack, 0x28);
CTP_AT(ctp_state, thread, 0x30);
CTP_AT(ctp_state, last, 0x38);
CTP_AT(ctp_state, regs, 0x40);
CTP_AT(ctp_state, waits, 0x80);
CTP_AT(ctp_state, lo, 0x100);
CTP_AT(ctp_state, creator_stack, 0x128);
CTP_AT(ctp_state, owner, 0x12c);
CTP_AT(ctp_state, block_lo, 0x130);
CTP_AT(ctp_state, guest, 0x148);
CTP_AT(ctp_state, tried, 0x1a0);
CTP_AT(ctp_state, called, 0x1a8);
_Static_assert(sizeof(struct ctp_wait) == 32, "wait");
_Static_assert(sizeof(struct ctp_fd) == 256, "fd");
CTP_AT(ctp_fd, desc, 0x10);
CTP_AT(ctp_fd, leads, 0x38);
CTP_AT(ctp_fd, reg_events, 0x40);
CTP_AT(ctp_fd, closed, 0x80);
_Static_assert(sizeof(struct ctp_cand) == 512, "candidate");
CTP_AT(ctp_cand, dev, 0x40);
CTP_AT(ctp_cand, was, 0x98);
_Static_assert(sizeof(struct ctp_thread) == 512, "thread");
CTP_AT(ctp_thread, head, 0x40);
CTP_AT(ctp_thread, near, 0x58);
CTP_AT(ctp_thread, tail, 0x80);
CTP_AT(ctp_thread, wait_seq, 0xc0);
CTP_AT(ctp_thread, wait_regs, 0x100);
CTP_AT(ctp_thread, name, 0x28);
_Static_assert(sizeof(struct ctp_name) == 64, "name");
CTP_AT(ctp_name, id, 0x08);
CTP_AT(ctp_name, text, 0x10);
_Static_assert(CTP_NAMES_MAP_BYTES * 8ULL * CTP_NAMES_EACH >= CTP_STATIONS_LIMIT + CTP_STATIONS_NATIVE, "map of names");
_Static_assert(sizeof(struct ctp_module) == 512, "module");
CTP_AT(ctp_module, base, 0x08);
CTP_AT(ctp_module, build_id, 0x20);
CTP_AT(ctp_module, path, 0x40);
CTP_AT(ctp_module, since, 0x1f8);
_Static_assert(sizeof(struct ctp_record) == 16, "record");
_Static_assert(CTP_STACKS_MAX <= 1u << CTP_SHORT_STACK_BITS, "stack in a short record");
_Static_assert(2 * CTP_SHORT_BITS + CTP_SHORT_STACK_BITS == 64, "short record");
_Static_assert(sizeof(struct ctp_chunk) == 64, "chunk");
_Static_assert(sizeof(struct ctp_incident) == 128, "incident");
CTP_AT(ctp_incident, fd, 0x40);
_Static_assert(sizeof(struct ctp_site) == 16, "site");
_Static_assert(sizeof(struct ctp_crash) == 128, "crash");
CTP_AT(ctp_crash, regs, 0x30);
_Static_assert(sizeof(struct ctp_ext) == 768, "descriptor");
CTP_AT(ctp_ext, stack_index_off, 0x40);
CTP_AT(ctp_ext, stack_words_max, 0x80);
CTP_AT(ctp_ext, chunks, 0xa0);
CTP_AT(ctp_ext, states_off, 0xa8);
CTP_AT(ctp_ext, heartbeat, 0xc0);
CTP_AT(ctp_ext, root_pid, 0xd0);
CTP_AT(ctp_ext, parent_fd, 0xd4);
CTP_AT(ctp_ext, guest_pid, 0x100);
CTP_AT(ctp_ext, inherited, 0x10c);
CTP_AT(ctp_ext, attached, 0x110);
CTP_AT(ctp_ext, next_id, 0x140);
CTP_AT(ctp_ext, epoch, 0x180);
CTP_AT(ctp_ext, pointer_guard, 0x188);
CTP_AT(ctp_ext, pointer_rotate, 0x190);
CTP_AT(ctp_ext, ask, 0x198);
CTP_AT(ctp_ext, chunk_next, 0x1a0);
CTP_AT(ctp_ext, region_base, 0x1c0);
CTP_AT(ctp_ext, names_off, 0x1f0);
CTP_AT(ctp_ext, context_off, 0x1f8);
CTP_AT(ctp_ext, incidents_off, 0x200);
CTP_AT(ctp_ext, crash, 0x280);
