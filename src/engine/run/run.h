// SPDX-License-Identifier: MIT
//
// run.h - the main loop: takes turns and passes signals on until the program has ended.
#pragma once

#include "engine/session/session.h"
#include "engine/start/sock.h"

struct run_end {
	bool timed_out; // --timeout came first
	int signal;     // killed by it; 0: exited
	int status;     // of exit
};

// For a child of ours. Leaves the session complete.
struct run_end run_child(struct session *s, struct sock *sock, double timeout_s);
// For a process that is not our child (preloaded alone).
void run_served(struct session *s);
// The same for a process that runs already, until it ends or ctp-run is told to end (SIGINT, SIGTERM, SIGHUP,
// or
// --timeout). True: it has ended.
bool run_attached(struct session *s, double timeout_s);
