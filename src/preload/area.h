// SPDX-License-Identifier: MIT
//
// area.h - offsets that assembly knows: in struct guest (asserted in thread.c).
#pragma once

#define AREA_GATE 0
#define AREA_STACK_TOP 8
#define AREA_CURRENT 16
#define AREA_SLICE 24
#define AREA_KEEPS (AREA_SLICE + 3)
#define AREA_THREAD 32
#define AREA_RING 40
#define AREA_RING_CAPACITY 48
#define AREA_RING_LIMIT 56
#define AREA_PC 64
#define AREA_SP 72
#define AREA_FP 80
#define AREA_S0 88
#define AREA_S1 96
#define AREA_S2 104
#define AREA_S3 112
#define AREA_S4 120
#define AREA_LOST 128
#define AREA_GAPS 136
#define AREA_SAVED_SLOT 144
#define AREA_SAVED_PC 152
#define AREA_SAVED_SP 160
#define AREA_SAVED_FP 168
#define AREA_SAVED_S0 176
#define AREA_SAVED_S1 184
#define AREA_SAVED_S2 192
#define AREA_SAVED_S3 200
#define AREA_SAVED_S4 208
#define AREA_KEPT 216 // as from AREA_SAVED_SLOT to here
#define AREA_VFORK_PC 288
#define AREA_RECENT 296
