// SPDX-License-Identifier: MIT
//
// watch_keys.h - what a key does.
#pragma once

#include "ps/watch/watch_view.h"

// Keys that are no characters.
enum watch_key_code {
	WATCH_KEY_UP = 0x100000,
	WATCH_KEY_DOWN,
	WATCH_KEY_PAGE_UP,
	WATCH_KEY_PAGE_DOWN,
	WATCH_KEY_HOME,
	WATCH_KEY_END,
	WATCH_KEY_ENTER,
	WATCH_KEY_ESCAPE,
	WATCH_KEY_ERASE,
	WATCH_KEY_HELP,
	WATCH_KEY_QUIT,
	WATCH_KEY_RESIZE,
	WATCH_KEY_NONE,
};

enum watch_did {
	WATCH_DID_NOTHING,
	WATCH_DID_DRAW,  // to be drawn anew
	WATCH_DID_MOVE,  // the cursor moved: it holds what stands there now, if ui->held
	WATCH_DID_SORT,  // to be listed anew
	WATCH_DID_ENTER, // into what the cursor is on
	WATCH_DID_QUIT,
};

// n: lines of what is shown, of which `room` are seen at once.
enum watch_did watch_keys_press(struct watch_ui *ui, int key, size_t n, size_t room);
// Keeps cursor and top within n lines.
void watch_keys_clamp(struct watch_ui *ui, size_t n, size_t room);
