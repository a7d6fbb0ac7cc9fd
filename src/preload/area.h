// SPDX-License-Identifier: MIT
//
// area.h - offsets in struct guest that assembly knows (asserted in thread.c).
#pragma once

#define AREA_GATE 0
#define AREA_STACK_TOP 8
#define AREA_VFORK_PC 16
#define AREA_PC 24
#define AREA_SP 32
#define AREA_FP 40
#define AREA_S0 48
#define AREA_S1 56
#define AREA_S2 64
#define AREA_S3 72
#define AREA_S4 80
#define AREA_LOST 88
#define AREA_GAPS 96
#define AREA_SAVED_SLOT 104
#define AREA_SAVED_PC 112
#define AREA_SAVED_SP 120
#define AREA_SAVED_FP 128
#define AREA_SAVED_S0 136
#define AREA_SAVED_S1 144
#define AREA_SAVED_S2 152
#define AREA_SAVED_S3 160
#define AREA_SAVED_S4 168
#define AREA_KEPT 176 // as from AREA_SAVED_SLOT to here
