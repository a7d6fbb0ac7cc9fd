# SPDX-License-Identifier: MIT
"""region: what the tables say; names: functions and places; view: lists; chosen: whose frames gdb shows; commands."""
