// SPDX-License-Identifier: MIT
//
// Reads the streams of a directory on several threads. A stream belongs to one thread and
// is in order; counts of different streams only add up. Where the order of streams
// matters (version-1 stations, and the history if there are no last tables) they are read
// again, one after the other. Memory grows with coroutines, not with records.
#include "trace/streams.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/grow.h"
#include "trace/stream/stream.h"
#include "trace/stream/tally.h"

#define WORKERS_MAX 16
#define WORKER_BYTES (4u << 20) // less is read before a thread has begun
#define TELL_BYTES (1u << 20)

// --------------------------------------------------------------- their names

static bool is_stream(const char *name)
{
	const char *t = stream_thread_part(name);
	return !strcmp(name, "v1") ||
	       ((t[0] == 't' || t[0] == 'e' || t[0] == 'u') && t[1] >= '0' && t[1] <= '9');
}

static int add_stream(struct world *w, const char *name)
{
	char *path = file_join(w->path, name);
	if (!path || GROW(w->streams, w->nstreams, w->streams_capacity)) {
		free(path);
		return -ENOMEM;
	}
	struct world_stream *s = &w->streams[w->nstreams++];
	struct stat st;
	*s = (struct world_stream){.path = path};
	if (!fstatat(*w->folder, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode))
		s->file_bytes = (uint64_t)st.st_size;
	return 0;
}

