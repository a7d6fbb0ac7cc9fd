// SPDX-License-Identifier: MIT
//
// events.h - the part of the layout that has the events of the program's own (include/ctp/event.h): which of
// them are to be recorded, and the table of those that were found. Only ctp.h includes it.
#pragma once

// At events_off: this, then ctp_event_row[events_max].
#define CTP_EVENTS_MAX 4096u // of 32,768 that a record can name
#define CTP_CHOICE_TEXT 4080u
struct ctp_event_choice { // W: engine; while the program runs, under `seq`
	uint32_t seq;     // 0: as at the start; odd: being written. The guest says what it has taken:
			  // events_chosen
	uint32_t bytes;   // of text
	uint64_t reserved;
	char text[CTP_CHOICE_TEXT]; // as --events has it (event_choice.h); empty: all
};

#define CTP_CHOICE_NONE UINT32_MAX // in events_chosen: of no list

// An event, however many descriptors of the same provider, name and fields there are. W: guest; `ready` last
// (release).
#define CTP_EVENT_ROW_FIELDS 12u
#define CTP_EVENT_ROW_TEXT 960u
struct ctp_event_row {
	uint32_t ready;
	uint32_t line;
	uint16_t text_bytes;
	uint8_t fields;
	uint8_t on; // 1: recorded
	uint32_t reserved0;
	uint8_t kinds[CTP_EVENT_ROW_FIELDS], sizes[CTP_EVENT_ROW_FIELDS]; // enum ctp_field; bytes
	uint64_t reserved[3];
	char text[CTP_EVENT_ROW_TEXT]; // provider, name, file, and of each field its type and name
};

// What a field is. The numbers are those of include/ctp/event.h.
enum ctp_field {
	CTP_FIELD_SIGNED = 1,
	CTP_FIELD_UNSIGNED = 2,
	CTP_FIELD_FLOAT = 3,
	CTP_FIELD_POINTER = 4,
	CTP_FIELD_TEXT = 5,  // in a record: length u16, bytes; with CTP_FIELD_CUT there was more
	CTP_FIELD_BYTES = 6, // the same, and before the bytes how many there were, u32
};
#define CTP_FIELD_CUT 0x8000u
#define CTP_FIELD_MOST 256u // bytes of a text, or of bytes, that are kept

// A record of kind CTP_EV_USER and up. The first slot's last word and the second's hold 16 bytes of what the
// event says, each slot after these 7 and 8 more.
#define CTP_EVENT_SLOTS 100u // the most that a record takes
#define CTP_EVENT_ROOM (16u + (CTP_EVENT_SLOTS - 2) * 15u)
static inline unsigned ctp_event_slots(unsigned bytes)
{
	return bytes <= 16 ? 2 : 2 + (bytes - 16 + 14) / 15;
}
