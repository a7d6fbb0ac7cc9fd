// SPDX-License-Identifier: MIT
//
// pack.h - packs the slots of one packet (--compress). Packets do not depend on each other.
#pragma once

#include "ctp/ctp.h"

#define PACK_WAY 2u          // of packing, as packets and manifests name it; 1 had all bytes in columns
#define PACK_MOST (1u << 20) // bytes of slots in one packet

struct pack;                 // room for one packet, and what zstd keeps
struct pack *pack_new(void); // NULL: no memory
void pack_free(struct pack *p);

// Packs n slots, of PACK_MOST bytes at most. Returns the bytes of *out, which stay until the next
// call; 0: they would not become less, or there is no memory, and *out is as it was.
size_t pack_write(struct pack *p, const struct ctp_record *slots, size_t n, const void **out);

// Where `bytes` of a packed packet are to be put; NULL: no packet has so many.
void *pack_room(struct pack *p, size_t bytes);
// Unpacks what lies there: it must be n slots. NULL: damaged.
const struct ctp_record *pack_read(struct pack *p, size_t bytes, size_t n);
