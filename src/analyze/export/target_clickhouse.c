// SPDX-License-Identifier: MIT
#include "analyze/export/target.h"
const struct target_ops target_clickhouse = {.scheme = "clickhouse:",
					     .form = "clickhouse://...",
					     .lacks = "libcurl4-openssl-dev"};
