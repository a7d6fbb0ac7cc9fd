// SPDX-License-Identifier: MIT
//
// gate.h - which files libdw may open while it reads an object file that may be hostile.
#pragma once

// Between these, in this thread, every file that a library opens must be a regular one, and no read of it
// waits. They nest.
void gate_close(void);
void gate_open(void);
