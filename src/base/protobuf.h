// SPDX-License-Identifier: MIT
//
// protobuf.h - messages in protobuf's wire format, written field by field into memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct protobuf {
	uint8_t *bytes;
	size_t n, capacity;
	int error; // -ENOMEM once there was no memory: what is there is of no use then
};

void protobuf_deinit(struct protobuf *p);
void protobuf_uint(struct protobuf *p, unsigned field, uint64_t v); // uint, int >= 0, enum, bool
void protobuf_fixed64(struct protobuf *p, unsigned field, uint64_t v);
void protobuf_bytes(struct protobuf *p, unsigned field, const void *v, size_t n);
void protobuf_string(struct protobuf *p, unsigned field, const char *v);
// A message within: what is written up to the end belongs to it. begin returns what end must know.
size_t protobuf_begin(struct protobuf *p, unsigned field);
void protobuf_end(struct protobuf *p, size_t at);
