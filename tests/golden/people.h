// SPDX-License-Identifier: MIT
#pragma once

extern volatile int people_sink;
void people_wait_readable(int fd);
void people_conn_reader(int fd);
void people_reaper(int fd);
void people_accept(int fd);
void people_spawn(int fd);
