// SPDX-License-Identifier: MIT
//
// disguise_pass.h - a pass over memory that looks for addresses in disguise. The objects that are looked for lie
// where nothing is mapped; the memory is two pages of this process's.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "search/disguise/disguised.h"

enum { BLOCK = 0x340, NODES = 3, LIVING = 10 };
static uint64_t begins[NODES] = {0x123456f0a4e0, 0x12345ab1c7d0, 0x123461c3e930};
#define ONE begins[0]

static unsigned char *two;
static struct maps_line map;
static struct memory memory;
static struct disguised found;
static unsigned reached;
static uintptr_t memory_at; // 0: wherever it comes to lie. What is there by chance depends on that

static bool is_reached(struct search *s, uint32_t node)
{
	return s->g.reached[graph_group(&s->g, node)];
}

static void open_memory(void)
{
	two = mmap((void *)memory_at, 8192, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | (memory_at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
	assert_ptr_not_equal(two, MAP_FAILED);
	memset(two, 0, 8192);
	map = (struct maps_line){.lo = (uintptr_t)two, .hi = (uintptr_t)two + 8192, .perms = "rw-p", .path = ""};
	memory_of_process(&memory, getpid());
	memory.maps = &map;
	memory.nmaps = 1;
	memory.deadline_ns = UINT64_MAX;
}

// How many of the objects are reached by what is in memory; `found` says by what. Memory is let go.
static unsigned pass(size_t nliving)
{
	struct search_piece pieces[NODES] = {0};
	struct disguised_begin starts[NODES];
	struct handle_address living[LIVING];
	for (uint32_t i = 0; i < NODES; i++) {
		pieces[i] = (struct search_piece){.at = {begins[i], begins[i] + BLOCK}, .node = i};
		starts[i] = (struct disguised_begin){{begins[i], HANDLE_BLOCK}, i};
	}
	for (size_t i = 0; i < LIVING; i++)
		living[i] = (struct handle_address){ONE + 0x10010 * (i + 40), HANDLE_BLOCK};
	struct search s = {.memory = &memory, .pieces = pieces, .npieces = NODES, .nodes = NODES};
	disguised_deinit(&found);
	assert_int_equal(search_run(&s), 0);
	assert_true(graph_spread(&s.g));
	found = (struct disguised){.s = &s, .begins = starts, .nbegins = NODES, .living = living, .nliving = nliving, .table_least = 2};
	assert_int_equal(disguised_run(&found), 0);
	reached = 0;
	for (uint32_t i = 0; i < NODES; i++)
		reached += is_reached(&s, i);
	search_deinit(&s);
	memory_close(&memory);
	munmap(two, 8192);
	return reached;
}

static __attribute__((unused)) void put(size_t at, uint64_t word, size_t bytes)
{
	memcpy(two + at, &word, bytes);
}
