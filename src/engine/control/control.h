// SPDX-License-Identifier: MIT
//
// control.h - what ctp-ctl asks of this ctp-run: a socket, of which one packet is a request and one the
// answer.
//
// Request: {"verb":"stop","pid":4711,"arg":"..."}. Answer: {"state":"ok"|"refused"|"usage"|"not
// mine","text":"...",...}.
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "engine/session/session.h"

// Makes the socket, beside the trace for a moment, or where temporary files are. Without it ctp-ctl finds
// nobody, and all else goes on.
void control_open(struct session *s);
void control_close(struct session *s);
// Answers whoever has asked.
void control_turn(struct session *s);
// Has a detach been asked for? The answer is given when it is done.
bool control_detach(const struct session *s);
void control_detached(struct session *s, bool done, const char *text);

enum control_state { CONTROL_OK, CONTROL_REFUSED, CONTROL_USAGE, CONTROL_LATER };
struct control_reply {
	enum control_state state;
	char text[4200]; // one line
	json_t *status;  // or NULL
	bool pending;    // the program has not come by yet to do it: ask again
};

// Verbs (control_verbs.c). `arg` is "" if there is none.
void control_do(struct session *s, const char *verb, const char *arg, struct control_reply *r);
json_t *control_status(struct session *s); // NULL: no memory
