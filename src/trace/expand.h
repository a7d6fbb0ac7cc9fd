// SPDX-License-Identifier: MIT
//
// expand.h - writes a compressed trace as plain CTF.
#pragma once

// Writes a copy of the trace directory `from` to `to`, which must not be there. 0; -EPROTO: it is
// no trace directory, or its manifest is damaged; -EOPNOTSUPP: it is
// packed in a way that this version does not know; -EEXIST; -errno.
int expand_trace(const char *from, const char *to);
