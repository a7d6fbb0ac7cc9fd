// SPDX-License-Identifier: MIT
//
// The identity is made once, before the program starts.
#include "engine/record/identity.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "ctp/ctp.h"

void identity_init(struct identity *id, uint64_t wall_ns)
{
	*id = (struct identity){.wall_ns = wall_ns};
	if (getrandom(id->uuid, sizeof(id->uuid), 0) == sizeof(id->uuid)) {
		id->uuid[6] = (id->uuid[6] & 0x0f) | 0x40; // version 4: random
		id->uuid[8] = (id->uuid[8] & 0x3f) | 0x80; // variant of RFC 9562
	}
	if (gethostname(id->host, sizeof(id->host) - 1))
		*id->host = 0;
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, id->boot_id, sizeof(id->boot_id) - 1);
	id->boot_id[n < 0 ? 0 : n] = 0;
	if (fd >= 0)
		close(fd);
}

void identity_describe(const struct identity *id, struct ctp_ext *e)
{
	memcpy(e->uuid, id->uuid, sizeof(e->uuid));
	e->wall_ns0 = id->wall_ns;
}

void identity_uuid_text(const struct identity *id, char text[IDENTITY_UUID_TEXT])
{
	const uint8_t *u = id->uuid;
	snprintf(text, IDENTITY_UUID_TEXT,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1], u[2],
		 u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14], u[15]);
}

void identity_time_text(const struct identity *id, char text[IDENTITY_TIME_TEXT])
{
	time_t s = (time_t)(id->wall_ns / 1000000000);
	struct tm local;
	char day[24] = "", zone[8] = "";
	if (localtime_r(&s, &local)) {
		strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &local);
		strftime(zone, sizeof(zone), "%z", &local); // "+0100"
	}
	snprintf(text, IDENTITY_TIME_TEXT, "%s.%06u%.3s:%.2s", day,
		 (unsigned)(id->wall_ns % 1000000000 / 1000), zone, strlen(zone) == 5 ? zone + 3 : "00");
}
