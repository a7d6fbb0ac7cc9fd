// SPDX-License-Identifier: MIT
//
// fd_kind.h - the kind of a descriptor, by what the kernel calls its file.
#pragma once

#include "ctp/ctp.h"

// By where a link of /proc/PID/fd leads: "anon_inode:[eventfd]". CTP_FD_OTHER: none of ours.
enum ctp_fd_kind fd_kind_anon(const char *link);
