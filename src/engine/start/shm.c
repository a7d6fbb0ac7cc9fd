// SPDX-License-Identifier: MIT
//
// The region is a sparse memfd: the size of /dev/shm does not limit it, it has no name to
// attack, and it is sealed against shrinking, the one way in which the program could kill
// ctp-run through the mapping.
#include "engine/start/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ctp/there.h"

static int map(struct shm *s, int fd, uint64_t bytes)
{
	void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	int r = ctp_region_open(&s->region, base, bytes);
	if (r < 0) {
		munmap(base, bytes);
		return r;
	}
	s->region.there = calloc(1, sizeof(*s->region.there));
	if (!s->region.there) {
		munmap(base, bytes);
		return -ENOMEM;
	}
	s->region.there->fd = fd;
	madvise(base, bytes, MADV_DONTDUMP);
	s->fd = fd;
	return 0;
}

// A file that is there already is used only if it is the user's own, and is empty or was a region: whoever
// owns it can write to the region.
static int open_file(const char *file)
{
	uint64_t magic = 0;
	struct stat st;
	int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_size && (pread(fd, &magic, 8, 0) != 8 || magic != CTP_MAGIC))) {
		close(fd);
		return -EEXIST;
	}
	if (ftruncate(fd, 0) < 0) {
		int e = errno;
		close(fd);
		return -e;
	}
	return fd;
}

int shm_init(struct shm *s, uint32_t stations, uint32_t ring_bytes, uint32_t chunks, const char *file)
{
	struct ctp_header header = {0};
	ctp_region_layout(&header, stations, ring_bytes ? ring_bytes : CTP_RING_BYTES);
	header.ext.chunks = chunks;
	int fd = file ? open_file(file) : memfd_create("ctp", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return file ? fd : -errno;
	int r = ftruncate(fd, (off_t)header.ext.region_bytes) < 0 ? -errno : 0;
	if (!r && pwrite(fd, &header, sizeof(header), 0) != sizeof(header))
		r = errno ? -errno : -EIO;
	if (!r && !file && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		r = -errno;
	if (!r)
		r = map(s, fd, header.ext.region_bytes);
	if (r < 0)
		close(fd);
	return r;
}

int shm_adopt(struct shm *s, int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return -errno;
	return map(s, fd, (uint64_t)st.st_size);
}

void shm_forget(const struct ctp_region *r)
{
	madvise(r->base, r->bytes, MADV_DONTNEED);
}

void shm_unmap(struct shm *s)
{
	if (s->region.base)
		munmap(s->region.base, s->region.bytes);
	free(s->region.there);
	s->region = (struct ctp_region){0};
}
