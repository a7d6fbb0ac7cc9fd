// SPDX-License-Identifier: MIT
//
// loaded.h - the objects that the loader has mapped, now and later.
#pragma once

// Looks through all of them, and from now on through each new one before its code runs.
// Once, before main.
void loaded_start(void);
