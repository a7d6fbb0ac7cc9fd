// SPDX-License-Identifier: MIT
//
// alu.h - arithmetic on values of which some are not known, and the flags that it leaves.
#pragma once

#include "frames/machine.h"

enum alu { ALU_ADD, ALU_OR, ALU_ADC, ALU_SBB, ALU_AND, ALU_SUB, ALU_XOR, ALU_CMP };

uint64_t alu_cut(uint64_t v, unsigned bytes);    // without what is above them
uint64_t alu_extend(uint64_t v, unsigned bytes); // by their sign
// The value `v`, made of both.
struct machine_value alu_combine(const struct machine_value *a, const struct machine_value *b, uint64_t v);
// `a`, which `by` has decided on.
struct machine_value alu_tinted(const struct machine_value *a, const struct machine_value *by);
struct machine_value alu_two(enum alu what, const struct machine_value *a, const struct machine_value *b,
			     unsigned bytes, struct machine_flags *f);
// which: 4 and 6 to the left, 5 to the right, 7 with the sign.
struct machine_value alu_shift(unsigned which, const struct machine_value *a,
			       const struct machine_value *count, unsigned bytes, struct machine_flags *f);
void alu_bit(const struct machine_value *a, const struct machine_value *bit, unsigned bytes,
	     struct machine_flags *f);
// Whether the condition holds (the lower four bits of a jump's opcode). False: the flags do not tell.
bool alu_condition(const struct machine_flags *f, unsigned condition, bool *holds);
