// SPDX-License-Identifier: MIT
//
// frames_json.h - frames as JSON (spec/report.schema.json, "frame").
#pragma once

#include <jansson.h>

#include "symbols/frames.h"

json_t *frames_json_one(const struct symbols_frame *f); // null for NULL
json_t *frames_json(const struct frames *f);            // null if it was not captured
