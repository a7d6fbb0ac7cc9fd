// SPDX-License-Identifier: MIT
//
// unheard.h - the events of an open descriptor that reach nobody: it has no registration (CTP002, CTP008), or
// one without the event that is waited for (CTP002), or no thread polls the set in which it has one (CTP028).
#pragma once

#include "engine/inspect/inspect.h"
#include "engine/stored/queued.h"

// Sets in which some thread sleeps, by the region's tables, and those that are registered in one of these.
// `known`: every thread that has ever polled sleeps in a wait of its loop now.
struct unheard_sets {
	int32_t *polled;
	size_t n, room;
	size_t filled; // open sets in which something was registered, polled or not
	bool known;
	struct polled *given; // to poll and select, by threads that sleep there: unheard_given()
	size_t ngiven;
	bool asked;
	int asked_set; // unheard_passed_by(): the one that was asked for last, + 1; 0: none was
	bool waits;    // its events wait
};
void unheard_sets_find(struct unheard_sets *u, const struct ctp_region *r);
void unheard_sets_deinit(struct unheard_sets *u);

// Do the tables hint at it? A table alone decides nothing.
bool unheard_hinted(const struct unheard_sets *u, const struct ctp_fd *f);
bool unheard_polled(const struct unheard_sets *u, int epfd);

// Did an event come after it suspended? Not where that was another's, whose registration, for other events,
// replaced its own and went as well.
bool unheard_told(const struct ctp_region *r, const struct suspect *s);
// What a suspect without any registration is suspected of, or RULE_NONE. `told`: an event came after it
// suspended.
enum ctp_rule unheard_without_row(struct suspect *s, bool told, bool firm);
// Is there reason to think that it waits for what its registration, with these events, leaves out?
bool unheard_masked(const struct suspect *s, uint32_t events, bool firm);
// Did it write in vain, and come to wait for what there is to read, with a registration for these events?
bool unheard_wrote(const struct suspect *s, uint32_t events);
// Was it never read nor written? Then what had to wait, and is to tell that F can be written, was a connect.
bool unheard_connects(const struct ctp_fd *f);
// Did it begin to connect, and come to wait for what there is to read, with a registration for these events?
bool unheard_connects_in_vain(const struct suspect *s, uint32_t events);
// Did it read in vain, and come to wait for something else than what there is to read, with these events?
bool unheard_wrong_mask(const struct suspect *s, uint32_t events);
// One of these, by what its registrations ask for, or (0: it has none) what poll or select was given, and F
// is ready for what it tried in vain: marks it. *watch: it may be so soon.
bool unheard_find_wrong(struct suspect *s, struct unheard_sets *u, pid_t pid, uint32_t events, bool *watch);
// What threads that sleep in poll or select gave for F, as events of epoll; 0: it stands in none of their
// sets.
uint32_t unheard_given(struct unheard_sets *u, pid_t pid, int fd);
// May F be what it waits for, though that is not sure (`firm`)? It was told to wait for F alone, or has
// registered it, or has read some of it last. What is left there to be read speaks for F then, if nothing can
// tell it of that.
bool unheard_may_be_left(const struct suspect *s, bool firm);
// Is it so, by what is there to be read now? Marks it. True: there may be something soon.
bool unheard_find_left(struct suspect *s, bool firm, struct queued *q, pid_t pid, bool asleep, bool late);
// So many bytes are unread; 1 where its end is, and that counts. -1: cannot be told.
int64_t unheard_unread(const struct suspect *s, pid_t pid);
// Notes at this look whether there were any: ready, as of now.
void unheard_note_left(struct suspect *s, int64_t bytes, uint64_t now_ns);
// May it be told again, by a set that has its row, armed, and that nobody polls? Its events wait there.
bool unheard_abandoned(pid_t pid, int epfd);
// Where a loop may come to this set yet: is F ready for what it tried in vain, told of nothing since, and do
// events wait in the set? If so for long, the loop passes it by.
bool unheard_passed_by(struct unheard_sets *u, const struct suspect *s, pid_t pid, int epfd);