static int find_streams(struct world *w)
{
	struct dirent **names;
	int n = scandirat(*w->folder, ".", &names, NULL, versionsort);
	int r = n < 0 ? -errno : 0;
	for (int i = 0; i < n; i++) {
		if (!r && is_stream(names[i]->d_name))
			r = add_stream(w, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return r;
}

// Is stream i the first with records of its thread? The k of a name are parts of one.
static bool begins_thread(const struct world *w, size_t i)
{
	const char *name = file_base(w->streams[i].path), *thread = stream_thread_part(name);
	const char *dot = strchr(thread, '.');
	if (!w->streams[i].records || *thread != 't' || !dot)
		return false;
	size_t n = (size_t)(dot - name) + 1 + strspn(dot + 1, "0123456789");
	for (size_t k = 0; k < i; k++) {
		const char *other = file_base(w->streams[k].path);
		if (w->streams[k].records && !strncmp(other, name, n) && (other[n] == '.' || !other[n]))
			return false;
	}
	return true;
}

uint64_t streams_threads(const struct world *w)
{
	uint64_t n = 0;
	for (size_t i = 0; i < w->nstreams; i++)
		n += begins_thread(w, i);
	return n;
}

// ------------------------------------------------------- counted, in any order

struct crew {
	struct world *w;
	struct past *past;
	pthread_mutex_t lock; // of all below, and of the sums in w and past
	size_t next;          // stream that nobody has taken
	uint64_t done, total; // bytes
};

static void progress(struct crew *c, uint64_t bytes)
{
	pthread_mutex_lock(&c->lock);
	c->done += bytes;
	world_progress(c->w, c->done, c->total);
	pthread_mutex_unlock(&c->lock);
}

static void count_stations(struct tally *t, const struct stream_station *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		t->kinds[s[i].kind]++;
		t->events += s[i].kind == CTP_EV_STATION;
	}
}

static int count_packets(struct crew *c, struct world_stream *s, struct stream_reader *reader,
			 struct tally *t)
{
	const struct stream_packet *p;
	struct ctp_cursor *cursor;
	const void *slots;
	uint64_t untold = 0;
	size_t n;
	int r;
	while ((r = stream_slots(reader, &p, &slots, &n, &cursor)) > 0) {
		bool stations = p->stream_id == STREAM_V1;
		if (stations)
			count_stations(t, slots, n);
		else
			r = tally_slots(t, cursor, slots, n);
		s->has_stations |= stations;
		untold += n * (stations ? sizeof(struct stream_station) : sizeof(struct ctp_record));
		if (untold >= TELL_BYTES) {
			progress(c, untold);
			untold = 0;
		}
		if (r < 0)
			break;
	}
	progress(c, untold);
	return r;
}

// Events of the program's own.
static int count_events(struct crew *c, struct stream_reader *reader, struct tally *t)
{
	struct program_packet p = {0};
	const struct program_classes *classes = &c->w->program_events;
	int r;
	while ((r = program_packet_next(&p, reader, classes)) > 0) {
		t->kinds[CTP_EV_USER] += p.n;
		t->events += p.n;
		pthread_mutex_lock(&c->lock);
		for (size_t i = 0; i < p.n; i++)
			c->w->program_events.items[p.events[i].class - classes->items].count++;
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_lock(&c->lock);
	c->w->program_events.unreadable += p.unreadable;
	pthread_mutex_unlock(&c->lock);
	program_packet_deinit(&p);
	return r;
}

static void count_stream(struct crew *c, struct world_stream *s)
{
	struct tally t = {0};
	struct stream_reader *reader = NULL;
	bool events = stream_kind(file_base(s->path)) == STREAM_EVENTS;
	s->error = world_stream_open(&reader, c->w, s);
	if (!s->error)
		s->error = events ? count_events(c, reader, &t) : count_packets(c, s, reader, &t);
	if (!events) { // an event's record in another stream is of a kind that it does not know
		t.kinds[UINT8_MAX] += t.kinds[CTP_EV_USER];
		t.kinds[CTP_EV_USER] = 0;
	}
	struct stream_end end = reader ? *stream_ended(reader) : (struct stream_end){0};
	s->whole_bytes = end.whole_bytes;
	s->file_bytes = end.file_bytes;
	s->device = end.device;
	s->inode = end.inode;
	s->packets = end.packets;
	s->damage = end.damage;
	s->records = t.events;
	s->discarded = end.discarded;
	s->tid = end.tid;
	pthread_mutex_lock(&c->lock);
	for (unsigned k = 0; k < 256; k++)
		c->w->kinds[k] += t.kinds[k];
	c->w->events += t.events;
	c->w->discarded += end.discarded;
	c->past->wrong += t.order.wrong;
	pthread_mutex_unlock(&c->lock);
	stream_close(reader);
	order_deinit(&t.order);
}

static void *work(void *arg)
{
	struct crew *c = arg;
	for (;;) {
		pthread_mutex_lock(&c->lock);
		size_t i = c->next < c->w->nstreams ? c->next++ : SIZE_MAX;
		pthread_mutex_unlock(&c->lock);
		if (i == SIZE_MAX)
			return NULL;
		count_stream(c, &c->w->streams[i]);
	}
}

static size_t workers_wanted(const struct crew *c)
{
	cpu_set_t set;
	size_t n = sched_getaffinity(0, sizeof(set), &set) ? 1 : (size_t)CPU_COUNT(&set);
	size_t most = c->total / WORKER_BYTES < c->w->nstreams ? c->total / WORKER_BYTES : c->w->nstreams;
	n = n < most ? n : most;
	return n < WORKERS_MAX ? n : WORKERS_MAX;
}

// The caller is one of the crew: where no thread can be made, it does all.
static void count_streams(struct world *w, struct past *past)
{
	struct crew c = {.w = w, .past = past, .lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_t others[WORKERS_MAX];
	size_t n = 0;
	for (size_t i = 0; i < w->nstreams; i++)
		c.total += w->streams[i].file_bytes;
	for (size_t want = workers_wanted(&c); n + 1 < want && !pthread_create(&others[n], NULL, work, &c);)
		n++;
	work(&c);
	while (n)
		pthread_join(others[--n], NULL);
}

// ---------------------------------------------------- read again, in their order

static int add_stations(struct past *past, const struct stream_station *s, size_t n)
{
	int r = 0;
	for (size_t i = 0; !r && i < n; i++) {
		bool end = s[i].kind == CTP_EV_STATION_END;
		r = changes_add(&past->v1, &(struct change){.id = s[i].id,
							    .n = s[i].n,
							    .ns = s[i].ts_ns,
							    .active = s[i].active,
							    .finished = end});
		if (!r && !end)
			r = idmap_set(&past->v1_tids, s[i].tid, 0);
	}
	return r;
}

// What was counted of it, and no more: it may have grown since. 0 or -ENOMEM.
static int read_again(const struct world *w, const struct world_stream *s, bool history, struct past *past)
{
	struct stream_reader *reader;
	const struct stream_packet *p;
	const void *records;
	size_t n;
	int r = 0;
	if (world_stream_open(&reader, w, s))
		return 0; // that was said
	while (!r && stream_next(reader, &p, &records, &n) > 0 &&
	       stream_ended(reader)->whole_bytes <= s->whole_bytes)
		r = p->stream_id == STREAM_V1 ? add_stations(past, records, n) :
		    history                   ? history_add(&past->history, records, n) :
						0;
	stream_close(reader);
	return r;
}

static void add_part(char *out, size_t bytes, uint64_t n, const char *what, const char *after)
{
	size_t used = strlen(out);
	if (n)
		snprintf(out + used, bytes - used, "%s%" PRIu64 " %s%s%s", used ? ", " : "", n, what,
			 n == 1 ? "" : "s", after);
}

bool streams_damage(const struct world_stream *s, char *out, size_t bytes)
{
	const struct stream_damage *d = &s->damage;
	char parts[200] = "";
	add_part(parts, sizeof(parts), d->missing, "packet", " lost");
	add_part(parts, sizeof(parts), d->repeated, "packet", " that had been there before left out");
	add_part(parts, sizeof(parts), d->stray, "byte", " passed over");
	snprintf(out, bytes, "is damaged at byte %" PRIu64 ": %s; the rest was read", d->at, parts);
	return *parts;
}

static int cover_stream(struct world *w, const struct world_stream *s)
{
	const char *name = file_base(s->path);
	char damage[300];
	int e = 0;
	if (file_refused(s->error))
		return world_cover(w, "%s is not read: %s", name, file_why(s->error));
	if (s->error)
		return s->error == -ENOMEM ?
			     -ENOMEM :
			     world_cover(w, "%s could not be read: %s", name, strerror(-s->error));
	if (streams_damage(s, damage, sizeof(damage)))
		e = world_cover(w, "%s %s", name, damage);
	if (!e && s->whole_bytes < s->file_bytes)
		return world_cover(w,
				   "%s was cut off: read up to its last whole packet (%" PRIu64 " of %" PRIu64
				   " bytes)",
				   name, s->whole_bytes, s->file_bytes);
	return e;
}

int streams_read(struct world *w, bool history, struct past *past)
{
	int r = find_streams(w);
	if (!r)
		count_streams(w, past);
	for (size_t i = 0; !r && i < w->nstreams; i++) {
		const struct world_stream *s = &w->streams[i];
		r = cover_stream(w, s);
		if (!r && (history || s->has_stations))
			r = read_again(w, s, history, past);
	}
	return r;
}

void past_deinit(struct past *past)
{
	changes_deinit(&past->v1);
	idmap_deinit(&past->v1_tids);
	history_deinit(&past->history);
}
