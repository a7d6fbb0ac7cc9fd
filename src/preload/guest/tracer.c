// SPDX-License-Identifier: MIT
#include "preload/guest/tracer.h"

struct tracer tracer_shut;
struct tracer *ctp_tracer = &tracer_shut;
