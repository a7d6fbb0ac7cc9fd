// SPDX-License-Identifier: MIT
#include "analyze/export/target.h"
const struct target_ops target_mariadb = {.scheme = "mysql:",
					  .form = "mysql://...",
					  .lacks = "libmariadb-dev"};
