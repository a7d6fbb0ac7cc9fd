# SPDX-License-Identifier: MIT
"""The mutations that run.py tries: what a verdict rests on, taken away. `old` stands in `file`
exactly once, however it is laid out. `tests` are tried in their order until one fails: unit:NAME, e2e:WORD, museum:WORD.
`survives` says why no test can tell the difference, where none can."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Mutation:
    file: str
    old: str
    new: str
    why: str
    tests: tuple
    survives: str = ""


MUTATIONS = []


def of(file, *tests):
    """Rows of one file, with the tests that they share."""
    def add(old, new, why, *more, survives=""):
        MUTATIONS.append(Mutation(file, old, new, why, (*tests, *more), survives))
    return add


# ------------------------------------------------------------------ src/ctp: who reads while another writes
m = of("src/ctp/chunk.h", "unit:chunk", "unit:protocol")
m("if (!seq || ctp_load64(&c->ready) != taken)", "if (!seq)", "a chunk that is being filled in is read")
m("			if (atomic_load_explicit((const ctp_a64 *)&c->seq, memory_order_relaxed) != taken)", "			if (0)",
  "the head counts slots of the next chunk")
m("return ctp_chunk_is(ctp_chunk(r, i), is->seq);", "return true;", "a copy that was overwritten counts")
m("if ((seq & 1) || !ctp_cas64(&c->seq, seq, seq + 1))", "if (!ctp_cas64(&c->seq, seq, seq + 1))", "two threads write in a chunk")
m("is->used <= CTP_CHUNK_SLOTS)", "is->used <= CTP_CHUNK_SLOTS + 1)", "a chunk that claims more than it holds is read")
m("		if (is->thread >= r->threads_max)\n			return false;", "", "a thread that is not there is believed")

m = of("src/ctp/seq.h", "unit:protocol")
m("return (begun & 1) || atomic_load_explicit((const ctp_a32 *)seq, memory_order_relaxed) != begun;", "return begun & 1;",
  "a copy made while it was written counts", "unit:inspect")
m("return (seen & 1) || atomic_load_explicit((const ctp_a64 *)&s->turn, memory_order_relaxed) != seen;", "return seen & 1;",
  "a state that changed while it was copied counts")
m("if ((seq & 1) || seq <= seen)", "if (seq & 1)", "a slot is read twice")
m("	if (atomic_load_explicit((const ctp_a64 *)&s->seq, memory_order_relaxed) != seq)\n		return 0;", "",
  "a slot that changed while it was copied counts")
m("	if ((from & 1) || !ctp_cas32(seq, from, from + 1))\n		return false;", "	ctp_cas32(seq, from, from + 1);", "two threads write an entry",
  "unit:fds")
m = of("src/ctp/seq.h", "unit:inspect")
m("		if (ctp_wait_still(t, seq))\n			return true;", "		if (seq + 1)\n			return true;", "an entry of two moments counts")

m = of("src/ctp/proof.h", "unit:proof", "unit:trace")
m("proof_bit(PROOF_P3) | proof_bit(PROOF_P4);", "proof_bit(PROOF_P3);", "a proof is complete without P4")
m("return (held & all) == all && proof_beyond_reach(held);", "return (held & all) == all;", "a proof is complete without P6a and P6b")

m = of("src/ctp/wait_inference.h", "unit:wait_inference", "unit:kernel")
m("bool resumed = f->learned == c->id && ctp_waits_there(f, c, wait);", "bool resumed = f->learned == c->id;",
  "events that resumed it elsewhere lead to it")
m("== c->id && !anothers ? CTP_LINK_CONTEXT", "== c->id ? CTP_LINK_CONTEXT", "a context nearby counts though another waits")
m("	       f->learned != c->id && (f->leads & CTP_ID_MASK) != c->id;", "	       true;", "an event that led to it was noted for another")
m("return f->reg_time >= ctp_state_latest(c) && f->reg_by != c->id && (leads", "return (leads",
  "an old registration that leads to it says that it waits")
m("(!in || in == c->id) &&\n		     (!out || out == c->id);", "true;", "a registration for another's wait is for this one's")
m("	return (wait && (wait->how & CTP_WAIT_REGISTERED) && !noted) ||", "	return (wait && (wait->how & CTP_WAIT_REGISTERED)) ||", "an event that the loop noted is lost")

m = of("src/ctp/ring.h", "unit:protocol", "unit:record")
m("*bad = n > capacity;", "*bad = false;", "a ring that claims more than it holds is read")
m("return head + n > t->until ? CTP_RING_FULL", "return head > t->until ? CTP_RING_FULL", "a record is written over one not yet read")
m("	t->until = head + n <= half ? half : tail + capacity;", "	t->until = head + n <= half ? half : tail + capacity + 1;",
  "a slot is written over one not yet read")

m = of("src/ctp/record.h", "unit:record")
m("n > 1 && ctp_record_kind(r + 1) == CTP_EV_REST ? 2 : 0;", "n > 1 ? 2 : 0;", "a record is made of halves of two")
m("c->n = (uint32_t)(r->w1 >> (64 - CTP_SHORT_BITS));", "c->n = (uint32_t)(r->w1 >> (63 - CTP_SHORT_BITS));", "numbers of changes are wrong")
m("			c->near = ctp_near(b);", "			c->near = 0;", "a short record names another coroutine")
m = of("src/preload/guest/emit.c", "unit:record")
m("	ctp_ring_drop(g->thread);\n	ctp_ring_unsure(g->thread, CTP_NEAR_UNSURE);", "	ctp_ring_drop(g->thread);",
  "what follows a lost record is told by what was lost")

m = of("src/codec/merge.c", "unit:merge")
m("#define SKEW_TICKS 100000u", "#define SKEW_TICKS 0u", "clocks go before counts")
m("	return ahead(m, r->a, r->a_n, r) <= 1 && ahead(m, r->b, r->b_n, r) <= 1;", "	return ahead(m, r->a, r->a_n, r) <= 1;",
  "whoever goes on need not have left before")
m("r->a == r->b || from < 1 || to < 1)\n", "r->a == r->b)\n", "a record that comes too late counts")

# ------------------------------------------------------------------ P4 and P5
m = of("src/engine/witness/flight.c", "unit:flight")
m("c->seen >= s->c.epoch", "c->seen + 1 >= s->c.epoch", "P4 with the epoch before the close")
m("ctp_load64(&t->seen) < s->c.epoch", "ctp_load64(&t->seen) + 1 < s->c.epoch", "P4 by the tables with the epoch before the close")
m("c->slept_epoch >= s->c.epoch ||", "c->slept_epoch + 1 >= s->c.epoch ||", "P5 with the epoch before the close")
m("t->switches && ctp_load64(&t->slept_epoch) < s->c.epoch", "t->switches && ctp_load64(&t->slept_epoch) + 1 < s->c.epoch",
  "P5 by the tables with the epoch before the close")
m("	return inspect_in_wait(t, c->wait_call) &&\n	       ctp_wait_still(&l->r->threads[t->slot], c->wait_seq);", "	return inspect_in_wait(t, c->wait_call);",
  "wait_seq is not looked at again")
m("	return inspect_in_wait(t, c->wait_call) &&\n", "	return\n", "an odd wait_seq alone is taken for sleep")
m("	if (!t->hooked || t->slot < 0)\n		return false;", "	if (t->slot < 0)\n		return false;", "a wait that the entry does not tell of counts")
m("return t->polls || (", "return (", "threads that wait in epoll are not asked")
m("	if (delivered(l->r, s) && s->a[PROOF_P5].holds != HOLDS_TRUE) {", "	if (0) {", "an event that somebody has taken is forgotten")
m("	if (s->c.was.event_time > s->s.since)\n		return true;", "", "an event of the closed descriptor is forgotten")
m("	return l->shared == SHARED;", "	return 0;", "another process that shares the set is forgotten")
m("bool exits = c->wait_call == CTP_IN_EXIT;", "bool exits = false;", "the wait for the last inspection is taken for a loop's")
m("	if (delivered(r, s) && p5->holds != HOLDS_TRUE)", "	if (0)", "an event that somebody had taken when the program ended is forgotten")
m("	if (inspect_has_kin(r))\n		inspect_say(p4, HOLDS_OPEN", "	if (0)\n		inspect_say(p4, HOLDS_OPEN", "a child that shares the set is forgotten")

m = of("src/engine/inspect/inspect.c", "unit:inspect")
m("	word &= (1ULL << 48) - 1;\n", "", "a tagged pointer leads nowhere", "unit:kernel")
m("	if (!ctp_thread_read(t, c))", "	ctp_thread_read(t, c);\n	if (0)", "an entry of which nothing is known is evidence")
m("	c->life = life;\n", "", "a slot that was filled in meanwhile counts as live")

# ------------------------------------------------------------------ that nobody ran
m = of("src/engine/inspect/hold.c", "unit:hold", "unit:witness")
m("b->switches == a->switches && b->run_ns == a->run_ns &&", "b->run_ns == a->run_ns &&", "context switches are not compared")
m("b->switches == a->switches && b->run_ns == a->run_ns &&", "b->switches == a->switches &&", "time on a CPU is not compared")
m(" && b->switches == a->switches + STOP_SWITCHES &&", " &&", "a thread that ran after its stop counts as still")
m("	if (a->tid != b->tid)\n		return false;", "", "another thread counts as the same")
m("same = a->tid == b->tid && a->switches == b->switches &&", "same = a->tid == b->tid &&", "a thread ran during the search")
m("	return pending & heard;", "	return false;", "a signal that is pending is forgotten")

# ------------------------------------------------------------------ P0, P2, P3
m = of("src/engine/witness/bypassed.c", "unit:kernel", "unit:witness")
m("		if (gaps & GAPS[i].bit)", "		if (0)", "gaps of the tables are forgotten")
m("	if (l->registrations.uring)", "	if (0)", "io_uring is forgotten")
m("	return !(c->wait_seq & 1) || c->wait_call != CTP_IN_EPOLL || c->wait_fd != (int)t->args[0];", "	return false;",
  "a wait behind the hooks is not seen")
m("		return true;\n	if (f.life != CTP_FD_OPEN || f.reg_epfd >= 0", "		return false;\n	if (f.life != CTP_FD_OPEN || f.reg_epfd >= 0",
  "a registration behind the hooks is not seen")

m = of("src/engine/witness/kernel.c", "unit:kernel", "unit:witness")
m("	if (reg->ino != c->ino || reg->dev != registrations_dev(c->dev))", "	if (reg->ino != c->ino)", "inodes of two devices are one")
m("	if (S_ISSOCK(c->mode))\n		return ITS;", "	if (S_ISSOCK(c->mode))\n		return OTHERS;", "a socket that lives on by a duplicate is not seen")
m("reg->file == REGISTRATION_NUMBERS && reg->desc == c->was.desc)", "0)", "a duplicate of a pipe is not seen")
m("reg->desc && c->was.desc && reg->anew)", "reg->desc && c->was.desc)", "a hidden duplicate counts as another file")
m("return reg->tfd == c->fd && reg->file == REGISTRATION_ANOTHERS ? ITS : MAYBE;", "return OTHERS;", "a row of which nothing is known is another's")
m("			return c->wait_since <= s->c.time;", "			return false;", "a thread that sits in read keeps the file")
m("	if (c && c->wait_since > s->c.time)", "	if (c)", "a thread that sits in poll keeps the file")
m("	return (c ? l->polled[task].known : l->polled[task].read) ? 0 : -1;", "	return 0;", "a set that could not be read is empty")
m("t->nr == PROC_NO_SYSCALL || t->nr == SYS_restart_syscall", "0", "a system call that is not shown is none")
m("		inspect_say(a, HOLDS_OPEN, l->registrations.denied ?", "		inspect_say(a, HOLDS_TRUE, l->registrations.denied ?", "P3 without the kernel's rows")
m("	if (!s->c.ino && !s->c.dev) {\n		inspect_say(a, HOLDS_OPEN,", "	if (!s->c.ino && !s->c.dev) {\n		inspect_say(a, HOLDS_TRUE,", "P3 of a file of which nothing is known")

m = of("src/engine/witness/one_wait.c", "unit:kernel", "unit:witness")
m("	if (s->s.flags & CTP_STATE_MOREWAITS)\n		inspect_say(a, HOLDS_FALSE,", "	if (0)\n		inspect_say(a, HOLDS_FALSE,", "more waits than were kept are forgotten")
m("	if (w)\n		beside_note(l, s, w->fd, w->gen, !ctp_told_alone(wait_of(s), w)", "	if (0)\n		beside_note(l, s, w->fd, w->gen, !ctp_told_alone(wait_of(s), w)", "another wait of its own is forgotten")
m("		if ((has && reg->data == data) || inspect_references", "		if (inspect_references", "another row with its data is not seen")
m("|| inspect_references(s, reg->data))\n			return reg;", ")\n			return reg;",
  "another row that points into it is not seen")
m("f.gen == w->gen && f.life == CTP_FD_OPEN)\n			return w;", "f.life == CTP_FD_OPEN)\n			return w;", "a wait of an older generation counts")
m("	else if (ctp_in_pool(&s->s))", "	else if (0)", "a coroutine in a pool waits for the last descriptor that it had")
m("if (f->reg_epfd >= 0 || f->polled > s->s.since || f->polled_out > s->s.since)", "if (f->reg_epfd >= 0)",
  "a descriptor that is polled does not lead to it")
m("		if (f.learned)\n			others_of", "		if (0)\n			others_of", "a descriptor that woke it does not lead to it")

m = of("src/engine/witness/closed_set.c", "unit:kernel")
m("		bool after = t->slot >= 0 && (l->threads[t->slot].wait_seq & 1) &&", "		bool after = t->slot >= 0 &&",
  "an entry that tells of no wait says when it began")
m("l->threads[t->slot].wait_since > s->c.time;", "true;", "a thread that sleeps in the set since before its close is not seen")
m("	else if (number >= 0)", "	else if (0)", "a duplicate of the set is not seen")
m("	else if (inspect_has_kin(l->r))", "	else if (0)", "a child may have the set")
m("		if (l->registrations.v[i].data == data || inspect_references", "		if (inspect_references", "a row in another set is not seen")

# ------------------------------------------------------------------ P6b
m = of("src/engine/witness/quiescent.c", "unit:kernel", "unit:witness")
m("		if (!waits || t->args[3])", "		if (!waits)", "a futex with a timeout is for ever")
m("(int)t->args[3] >= 0;\n		if (timed)", "(int)t->args[3] > 0;\n		if (timed)", "a wait with timeout 0 is for ever")
m("	} else if (t->state != 'S' || t->nr < 0) {", "	} else if (t->nr < 0) {", "a thread that runs sleeps")
m("		else if (!(t->args[1] & FUTEX_PRIVATE_FLAG) && !private_address(q->l, t->args[0]))", "		else if (0)",
  "a futex that other processes may wake is private")
m("	if (!c || c->wait_timeout_ns >= 0) {", "	if (!c) {", "a poll with a timeout is for ever")
m("	else if (!still)\n		inspect_say_all(l, PROOF_P6B, HOLDS_OPEN,", "	else if (0)\n		inspect_say_all(l, PROOF_P6B, HOLDS_OPEN,", "P6b of a program that moves",
  survives="not shown yet: it takes a process that nothing else could wake")
m("		    f->flags & CTP_FD_LISTENS ? \" that listens\" : \"\");", "		    \"\");", "the report does not say that it listens")

# ------------------------------------------------------------------ P6a
m = of("src/search/mark/graph.c", "unit:graph")
m("	for (; head < tail; head++)\n		for (uint32_t i = first_from[queue[head]]", "	for (; head < 1; head++)\n		for (uint32_t i = first_from[queue[head]]",
  "what is reached leads on by one step only")
m("	for (uint32_t k = 0; ok && k < g->n; k++)\n		if (marked[k])\n			queue[tail++] = k;", "", "what a register leads to leads on")
m("in < g->nspans ? g->owner[in] : GRAPH_OUTSIDE", "in < g->nspans ? g->owner[in] : 0", "a word from outside is one of the first object")
m("	for (; lo < g->npoints && g->points[lo].at.lo == value && n < GRAPH_OWNERS; lo++)", "	for (; 0; lo++)", "an end leads to nothing")
m("last->from == e.from && last->to == e.to))", "last->to == e.to))", "a word from outside is dropped behind one from another object")

m = of("src/search/mark/scan.c", "unit:scan")
m("	size_t t = scan_find(s->targets, s->ntargets, w & SPAN_ADDRESS_MASK);", "	size_t t = scan_find(s->targets, s->ntargets, w);",
  "a tagged pointer is none")
m("	for (size_t i = 0; i + 4 <= n; i++) { // a pointer", "	for (size_t i = 0; i + 8 <= n; i++) { // a pointer", "a pointer at the end of a message is not seen")
m("		if (w <= SPAN_ADDRESS_MASK && (sieved(r->sieve, w) & 1))", "		if (0)", "a disguised pointer is not seen")
m("	return lo < n && v[lo].lo <= addr ? lo : n;", "	return lo < n ? lo : n;", "what lies before an object leads to it")

m = of("src/search/disguise/disguise.c", "unit:disguise")
m("		*tagged = w >> (ADDRESS - right);", "		*tagged = false;", "a tag above a shifted address counts as a part of it")
m("		*tagged = w >> 51 != BITS(13); // but for a NaN", "		*tagged = true;", "a NaN's 17 bits are not known as a tag")

m = of("src/search/disguise/loader_pages.c", "unit:loader_pages")
m("		if (!*in->path)\n			add(", "		if (0)\n			add(", "what the loader counts may lead to a coroutine")
m("		if (addr - p->page[i] < PAGE)", "		if (p->page[i] - addr < PAGE)", "other pages are taken for the loader's")
m("		if (in && !*in->path)", "		if (in)", "what lies in a file is taken for what the loader has unmapped")

m = of("src/analyze/parked/parked_rhythm.c", "unit:parked_rhythm")
m("		if (!of->stopped || waits <= 10 * of->longest || waits <= 3 * longest)", "		if (!of->stopped)", "who may come yet has lost its rhythm")
m("	if (n < RESUMED_LEAST || of->lost)", "	if (n < RESUMED_LEAST)", "a history with a gap tells a rhythm")
m("	for (size_t k = i; !r && others > stopped && k < end; k++) {", "	for (size_t k = i; !r && k < end; k++) {", "others that come to rest go on")

m = of("src/ctp/wait_inference.h", "unit:decided")
m("	return (f->last_in & ~CTP_FD_SEVERAL) == c;", "	return false;", "a timer that its waiter has used before is its own alone")

m = of("src/search/whole/code_words.c", "unit:products")
m("		if (code_words_may(word) && scan_find(r->skip, r->nskip, at + i) == r->nskip)", "		if (code_words_may(word))",
  "numbers that nobody can use encode something")
m("			bool file = *at->path == '/' && !bases_is_runtime(m, at->lo);", "			bool file = *at->path == '/';", "the C library's numbers are the program's")

m = of("src/search/whole/products.c", "unit:products")
m("		try_value(p, word ^ addends->v[i], at);", "		(void)0;", "a product that is xored as well is not seen")
m("	if (word % WORD == 0)\n", "	if (1)\n", "a product counts that is no pointer's")
m("p->addends[word % WORD];", "p->addends[0];", "numbers are added that end in three zeros alone")

m = of("src/search/whole/number_rows.c", "unit:parts")
m("	try_address(w, p->count, last_highest);", "	(void)last_highest;", "bytes that are written out from the lowest on are not seen")
m("		if (!v->decimal || v->value[1] >= THOUSAND || (i < COUNT - 1 && v->digits != DIGITS))", "		if (1)", "thousands are not seen")

m = of("src/engine/stored/queues_options.c", "unit:queues_options")
m("		any |= is_telling(all + n, got);", "", "options of sockets are not told")
m("	q->bytes(q->ctx, where, (const unsigned char *)constants, n * sizeof(*constants));", "", "filters of sockets are not told")

m = of("src/search/whole/packed_bits.c", "unit:parts")
m("			if (by % BYTE == LOW && !(word >> (ADDRESS - LOW) & 1))\n				continue;", "", "plain addresses are judged again, as bit fields")
m("by ? v[0] >> by | v[1] << (BITS - by) : v[0];", "by ? v[0] >> by : v[0];", "a field across two words is not seen")

m = of("src/search/whole/code_pages.c", "unit:parts")
m("m->perms[2] == 'x' && (*m->path != '/'", "m->perms[2] == 'x' && (1", "a program's own code is taken for what was made at run time")

m = of("src/search/opaque/opaque_words.c", "unit:opaque")
m("	if (r->n && r->n <= RUN_MOST) {", "	if (r->n) {", "long rows of data count as handles")
m("	return !counter && plain <= PLAIN_MOST && high >= HIGH_LEAST", "	return !counter && plain <= PLAIN_MOST", "text is taken for keys")
m("		if (same == SAME_LEAST)", "		if (same == n + 1)", "round numbers are taken for keys")
m("	return !counter && plain", "	return plain", "times are taken for keys")
m("		if (!words || are_addresses(c, b + lo, i - lo))", "		if (!words)", "addresses that are written out are taken for keys")

m = of("src/search/opaque/hash_code.c", "unit:opaque")
m("hash_code_of(b, n) == word;", "hash_code_of(b, n) != word;", "hash codes look like keys")

m = of("src/engine/memory/opaque.c", "museum:ok001_hidden_made_code")
m("at->perms[2] == 'x' && !is_file", "0 && !is_file", "code that is made at run time leads nowhere")

m = of("src/engine/memory/opaque.c", "unit:opaque")
m("	return SHARE * all < n ? (struct opaque){0}", "	return all == 0 ? (struct opaque){0}", "one key makes any number of findings less certain")
m("		n += !is_led_to(g, k);", "		n++;", "those to whom others of them lead need a word each")

m = of("src/search/whole/columns.c", "unit:products")
m("((swapped ? __builtin_bswap32(u.v[k]) : u.v[k]) == half &&", "(u.v[k] == half &&", "halves in the order of a network are none")

m = of("src/search/whole/varints.c", "unit:products")
m("		if (memory_map(v->memory, address + bases[i]))", "		if (1)", "a row of distances may begin with any number")
m("v->targets[i].lo <= address + BASE_MOST;", "1;", "a base may be any number")
m("	return sign ? value >> 1 ^ -(value & 1) : value;", "	return value;", "a sign is part of the number")

m = of("src/engine/stored/queues_places.c", "unit:queues_places")
m("		if (low >> bits == 0)", "		if (0)", "two parts of a number are not put together")
m("		if (first >> LOCK_FAR_BITS || ", "		if (0 && ", "a lock that lies far out is no doubt")
m("	if (many < 2)", "	if (1)", "semaphores that count many are no doubt")
m("	return n <= MASK_FEW || n >= MASK_MANY;", "	return true;", "any set of signals is one")

m = of("src/engine/stored/queues_attributes.c", "unit:queues_attributes")
m("		if (got > 0)\n", "		if (0)\n", "what an attribute holds is not looked at")

m = of("src/search/disguise/constants.c", "unit:disguise_rows")
m("	return m && *m->path == '/' && m->perms[3] == 'p' && is_as_in_file(c, m, addr);", "	return false;", "a number in a program's file is half of an address")

m = of("src/search/disguise/handles.c", "unit:disguise")
m("	       is_sign(t, HANDLES_TARGET, none && calibrated ? CHANCE_UNUSED : CHANCE);", "	       is_sign(t, HANDLES_TARGET, CHANCE);",
  "a form counts although the program keeps none of its living coroutines so")
m("(t->hits[HANDLES_LIVING] >= SURE_OF && is_sign(t, HANDLES_LIVING, CHANCE)) ||", "", "the living show nothing")

m = of("src/search/disguise/disguise_words.c", "unit:disguise")
m("	    (!tagged || is_begin(d, form, address)))", "	    true)", "any bits that are like an address with a tag count")
m("			if (k < n)", "			if (k < n && (at + k) % 8 == 0)", "bytes that are swapped count at a multiple of eight only")

m = of("src/engine/memory/hidden_holder.c", "unit:hidden_holder")
m("		held[k] = !owned[k] && !g->reached[k];", "		held[k] = !g->reached[k];", "what a lost coroutine owns holds it")
m("			mark_data(g, owned, s->c.was.reg_data);", "			(void)0;", "what the kernel held is no leak of the fault")
m("	return s->rule && s->rule != RULE_PARKED && ", "	return ", "the control group is asked as well")

m = of("src/engine/stored/queues_ipc.c", "unit:queues_ipc")
m("sent_s + DOUBT_S >= began_s", "sent_s < began_s", "a queue that others left is a doubt")
m("n && (last == pid || ", "n && (", "its own message is none")

m = of("src/search/disguise/xor_words.c", "unit:disguise")
m("		if (!b->spent && (b->decoys[h->kind] ?", "		if ((b->decoys[h->kind] ?", "pairs that were not all tried count")
m("(b->decoys[h->kind] ? handles_in_use(&t, false) : quiet[h->kind]))", "true)", "pairs count that chance explains")
m("	if (address % WORD || scan_find(", "	if (scan_find(", "two words count whose difference is no pointer")

m = of("src/search/disguise/own_xors.c", "unit:disguise")
m("h->class == WHOLE || (h->class < FEW && in_use[h->class]) || is_member(o, h)", "true", "small numbers count that chance explains")
m("	for (uint64_t offset = 0; offset <= OFFSET_MOST; offset += WORD)", "	for (uint64_t offset = 0; offset < WORD; offset += WORD)", "the structure begins where the member does")

m = of("src/search/disguise/xor_rings.c", "unit:xor_rings")
m(" && link_at(g, head) == (first ^ at)", "", "the head's own link does not count")
m("objects > 1", "objects > 3", "a ring needs more objects than one")
m("	if (may_be_node(g->r, address) && g->reads++", "	if (g->reads++ > READS_MOST && g->reads++", "a ring does not lead through nodes elsewhere")

m = of("src/search/disguise/disguised_found.c", "unit:disguise")
m("pointer = in_pointer(p, at);", "pointer = false;", "the low half of a pointer is a handle")
m("		if (v->form == DISGUISE_HALVES && !has_other_half(p, at, address))", "		if (0)", "one half is two")
m = of("src/search/disguise/disguised_found.c", "unit:images")
m("	return v->form == DISGUISE_RECODED || v->form", "	return v->form", "a word in another order may be a pointer")

m = of("src/search/memory/memory_walk.c", "unit:scan")
m("			lo += n < CHUNK ? n : n - (WORD - 1); // a word may lie across", "			lo += n;", "pieces do not overlap",
  survives="the first bytes behind each piece are read with it")
m("		if (got < n && !may_end(m)) {", "		if (0) {", "memory that cannot be read is empty")
m("		lo = a < w->nskip && w->skip[a].lo < hi ? w->skip[a].hi : hi;", "		lo = a < w->nskip && w->skip[a].lo < hi ? w->skip[a].hi + 8 : hi;",
  "the word behind dead memory is not read")
m("	bool own = m->perms[1] != 'w';", "	bool own = true;", "a page of a file that it may write is not read")

m = of("src/search/memory/memory_pages.c", "unit:memory")
m("	p->end = arg.walk_end;", "	p->end = arg.end;", "where there are more touched pages than are told at once, the others are none")
m("		if (!touched || (own && entries[i] & MEMORY_FILE))", "		if (!touched)", "a page of a file is the program's own copy")
m("		else\n			return;\n", "", "where more touched pages are than are told at once, the others are none")

m = of("src/search/stacks/dead_stack.c", "unit:dead_stack")
m("		if (w >= stack.lo && w < lowest &&", "		if (0 &&", "frames that live on below a stack pointer are dead")
m("			if (!memcmp(page, page + 1, (WORDS - 1) * 8))", "			if (0)", "what lies below a wiped page is the stack's")
m("		span_add(out, from > stack.lo + PAGE ? from : stack.lo + PAGE, to);", "		span_add(out, from, to);", "a stack's lowest page is dead")
m("			if (!(entries[i] & (MEMORY_PRESENT | MEMORY_SWAPPED)))", "			if (0)", "pages that were never touched are the stack's",
  survives="what was never touched holds zeros, and ends the stack by that")

m = of("src/search/stacks/stack_ends.c", "unit:stack_ends")
m("		if (at >= e->v[i].by.lo && at < e->v[i].by.hi)\n			return true;", "		return true;", "any word is explained by an end that something explains")
m = of("src/search/heap/malloc_free.c", "unit:malloc_free")
m("		if (!is_chunk(f, mem, size, entry) || !is_key(f, entry[1]) || !may_list(f))", "		if (!is_chunk(f, mem, size, entry) || !may_list(f))",
  "a pool that looks like a thread's cache is one", "e2e:sound/never_proven/like_cache")
m("	return !mem;\n", "	return true;\n", "a list that is longer than it counts is one",
  survives="only the entries that it counts are left out of the search, and each has been proved")

# ------------------------------------------------------------------ the verdict
m = of("src/engine/witness/control_group.c", "unit:witness")
m("c.changes > one.changes &&", "false &&", "that one was resumed to which nothing led proves nothing")
m("if (!g->coroutine && is_healthy(l, s)", "if (false && is_healthy(l, s)", "healthy coroutines that are not found prove nothing")
m("	if (g->coroutine || (g->unfound && s->rule != RULE_PARKED))\n", "	if (false)\n", "P6a holds where the search misses coroutines")
m("(g->unfound && s->rule != RULE_PARKED)", "false", "P6a holds where the search finds no other coroutine at all")
m("s->rule == RULE_PARKED && !g->found", "false", "one that is parked is as good as lost where the search finds nobody else")

m = of("src/trace/looks/witness.c", "unit:witness_open")
m("(p != PROOF_P6A || w->disguises)", "1", "plain pointers are all")
m(" && answers(o, PROOF_P6A) > 0;", ";", "a quiet program has no disguises")

m = of("src/trace/looks/witness.c", "e2e:verdicts/likely/control_line")
m("	e = e ? e : doubt(set);\n", "", "what was proven before is believed where the search misses coroutines")

m = of("src/trace/looks/witness.c", "unit:witness_open")
m("if (set->items[i].items[PROOF_P6A].holds == HOLDS_TRUE)", "if (false)", "a word is a way though nothing led there")
m("if (is_of_memory(w->open[i]))", "if (w->open[i])", "a registration is no way where no word is")

m = of("src/frames/chain.c", "e2e:asio20/shape/dropped/gxx")
m("		if (!c->sure[at]) {", "		if (at == first) {", "a promise that holds the innermost coroutine awaits it")
m = of("src/symbols/suspension.c", "unit:symbols")
m("called.n && has_word(&called.frames[called.n - 1], word);", "called.n;", "any call is that of await_suspend")
m("*exact = stored && !f->c->merged;", "*exact = stored;", "the line of an instruction that stores several states is that of the co_await")
m = of("src/frames/stores.c", "unit:stores")
m("			s.nlast = 0;\n", "			;\n", "the await_ready of another co_await is near enough")
m = of("src/engine/stackless/awaiting_ways.c", "e2e:asio20/shape/two/gxx")
m("(e->at < w->promise.lo || e->at >= w->promise.hi)", "true", "what a promise leads to is awaited")
m = of("src/engine/stackless/awaiting_ways.c", "e2e:asio20/rest/boost")
m("(e->to == w->leaf || !variable_known(w))", "true", "nobody knows a variable of one that awaits")
m = of("src/engine/stackless/awaiting_ways.c", "e2e:asio20/shape/cut/gxx")
m("e->from == w->awaiter && (e->at", "e->from == GRAPH_OUTSIDE && (e->at", "whoever awaits a coroutine can resume it")
m = of("src/analyze/report/stackless_sums.c", "e2e:asio20/shape/two/clangxx")
m("return s->promise_at >= PROMISE + bytes;", "return true;", "the same of Clang's")
m = of("src/analyze/report/stackless_sums.c", "e2e:asio20/shape/cut/clangxx")
m("return s->promise_at >= PROMISE + bytes;", "return false;", "any word of one that awaits it is its promise's")
m = of("src/analyze/case/stackless_case.c", "e2e:stackless/withdrawn/running")
m("return l->control ? l->control :", "return", "the same of C++20 coroutines")
m = of("src/analyze/case/stackless_case.c", "e2e:stackless/disguised/as_digits/gxx")
m("s->unknown && !is_quiet(l, s) ?", "false ?", "a C++20 coroutine is lost if none of its kind was ever found")
m = of("src/analyze/case/stackless_case.c", "e2e:stackless/never_seen/popped/gxx")
m("return s->unknown && l->quiet &&", "return false &&", "where no thread can run any more, an unknown form is a doubt")
m = of("src/engine/stackless/found_waits.c", "e2e:stackless/disguised/registered_before/gxx")
m("one->close && closes_waited(one->close)", "one->close", "a registration whose event came leads to what waits for something else")
m = of("src/engine/stackless/known_waits.c", "unit:known_waits")
m("return words == IN_USE || intact ?", "return words ?", "a copy of a handle that is left of before makes no form known")
m("if (told && k->v[at].armed)", "if (false)", "one that is not found though an event may come refutes the form")

m = of("src/engine/witness/long_sleep.c", "unit:long_sleep")
m("		    now_ns - m->since_ns < LONG_SLEEP_AT_LEAST_NS ||\n", "", "a pause of a moment is over")
m("		    now_ns - m->since_ns < TIMES * m->longest_ns)", "		    0)", "a pause is over that is as long as others were")
m("	m->since_ns = ctp_loop_waits(t) ? now_ns : 0;", "	m->since_ns = now_ns;", "a thread that is busy sleeps")
m = of("src/analyze/case/pauses.c", "unit:obligations")
m("!proof_beyond_reach(obligations_held(o)) && ", "", "what nothing can resume is paused")
m("(always || image_pauses(s->image))", "always", "a program that pauses its descriptors is at fault")
m = of("src/preload/fds/fd_registrations.c", "unit:interest")
m("	       e->event_time < ctp_peek(&r->states[hint >> CTP_ID_BITS].since);", "	       true;", "who was woken is paused")
m("| (in || out ? CTP_FD_RESTORED : 0));", "| CTP_FD_RESTORED);", "who registers for itself goes on with what was paused")
m = of("src/preload/fds/fd_waits.c", "unit:interest")
m("if (CTP_UNLIKELY(w->how == CTP_WAIT_REFUSED)) {", "if (0) {", "who tried nothing waits for what was refused")

m = of("src/preload/fds/fd_taken.c", "unit:incidents")
m("|| !own ||", "||", "who tries what another has registered loses what that one reads")
m("(e->flags & (CTP_FD_MANY | CTP_FD_LISTENS))", "(e->flags & CTP_FD_LISTENS)", "of several waiters that one loses which is not served")
m(" || !fd_waits_for(hint, fd, e->gen))", ")", "who waits for something else loses it")
m = of("src/trace/image_waits.c", "unit:image_waits")
m("if (!s || (f->learned == id && !ctp_stands_there(f, s)))", "if (!s)", "who was woken elsewhere waits for what it registered once")
m("is_spent(f) && f->event_time < s->since ?", "0 ?", "a one-shot that has fired leads to who had to wait for it")
m("(!at || at->waits || !at->parked)", "1", "who has read from a descriptor does not wait at a lock")
m("at->waits |= waits;", "", "those who wait for descriptors stand at a lock where one is parked")
m = of("src/trace/unheard_waits.c", "unit:unheard_waits")
m("f->event_time < s->since &&", "true &&", "who was told of it is not healthy")
m("d->ns >= d->ready_ns + LONG_NS && ", "", "what came just now was not told")
m("manifest_ns(clock, s->since) <= d->ready_ns;", "true;", "what was there before it suspended was not told")
m("f->last_in == s->id && ", "", "what another reads was not told")
m = of("src/engine/witness/descriptors.c", "unit:descriptors")
m("&& !is_gone(&p)", "", "who has ended has nothing open")
m(" && a->last_in == f->last_in;", ";", "what was read since is still there")
m = of("src/analyze/facts/place.c", "unit:place")
m("		if (2 * same > all)\n", "		if (same > 0)\n", "what one stack has is every stack's")
m("all >= STACKS_LEAST && ", "", "two stacks tell what is a layer")
m = of("src/trace/taken.c", "unit:taken")
m("i->value[1] == (f->last_in & ~CTP_FD_SEVERAL);", "true;", "who has read since is undecided")
m("q->changes == s->changes && q->ready)", "false)", "who is about to be woken is undecided")
m("f->event_time > ctp_state_latest(s) && ", "", "who was woken for nothing is healthy")
m(" && f->event_time > latest->value[0];", ";", "what was read behind its event was not taken")
m("i->fd == w->fd && i->gen == w->gen &&", "i->fd == w->fd &&", "a read of another generation counts")

m = of("src/engine/memory/free_list.c", "unit:free_list")
m("		if (!c || c->living)\n			return 0;", "		if (!c)\n			return 0;", "a list that leads to a living coroutine is a free list")
m("(m->ended == first->ended || m->at != at))", "(m->at != at))", "a list of a descriptor's waiters is a free list")
m("(m->ended == first->ended || m->at != at))", "(m->ended == first->ended))", "a list to whose middle another word leads is a free list")
m("	if ((before && (before->living ||", "	if ((before && (", "a list that begins in a living coroutine is a free list")
m("		if (c->member == FREE_LIST_NO_MEMBER || f->members[c->member].at != at ||", "		if (c->member == FREE_LIST_NO_MEMBER)\n			break;\n		if (",
  "an array with a living coroutine is a free list")

m = of("src/analyze/case/obligations.c", "unit:obligations")
m("	return o->cancelled && is > VERDICT_SUSPECT ? VERDICT_SUSPECT : is;", "	return is;", "what was cancelled into a pool is lost")
m("c->how == CTP_HOW_REUSED &&\n		    c->stack == s->state->stack)", "c->how == CTP_HOW_REUSED)", "whoever stands elsewhere than those that were discarded is discarded")
m("return sp > c->hi || (sp < c->lo && !followed);", "return sp > c->hi;", "a stack below its own is its own")
m("return sp > c->hi || (sp < c->lo && !followed);", "return sp < c->lo && !followed;", "a stack above its own is its own")
m("	else if (!c->runs)\n		say(o, PROOF_P1, HOLDS_FALSE", "	else if (0)\n		say(o, PROOF_P1, HOLDS_FALSE", "one that never ran is lost")
m("	else if (s->world->counts.reused)", "	else if (0)", "a pool that takes stacks back is forgotten")
m("	else if (gaps & OBLIGATIONS_GAPS)", "	else if (0)", "gaps of the tables are forgotten")
m("	if (end && end <= closed) {", "	if (end && end < closed) {", "a close at the very end is a fault")
m("	} else if (obligations_draining(s, &s->cand->was, at)) {", "	} else if (0) {", "a program that drains is at fault")
m("(seen_by(s, PROOF_P5, end) || seen_by(s, PROOF_P6A, end) || slept);", "1;", "P7 without a chance before the end")
m("	} else if (asked && (asked <= closed", "	} else if (0 && (asked <= closed", "PROVEN in what may be an end")
m("	} else if (asked && (asked <= closed", "	} else if (asked && (1", "what was lost before a reload is not PROVEN")
m("	if (s->state->flags & CTP_STATE_SHARED_STACK)", "	if (0)", "a stack that is copied elsewhere is unreachable")
m("(held & must) == must && proof_witnessed(held) ?", "(held & must) == must && p6 ?", "PROVEN without P4")
m("unsigned must = proof_bit(PROOF_P1) | proof_bit(PROOF_P7);", "unsigned must = proof_bit(PROOF_P7);", "PROVEN without P1")
m("	if (p[PROOF_P0].holds != HOLDS_TRUE || ending)\n		return o->beside", "	if (ending)\n		return o->beside", "PROVEN without P0")
m("== must && proof_witnessed(held) ? VERDICT_PROVEN : VERDICT_LIKELY;", "== must ? VERDICT_PROVEN : VERDICT_LIKELY;", "PROVEN without P6")
m("t->slept_epoch >= epoch || asleep(s, t);", "t->slept_epoch + 1 >= epoch || asleep(s, t);", "P5 by the table with the epoch before the close")

m = of("src/analyze/case/obligations_wait.c", "unit:obligations")
m("			only = HOLDS_FALSE;\n			*told &=", "			*told &=", "another descriptor that it waits for is forgotten")
m("beside = other && !same_number;", "beside = false;", "another registration that leads to it is forgotten",
  survives="the engine says the same (kernel.c, other_fds); a test of this side alone needs an image that was read from a file")
m("	    o->items[PROOF_P2].holds == HOLDS_TRUE && !told)", "	    0)", "a coroutine in a pool is PROVEN by P6b")

m = of("src/search/disguise/families.c", "unit:disguise")
m("		if (s->rows[i].length > s->by_chance)", "		if (s->rows[i].length)", "a row as long as those by chance counts")

m = of("src/analyze/case/obligations_stuck.c", "unit:obligations_stuck")
m("		bool must = i == PROOF_P3 || i == PROOF_P4;", "		bool must = i == PROOF_P3;", "a finding without P4")
m("	else if (obligations_draining(s, f && f->gen == (uint32_t)s->witness->gen ? f : NULL, left))", "	else if (0)", "a program that drains is at fault")
m("(s->witness->rule != RULE_PARKED || seen_by(s, PROOF_P6A, ns));", "true;", "a program that ends is at fault for whom it forgets")
m("	if (end && end <= since)", "	if (0)", "a program that ends is at fault",
  survives="what was seen of one that suspended later was seen after the end, which the next branch but one says")

m = of("src/engine/suspects/signal_wait.c", "unit:signal_wait")
m("		if (!none && (blocked & bit(sig)))", "		if (blocked & bit(sig))", "the ends of children come though SIGCHLD is ignored")
m("sig == SIGCHLD && (ignored & bit(sig))", "(ignored & bit(sig)) != 0", "what is ignored and blocked never comes")
m("		return t->args[4] != 0;", "		return false;", "the mask of a wait is that of its thread")

m = of("src/engine/suspects/unheard.c", "unit:unheard")
m("	if (!firm || s->ready != 1 ||", "	if (s->ready != 1 ||", "a try alone, without a registration, is a wait")
m("	if (!firm || s->ready != 1 ||", "	if (!firm ||", "what is not ready would have woken it")
m("(f->last_out & ~CTP_FD_SEVERAL) == s->s.id &&", "true &&", "a connect that is under way is a write in vain")
m("(other || !ctp_stands_there(&s->c.was, &s->s));", "true;", "who waits where it waits for what it reads has the wrong mask")
m("waits_elsewhere(s, f->last_in == s->s.id);", "waits_elsewhere(s, false);", "where data resumed it before, it waits for urgent data")
m("waits_elsewhere(s, !reads);", "waits_elsewhere(s, true);", "who drops what does not fit, and waits for commands, waits for room")
m(" || is_told_otherwise(s))", ")", "who writes in vain and is polled for reading is in no set")
m("f->polled > f->polled_out && f->waiter[1])", "0)", "a writer in the set of those that are read is not looked at")
m("	       s->c.was.event_time >= s->s.since;\n}\n\nint64_t", "	       1;\n}\n\nint64_t", "an end that comes to who has read all it wanted is left unread")
m("u->filled > 1 &&", "0 &&", "a set is not passed by where a loop never sleeps in one")
m = of("src/engine/witness/unheard_judge.c", "unit:unheard")
m("|| (rows->n && s->unregistered))", ")", "a row that is made again is none")
m("(turns && !passed)", "turns", "a loop that naps outside its sets may come to each of them for ever")
m("turns && waited && turned", "turns && turned", "a loop that naps passes by a set at once")
m("	if (*l->hidden)", "	if (0)", "a set that /proc does not show has no row")
m("else if (!stuck_wait_full(s) && is_full_until(l, s))", "else if (0)", "a source is left out for good while its sink is full")

m = of("src/engine/suspects/stuck_wait.c", "unit:stuck_wait")
m("return mode != O_RDONLY;", "return true;", "the end of a pipe that is read may have room")

m = of("src/trace/image.c", "unit:obligations")
m("if (!ns || another ||", "if (!ns ||", "a program that reloaded by SIGHUP began to end then")

m = of("src/analyze/pass/unpolled.c", "unit:unpolled")
m("copied <= world_ns(w, t->wait_since) + ASLEEP_NS)", "0)", "a thread that has only just entered its wait sleeps")
m("t->wait_since <= since ||", "0 ||", "a wait entered before the descriptor was polled counts")
m("bool long_ago = copied > world_ns(w, since) + PATIENCE_NS;", "bool long_ago = true;", "a loop with a timeout gets no time to go on")
m("&& f->event_time < since &&", "&&", "an event that came since does not count")
m("f->gen == s->gen && f->reg_epfd < 0 &&", "f->reg_epfd < 0 &&", "a later generation is the one that it waits for")
m("image_polled_by(s->image, f) == IMAGE_POLLED_OUT &&", "1 &&", "a descriptor is unpolled though no thread sleeps with a set")
m("!image_other_registration(s->image, s->state, s->state->lo, s->fd, &same);", "(void *)&same;",
  "another registration that leads to it is forgotten")
m("if (e->exit_begun || e->signal_taken || e->listener_closed)", "if (e->exit_begun || e->signal_taken)", "a program that drains is at fault")
m("!(f->flags & CTP_FD_LISTENS) ?", "1 ?", "a listener's events count for one coroutine")

m = of("src/analyze/report/healthy.c", "unit:healthy")
m("row == IDMAP_NONE || seen[row])", "row == IDMAP_NONE)", "one with two cases is subtracted twice")
m("m->replaced ||", "0 ||", "one of an image that was replaced is subtracted")
m("!(c->pass->waits || c->pass->idle || c->pass->unwell)", "!(c->pass->waits || c->pass->idle)", "who is woken for nothing is healthy")

m = of("src/analyze/report/waiters.c", "unit:waiters")
m("if (r->results.cases[i].about.image == m)", "if (1)", "a case of another process hides a waiter")
m("g->oldest = s->since < g->oldest->since ? s : g->oldest;", "", "the first of a group is the oldest")
m("group_by_key(r, m, s, image_told_stack(m, s)) << 3 | kind;", "group_by_key(r, m, s, s->stack) << 3;", "a group holds healthy and parked ones")

m = of("src/analyze/report/accounting.c", "unit:accounting", "unit:waiters")
m("flags & IMAGE_ROW_HEALTHY ?", "1 ?", "who waits for what ended is listed as healthy")

m = of("src/trace/changes.c", "unit:changes")
m("	if (change->n > n) {", "	if (change->n != n) {", "a number that falls is a gap")
m("		if (!e->native)\n", "		if (1)\n", "a thread's own stack is a coroutine")
m("	e->n = n;\n", "", "a number that comes again takes back what was counted")

m = of("src/analyze/case/results.c", "unit:results")
m("	if (c->proof.verdict == VERDICT_NONE)\n		return 0;", "", "a case without a verdict counts")
m("c->pass->waits && c->about.state &&", "c->about.state &&", "that a coroutine ran undoes what is said of something else")
m("	return c->proof.verdict == VERDICT_PROVEN ? results_ran_again(f, c->id) : 0;", "	return 0;", "a proof that came to nothing is not said")
m = of("src/analyze/case/case.c", "unit:results")
m("at && c->events[at - 1].ns > e.ns;", "at && c->events[at - 1].ns >= e.ns;", "of two events at once the later one comes first")
m("	if (!ticks || c->nevents == CASE_EVENTS)", "	if (c->nevents == CASE_EVENTS)", "an event of which the time is not known is the first")
m("s->life == CTP_SUSPENDED && shot > since ?", "shot > since ?", "one that runs has been suspended for long")

m = of("src/analyze/parked/parked_resting.c", "unit:parked_resting")
m("if (site && site->ended)", "if (site)", "idle workers are told")
m("ctp_in_pool(s) ||", "", "who waits in a pool is told")
m("|| polls(m)", "", "who waits for a descriptor of a poll is told")
m(" && !polls_none(t)", "", "who polled before polls now")

m = of("src/analyze/parked/parked_history.c", "museum:ok003_no_more_work")
m("	p->who += !(of->left >> (of->at - 1U) & 1);", "	p->who += !of->left;", "who was resumed from one place counts at no other", "unit:parked_kept")
m("u->refuted |= !u->outside && !ended;", "", "workers that were resumed while all were idle use a lock")

m = of("src/analyze/parked/parked_together.c", "museum:ok003_thread_is_slow")
m("2 * u->handed > p->left", "true", "those whom a thread resumes use a lock")

m = of("src/analyze/parked/parked_together.c", "museum:ok003_report_is_slow")
m("(g == PARKED_MADE_ALIKE || parked_holders_none_alike(l, i))", "true", "one that never had to wait does not have the lock")
m("parked_holders_gave(p) && ", "", "workers that rest with all others share a lock", "unit:parked_together")

m = of("src/analyze/parked/parked_kept.c", "museum:ok003_query_is_slow")
m("parked_holders_none(l, i) &&", "", "a query that is slow keeps no permit")

m = of("src/analyze/parked/parked_kept.c", "museum:ok003_tokens_are_late")
m("parked_holders_gave(p) &&", "", "who hands out tokens must be one of those that wait for them")

m = of("src/analyze/parked/parked_behind.c", "museum:ok003_came_one_by_one")
m("(p->came_last - p->came_first) * TOGETHER < p->shortest", "true", "those who came one after the other came together")

m = of("src/analyze/parked/parked_drained.c", "museum:ok003_permit_held")
m("		is[p] = none_inside(u, p);", "", "who waits for a holder that lives waits for one that has ended")

m = of("src/analyze/parked/parked_drained.c", "museum:ok003_pool_keeps_two")
m("(u->over_ns < l->v[p].came_first || came_first_of_all(l, p))", "true", "a pool that ends those it does not need has no permits left")

m = of("src/engine/memory/cycle_hubs.c", "unit:cycle_hubs")
m("if (p->e[i]->hub == p->e[k]->handle)", "if (0)", "records in a ring are locks")
m("(handles && alike(h, p));", "(handles && (alike(h, p) || 1));", "the ends of two lists are locks")
m("(p->n && e->offset != p->e[0]->offset)", "0", "objects that are not alike are locks")
m("all = m->pc == first->pc && k < m->n", "all = k < m->n", "frames of different functions are compared")
m("has |= words[i] == handle;", "has = true;", "any pointer to a stack is a queue's")
m("word - handle == distance && distance", "distance", "links of different lists are one")

m = of("src/engine/memory/container_hubs.c", "unit:container_hubs")
m("v[1] <= v[0] || v[2] < v[1]", "v[2] < v[1]", "an empty vector queues whom it had")
m("|| v[0] == v[4] ||", "||", "an empty deque queues whom it had")
m("node[1] == before) {", "true) {", "a partner's record is a node of a list")
m("own && own == n && j < n", "own && j < n", "a container of anything is a queue")
m("(n && (e->distance != p[0]->distance || e->shape != p[0]->shape))", "0", "objects that are not alike are locks")
m("	return a - x->slot == b - y->slot;", "	return true;", "a field of a coroutine is its handle")
m("from = is_data(f, from) ? from : at;", "from = at;", "what lies before a queue is no owner")

m = of("src/engine/memory/pth_mutexes.c", "unit:pth_mutexes")
m("|| e[0] != event || e[1] != event", "", "who waits with a time limit waits for good")
m("(uint32_t)mutex[2] != HELD ||", "", "a mutex that nobody has is one")
m("|| !has(h, &h->q->v[on], e[i])", "", "an owner need not know its mutex")
m("|| w[i].distance != w[at].distance", "", "any word within a control block is a handle")

m = of("src/engine/memory/hubs.c", "unit:cycle_hubs")
m("link < m->sp ||", "", "a node counts whose frame has returned")
m("reaches(h, at, i) ? HUBS_NOBODY : is", "is", "what leads to two coroutines is a handle")
m("reaches(h, at, i) ? HUBS_NOBODY : is", "HUBS_NOBODY", "the object that lies behind hides whose handle it is")

m = of("src/engine/memory/hub_holders.c", "unit:hub_holders")
m("if (!has)\n		return 0;", "", "any pointer to a stack is a queue's")
m("((!linked && held_by_waiter(h, words[k], &q, out))", "((held_by_waiter(h, words[k], &q, out))", "the first of a list that goes through coroutines has the lock")
m("h->q->begin(h->q->ctx, word) == h->q->begin(h->q->ctx, m->slot)", "true", "a link into the next object is one into the control block")
m("	if (m->slot >= m->stack.lo && m->slot < m->stack.hi)\n		return is_above_stack(word, m);", "", "who leads into a stack is linked through control blocks")
m("	return word - m->stack.hi < HUBS_CONTROL_BYTES;", "	return false;", "a list through blocks above their stacks is not followed")
m("words[k] != out->hub &&", "", "an empty list's link to itself is a handle")
m("return !has_owner(h, words, k > i ? k : i, &q);", "return true;", "the next lock of a table is this one")
m("(h->q->is_own && h->q->is_own(h->q->ctx, hub, &h->q->v[q->waiters[0]]))", "false", "a link from its own control block to a node is a lock's queue")

m = of("src/analyze/parked/parked_held.c", "unit:parked_held")
m("all = all && (!s || unreached(m, s));", "", "what leads to a waiter is no way to it")
m("l->parked.n && !parked_idle(m)", "l->parked.n", "idle workers are stuck")
m("all || quiet || l->sleeps", "true", "what remembers one who has ended is a lock")

m = of("src/analyze/parked/parked_idle.c", "unit:parked_held")
m("&& !t->switches)", ")", "a thread that runs coroutines gives work to itself")
m("&& f->event_time)", ")", "a row that brought nothing gave work")

m = of("src/analyze/parked/parked_unspoken.c", "unit:parked_unspoken")
m("if (f->last_in || !end)", "if (!end)", "who has read from it has heard nobody")
m("if (o->last_out)", "if (0)", "who has written has not")

m = of("src/analyze/parked/parked_unanswered.c", "unit:parked_unanswered")
m("(f->opened_how == CTP_CALL_ACCEPT ||", "(1 ||", "who reads an answer was asked")
m("(copy && is_of_listener(", "(copy || is_of_listener(", "a copy is of a connection that was accepted")
m("f->latest == CTP_FD_READ_LAST &&", "1 &&", "who has answered has not")
m("to->since_ns > a->since_ns;", "1;", "who came before it has passed it")
m("a->passed >= PASSED_LEAST &&", "1 &&", "one alone is passed")
m("alike->over >= OVER_LEAST &&", "1 &&", "few lives tell how long an answer takes")
m("answered && !p->left", "answered", "where others were resumed it waits beside those where none was")
m("waits > TIMES * a->longest)", "1)", "it is late as soon as others have passed it")
m("waits > TIMES * alike->life_ns)", "1)", "it is late as soon as others have ended")
m("u->together[a->place] >= TOGETHER_LEAST &&", "1 &&", "one alone that has answered before is stuck")
m("answered && p->left <= p->parked &&", "answered &&", "where many were resumed, few were")
m("waits > TIMES_MORE * p->longest ?", "1 ?", "it is late after ten times the longest wait there")
m("a->place != at - 1 ||", "0 ||", "who was resumed elsewhere has passed it")
m("!(parked_history_goes_on(w, u->l, p) || parked_history_rests(w, u->l, p))", "0", "what nobody has had a chance to resume is late")

m = of("src/analyze/parked/parked_resumer.c", "unit:parked_resumer")
m("r->resumed >= RESUMED_LEAST &&", "1 &&", "two waits say who resumes them")
m("4 * r->handed >= 3 * r->resumed &&", "1 &&", "others resume them, too")
m("r->least &&", "1 &&", "one was resumed without a turn of its")
m("(r->most == 1 ? 1 : TURNS_TIMES * r->most)", "1", "it takes several turns, and has had one")
m("home_of(u, s->stack) == is->home &&", "1 &&", "it is still at it, elsewhere")
m("|| u->was[row] == p + 1)", ")", "who is told with another was told by that one")
m("t->ns < s->ns + SOON_NS", "1", "who ran a while before has resumed it")
m("from->life == CTP_RUNNING", "0", "the scheduler resumes everybody")

m = of("src/analyze/parked/parked_gone.c", "unit:parked_resumer")
m("r->early &&", "1 &&", "a client's session is the only publisher")
m("if (all < ALL_LEAST)", "if (!all)", "three times are always")
m("r->resumed >= OWN_LEAST &&", "1 &&", "who was told twice waits for nobody else")
m("!at->resumed &&", "1 &&", "who waits where others were resumed has gone")

m = of("src/engine/memory/st_mutexes.c", "unit:st_mutexes")
m("|| next[1] != at ||", "||", "what leads on is a ring")
m("state_of(x->h, node - x->link) != LOCK_WAIT", "0", "who waits for a condition waits for the mutex")
m("&& (state == RUNNING || state == ZOMBIE)", "", "an owner that waits has ended")
m("return first;", "return true;", "a ring of anything has a mutex")

m = of("src/analyze/facts/silent_peers.c", "unit:silent_peers")
m("p->several >= SEVERAL))", "true))", "one that is late stands out as several do")
m("span_ns > TIMES * most_took(p));", "1);", "some waits of many say nothing")
m("f->event_time >= s->since ||", "0 ||", "a peer that was heard since is silent")
m("return d && d->asked && !d->ready &&", "return d && d->asked &&", "a peer that has closed its end is silent")
m("d->unread <= 0 &&", "1 &&", "a peer whose bytes lie unread is silent")
m("d->ns >= since + LONG_NS &&", "1 &&", "a peer of which the kernel was asked at once is silent")
m("!is_own(u->m, f);", "1;", "the program's own other end is a peer")
m("p->ended ? p->n > 0 : p->n >= SEVERAL && !u->lost", "p->ended ? p->n > 0 : !u->lost", "one alone stands out where no wait has ended")

m = of("src/engine/sets/equal_words.c", "unit:equal_words")
m("	return lasted <= EQUAL_LATE_NS;", "	return true;", "what differed for long and was taken then is a queue")
m("	if (p->step && by % p->step && p->step % by)\n		return false;", "", "words that move on by any number are a queue's ends")
m("return !none_ran && !is_avoided(l, v) && moves(p, v);", "return !is_avoided(l, v) && moves(p, v);", "what others move while nobody here runs is theirs to take")
m("if (taken && (none_ran || !closes(p, l->ns)))", "if (taken && !closes(p, l->ns))", "what others take is not taken")
m("	if (p->since_ns && e->came)\n		return false;", "", "who comes to wait while they differ waits for them to be equal")
m("			if (v != value(e, a + d * bytes, bytes) || is_avoided(l, v))", "			if (v != value(e, a + d * bytes, bytes))",
  "the links of a free block are a queue's ends")
m("if (e->nmembers == EQUAL_MEMBERS) {\n		e->many = true;", "if (e->nmembers == EQUAL_MEMBERS) {", "all who waited there are known")

m = of("src/engine/memory/objects.c", "unit:objects")
m("bool on = i && m->v[i - 1].hi == m->v[i].lo && alike(&m->v[i - 1], &m->v[i]);", "bool on = false;", "a pool in many mappings is many pieces")
m("nearest > (64ULL << 30) + p->bytes;", "0;", "an address that the program chose stands nowhere")

m = of("src/engine/suspects/stuck_wait.c", "unit:stuck_wait")
m("&& strstr(text, \"ticks: 0\\n\");\n	bool period", ";\n	bool period", "a timer that has expired, and was not read, ticks no more")

m = of("src/engine/sets/set_outside.c", "unit:set_outside")
m("bool same = i < s->n && proc_tasks_still(&is->tasks, now);", "bool same = i < s->n;", "a child that has run since has slept")

m = of("src/trace/looks/witness.c", "unit:witness_lines")
m("if (answers(o, PROOF_P3) >= 0)", "if (1)", "a look that could tell nothing takes away what weakens the answer before it")
m("if (memory > 0) // garbage stays garbage", "if (1)", "a look without a search vouches for the search before it")

m = of("src/analyze/pass/timer_taken.c", "unit:timer_taken")
m("bool is = d && d->disarmed &&", "bool is = d &&", "a timer that is armed has been taken")
m("f->kind == CTP_FD_TIMERFD &&", "1 &&", "what is no timer is one")
m("f->opened < s->since &&", "1 &&", "a timer that was opened since is the one that it armed")
m("f->event_time < s->since &&", "1 &&", "a timer that has expired since was taken")
m("by && by != s->id &&", "by &&", "who disarmed its own has lost it to another")
m("d->ns > world_ns(w, s->since) + LEAST_NS;", "d->ns > world_ns(w, s->since);", "one who has just suspended was forgotten")
m("if (t->life == CTP_THREAD_LIVE && t->switches && t->wait_since > s->since)", "if (t->life == CTP_THREAD_LIVE && t->switches)",
  "a loop that has not slept since has had its chance")
m("(m->row_flags[row] & IMAGE_ROW_PARKED) &&", "1 &&", "who has a known wait waits for the timer that it armed")
m("!ctp_in_pool(s) && !image_ran_since(m, s);", "!image_ran_since(m, s);", "who is in a pool waits for the timer that it armed")

m = of("src/ctp/wait_inference.h", "unit:wait_inference")
m("(own || f->reg_time >= ctp_state_latest(c))", "true", "who has run since waits for what could not be registered before")
m("return c->armed && c->armed_in == (uint8_t)(c->changes - 1) ?", "return c->armed ?", "a timer of an earlier slice is the last one's")

m = of("src/analyze/pass/cycle_locks.c", "unit:cycle_locks")
m("verdict = rests && !left ?", "verdict = 1 ?", "whoever waits at a mailbox of its own waits for itself")
m("all = all && closed(c, s);", "all = closed(c, s) || 1;", "a circle is closed though something leads to it")
m("(o->firm || !left)", "true", "partners that speak to each other are likely in a circle in a quiet program")
m("&& complete && !p->by_hand)", "&& (complete || 1))", "a circle is likely beside a gap")
m("o->firm || !left ? VERDICT_SUSPECT", "true ? VERDICT_SUSPECT", "records of partners are suspect where they are resumed")
m("s->changes == w->changes &&", "", "a circle counts though one has run since")
m("o->container && !all ? VERDICT_SUSPECT", "false ? VERDICT_SUSPECT", "who tells others and these are likely in a circle")
m("!image_nwaits(s) &&", "", "one that waits for a descriptor is in a circle of locks")

m = of("src/trace/parked_place.c", "unit:parked_place")
m("most + 1 < least ? least : most + 1", "least", "frames that all share say where one waits")
m("i < n && i < p->frames; i++", "i < n; i++", "a place is a whole stack")

m = of("src/analyze/pass/cycle_ends.c", "unit:cycle_ends")
m("	if (one & CTP_FD_SEVERAL)", "	if (0)", "several users are one")
m("*who && *who != one ? CYCLE_NOBODY : one;", "one;", "of two users the last one counts")
m("wrote ? e->fd->last_out : e->fd->last_in);", "e->fd->last_out);", "who reads is who writes")
m("	also(&who, sitter(c, other));\n", "", "who waits at the other end is forgotten")
m("counter ? f->desc : f->peer_desc,", "f->peer_desc,", "an eventfd has another end")

m = of("src/analyze/report/filter.c", "unit:filter")
m("return !strcasecmp(rule, print) || !strcasecmp(rule, f->pass->rule);", "return !strcasecmp(rule, print);", "a rule alone suppresses nothing")
m("	return (!strcasecmp(rule, f->pass->rule) || !strcmp(rule, \"*\")) &&", "	return", "a line suppresses what another rule says")
m("if (r->nfindings == before && !is_comment(line))", "if (r->nfindings == before)", "a comment matched nothing")

m = of("src/analyze/case/case_slice.c", "unit:case_slice")
m("			if (m->slices.items[i].rule == rule)", "			if (1)", "a line of another rule makes a case")
m("	if (fd && fd->gen == i->gen) {", "	if (fd) {", "a later generation is the one of which the line speaks")
m("= case_completeness(complete);", "= case_completeness(true);", "what was not seen is complete")

m = of("src/analyze/report/describe.c", "unit:describe")
m("c->proof.verdict < VERDICT_LIKELY && p->suspect", "c->proof.verdict < VERDICT_SUSPECT && p->suspect", "a suspicion is put as a certainty")
m("(f && (f->gen != gen || f->life == CTP_FD_CLOSED));", "(f && f->life == CTP_FD_CLOSED);", "a generation before this one is open")
m("(s->waits[i].fd != c->fd || s->waits[i].gen != c->gen))", "s->waits[i].gen)", "the finding's own descriptor is listed twice")

m = of("src/analyze/report/group_by.c", "unit:group_by")
m("key = (key ^ (uint64_t)c->about.image->index << 48) + 1;", "key += 1;", "groups of two processes are one")
m("!s->creator && !(s->flags & CTP_STATE_FOREIGN) &&", "!s->creator &&", "one that nobody saw made has a creator")
m("		return x->n > y->n ? -1 : 1;", "		return x->n > y->n ? 1 : -1;", "the smallest group comes first")

# ------------------------------------------------------------------ the library's side
m = of("src/preload/fds/fds.c", "unit:fds", "unit:fd_candidates", "unit:fd_ready", "unit:fd_waits")
m("	bool open = e->life == CTP_FD_OPEN && !fds_marked(e);", "	bool open = e->life == CTP_FD_OPEN;", "an end that is under way went unseen")
m("		return (x->open || !one) && e->closed_gen != *gen;", "		return false;", "an end that an opener overtook is forgotten")
m("		return e->life == CTP_FD_OPEN; // else a call inside this one has ended it", "		return true;", "a close inside a close counts twice")
m("		bool waited = fd_waits_any(e, fd);", "		bool waited = false;", "a close under a waiter is not posted")
m("	if (gen == e->gen && (x->open || !one))\n		fds_unmark(e);", "", "a close that failed leaves its mark")
m = of("src/preload/fds/fd_candidates.c", "unit:fds", "unit:fd_candidates", "unit:fd_ready", "unit:fd_waits", "unit:sets")
m("	return ctp_add64(&ctp_tracer->region.ext->epoch, 1) + 1;", "	return ctp_add64(&ctp_tracer->region.ext->epoch, 1);", "a candidate has the epoch before the close")
m("	if ((is == CTP_CAND_EMPTY || is == CTP_CAND_FREE) && ctp_cas32", "	if (ctp_cas32", "a candidate is written over one that nobody has seen")
m = of("src/preload/fds/fd_waits.c", "unit:fds", "unit:fd_candidates", "unit:fd_ready", "unit:fd_waits")
m("		if (!ctp_state_retry(s, seen))\n			return found;", "		if (!ctp_state_retry(s, seen))\n			return false;", "nobody waits for what is closed")
m("		if (fd_waits_at(e->waiter[i], w->fd, w->gen, false))\n			ctp_poke(&e->flags, e->flags | CTP_FD_MANY);", "", "the second of two waiters hides the first")
m("(!live && !wait_for_ended(g, s, w))", "!live", "a wait for what has ended is forgotten",
  survives="not shown yet: a lost finding, not a false one")
m = of("src/preload/hooks/hook.h", "unit:sets")
m("	if (CTP_UNLIKELY(seq & 1))\n		ctp_store64(&t->wait_seq, ++seq);", "	seq += seq & 1;", "a wait is noted over another one")
m = of("src/preload/hooks/hook_epoll.c", "unit:fds", "unit:fd_candidates", "unit:fd_ready", "unit:fd_waits", "unit:sets")
m("	fd_registrations_harvested(g, epfd, buf, n);\n", "", "what an epoll wait returned is not noted")
m = of("src/preload/hooks/hook_close.c", "unit:fds", "unit:fd_candidates", "unit:fd_ready", "unit:fd_waits")
m("	bool counts = !failed || !not_open();", "	bool counts = true;", "a close that said EBADF counts")
m("	if (flags & CLOSE_RANGE_CLOEXEC)\n		return", "	if (0)\n		return", "what is only marked to be closed is closed")
m("		bool keeps = from == to || same(from, to); \\", "		bool keeps = from == to; \\", "dup2 onto a duplicate ends the descriptor")

# ------------------------------------------------------------------ who is suspected
m = of("src/engine/suspects/suspects.c", "unit:kernel")
m("	return ctp_state_read(c, &now) && now.id == s->s.id && now.changes == s->s.changes && now.life == CTP_SUSPENDED;", "	return true;",
  "one that is being resumed holds")
m("	if (ctp_state_changes(c) != s->s.changes || ctp_load64(&c->id) != s->s.id)\n		return false;", "	return true;", "a finding is not withdrawn")

# ------------------------------------------------------------------ what is found of programs that nobody traces
m = of("src/frames/destroys.c", "unit:destroys")
m("		if (!s || s->at != MACHINE_FRAME + offset || !s->value.known || s->value.v != (states[i] | 1))", "		if (!s)",
  "any change of a field of two bytes destroys a coroutine")
m("f.offset != 0 || f.width != 8)", "f.width != 8)", "any word that is compared with zero is a frame's first")
m("f.offset == d->index &&", "", "the two functions of a pair ask for different states")
m = of("src/find/chain.c", "unit:find_chain")
m("return same_function(o, target, &f) || jumps_to(o, target, &f, JUMPS_MOST);", "return true;", "a call that leads elsewhere has called it")
m("	if (sites_engine(c->sites, outer))\n		return false;", "", "what is suspended at a switch has called something")
m = of("src/find/code.c", "unit:find_code")
m("		if (image_is_code(im, *target))\n			return true;", "		return true;", "a call leads to data")
m = of("src/find/recipe.c", "unit:recipe")
m("	if (!m.switched && got.regs[CTP_REG_PC].where != RECIPE_BLOCK)\n		return false;", "", "any function that stores its registers saves a context")
m("	got.returns = !m.switched;", "	got.returns = true;", "whoever switches is taken for one that only saves")
m = of("src/find/sites.c", "unit:sites")
m("		add_site(s, h->next, engine);\n	else", "		add_site(s, h->at, engine);\n	else", "who is suspended at a switch is to call it once more")
m("	set_function(s, f.lo, engine);\n	s->grown = true;", "	set_function(s, f.lo, engine);", "what only jumps to a switch has no callers")
m("pc->off != h->off ||", "", "any address that is stored is where a context begins")
m = of("src/find/shapes.c", "unit:shapes")
m("return one.saved % 8 ? 0 : add(s, &one);", "return add(s, &one);", "a stack pointer is odd")
m("			one->holders[one->nholders++] = at + i;", "			;", "nobody holds a stack pointer")
m("		if (!now.created && !sites_engine(s, now.regs[CTP_REG_PC]))\n			return false;", "", "a context without a return address stays one")
m = of("src/find/save.c", "unit:save")
m("		if (!im->threads[i].whole)\n			fprintf", "		if (false)\n			fprintf", "registers that were not read count as zeros")
m("	if (mkdir(path, 0700))\n		return -errno;", "	mkdir(path, 0700);", "a folder that is there is written into")
m = of("src/find/leads.c", "unit:leads")
m("found = found == NONE || found == row ? row : SEVERAL;", "found = row;", "what leads to two coroutines leads to one of them")
m = of("src/find/touched.c", "unit:touched")
m("	if (addr >= t->pages.lo && addr < t->pages.hi)\n		return t->run;", "	if (t->pages.hi)\n		return t->run;", "the pages of one stack are taken for another's")
m = of("src/preload/patch/patch.c", "unit:patch")
m("	return row->family != SWITCHER_RESTORE;", "	return true;", "under threads what restores is patched before what saves: all have left for good")
m = of("src/find/bounds.c", "unit:bounds")
m("		if (!inside(x, sp) || x->state == CONTEXT_RUNNING)", "		if (x->state == CONTEXT_RUNNING)", "a thread runs any coroutine")
m("bool one = x->lo < x->hi && y->lo < y->hi && x->lo == y->lo && x->hi == y->hi;", "bool one = false;", "two contexts on one declared stack are two coroutines")
m = of("src/find/marker.c", "unit:lost")
m("	for (size_t i = 0; m->c->image->guard && i + 8 <= n; i += 8) {", "	for (size_t i = 0; false && i + 8 <= n; i += 8) {",
  "a disguised word on another's stack leads nowhere")
m = of("src/find/lost.c", "unit:lost")
m("		for (int r = CTP_REG_FP; r < CTP_REGS; r++)\n			marker_lead(m, t->regs[r]);", "", "a register leads nowhere")
m("		for (size_t i = 0; i < nheld; i++)\n			marker_lead(&m, held[i] & SPAN_ADDRESS_MASK);", "", "what the kernel holds leads nowhere")
m("live = x->shape.saved && x->shape.saved < sp ? x->shape.saved : sp;", "live = sp;", "what a switch has stored below the stack pointer is dead")
m("	if (why)\n		marker_undecided(m, why);", "", "registers that are not known keep nothing")
m("		else if (x->shape.block && !on_own)\n			marker_reach(m, i);", "", "static storage keeps nothing")
m = of("src/find/objects.c", "unit:image")
m("	if (addr - lo >= length)\n		return false;", "", "what lies behind a function is a part of it")
m = of("src/find/registers.c", "unit:registers")
m("	return nr == SYS_epoll_wait || nr == SYS_epoll_pwait || nr == SYS_rt_sigtimedwait;", "	return nr == SYS_epoll_wait;", "sigwaitinfo is ended by a glance")
m("		if (endless || just_begun) {", "		if (endless) {", "a wait with a timeout that has just begun is ended by a glance")
m("		if (endless || just_begun) {", "		if (true) {", "a timeout is waited for twice")
m = of("src/frames/ramps.c", "unit:ramps")
m("			if (b->stores[k].at != b->stores[i].at + 8)\n				continue;", "", "any two functions in an object are its first")
m("		forget(s, CALLER_SAVED);", "		;", "a call leaves all registers as they were")
