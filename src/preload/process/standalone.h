// SPDX-License-Identifier: MIT
//
// standalone.h - LD_PRELOAD=libctp.so without ctp-run.
#pragma once

// Makes a region, starts the engine that serves it, and returns the path by
// which the region can be opened (also put into CTP_SHM_PATH, so that children
// and later images know); NULL if the program is to run untraced.
const char *standalone_start(void);
