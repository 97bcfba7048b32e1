/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - creates, maps, recycles and adopts records. Layer: engine.
 */
#include "engine/journal/record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* The first marks share the header's page: most processes never need more. */
#define HEAD_BYTES 3072
#define TRACKER_BYTES ((sizeof(struct tracker_room) + 4095) & ~(size_t)4095)
/* Input, metadata and the tracker's space. */
#define BEHIND_BYTES (LIMIT_INPUT_BYTES + 2 * (size_t)RECORD_META_BYTES + TRACKER_BYTES)

_Static_assert(sizeof(struct record_head) <= HEAD_BYTES, "record header fits");
_Static_assert(sizeof(struct mark) == 24, "marks have no hidden padding");
_Static_assert(LIMIT_INPUT_GUESTS * sizeof(struct input_client) +
                       LIMIT_CLAIMS * sizeof(struct claim) <=
                   RECORD_GUESTS_BYTES,
               "guests and claims fit");
_Static_assert(BEHIND_BYTES % 4096 == 0, "the ring begins on a page");

static size_t input_at(uint64_t mark_slots)
{
    return (HEAD_BYTES + mark_slots * sizeof(struct mark) + 4095) & ~(size_t)4095;
}

static size_t fixed_bytes(uint64_t mark_slots)
{
    return input_at(mark_slots) + BEHIND_BYTES;
}

static int record_map_ring(struct record *r, size_t ring_bytes)
{
    char *base =
        mmap(NULL, 2 * ring_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int i;

    if (base == MAP_FAILED)
        return -errno;
    for (i = 0; i < 2; i++) {
        void *half = mmap(base + (size_t)i * ring_bytes, ring_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_FIXED, r->fd, (off_t)r->fixed_bytes);
        if (half == MAP_FAILED) {
            int rc = -errno;
            munmap(base, 2 * ring_bytes);
            return rc;
        }
    }
    r->ring = base;
    return 0;
}

static int record_map_extra(struct record *r)
{
    const struct record_head *h = r->head;
    void *mem;

    if (h->extra_bytes == 0)
        return 0;
    mem = mmap(NULL, h->extra_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd,
               (off_t)(r->fixed_bytes + h->ring_bytes));
    if (mem == MAP_FAILED)
        return -errno;
    r->extra = mem;
    return 0;
}

static int record_map_fixed(struct record *r, uint64_t mark_slots)
{
    size_t bytes = fixed_bytes(mark_slots);
    char *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);

    if (mem == MAP_FAILED)
        return -errno;
    r->fixed_bytes = bytes;
    r->mark_slots = mark_slots;
    r->head = (struct record_head *)mem;
    r->marks = (struct mark *)(mem + HEAD_BYTES);
    r->input = mem + input_at(mark_slots);
    r->meta[0] = r->input + LIMIT_INPUT_BYTES;
    r->meta[1] = r->meta[0] + RECORD_META_BYTES;
    r->guests = (struct input_client *)(r->meta[1] + RECORD_META_MAX);
    r->claims = (struct claim *)(r->guests + LIMIT_INPUT_GUESTS);
    r->tracker = (struct tracker_room *)(r->meta[1] + RECORD_META_BYTES);
    return 0;
}

static void record_head_init(struct record_head *h, size_t ring_bytes, uint64_t mark_slots)
{
    h->layout = RECORD_LAYOUT;
    h->ring_bytes = ring_bytes;
    h->mark_slots = mark_slots;
    h->eof_at = INPUT_NO_EOF;
    h->commit[0].client = -1;
    tracker_start(&h->tracker);
}

/* Turns a fresh file r->fd, all zero and of the right size, into a record. */
static int record_make(struct record *r, size_t ring_bytes, uint64_t mark_slots, size_t extra_bytes,
                       bool on_disk)
{
    int rc = record_map_fixed(r, mark_slots);

    if (rc == 0) {
        record_head_init(r->head, ring_bytes, mark_slots);
        r->head->extra_bytes = extra_bytes;
        r->head->on_disk = on_disk;
        rc = record_map_ring(r, ring_bytes);
    }
    if (rc == 0)
        rc = record_map_extra(r);
    if (rc == 0)
        atomic_store(&r->head->magic, RECORD_MAGIC);
    return rc;
}

/* Prevents the file from being truncated under a mapping, which would raise SIGBUS. Files on disk
 * and records of an older daemon have no seals; no one else has a descriptor of either. */
static void record_seal(int fd)
{
    (void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

int record_create(struct record *r, size_t ring_bytes, size_t extra_bytes)
{
    int rc;

    memset(r, 0, sizeof *r);
    ring_bytes = (ring_bytes + 4095) & ~(size_t)4095;
    extra_bytes = (extra_bytes + 4095) & ~(size_t)4095;
    r->fd = memfd_create("holdfast-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (r->fd < 0)
        return -errno;
    rc = ftruncate(r->fd, (off_t)(fixed_bytes(RECORD_MARKS) + ring_bytes + extra_bytes)) < 0
             ? -errno
             : record_make(r, ring_bytes, RECORD_MARKS, extra_bytes, false);
    if (rc < 0)
        record_fini(r);
    else
        record_seal(r->fd);
    return rc;
}

/* Some file systems cannot create a file without a name; there, it is unlinked at once. */
static int nameless_file(const char *dir)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char path[PATH_MAX];

    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd >= 0 ? fd : -errno;
    if (snprintf(path, sizeof path, "%s/.holdfast-XXXXXX", dir) >= (int)sizeof path)
        return -ENAMETOOLONG;
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        return -errno;
    unlink(path);
    return fd;
}

/*
 * Reserves the space now: a write to a mapped file when the disk is full would raise SIGBUS, when
 * there is no one left to report it to.
 */
int record_create_file(struct record *r, size_t ring_bytes, const char *dir)
{
    uint64_t slots;
    int rc;

    memset(r, 0, sizeof *r);
    ring_bytes = (ring_bytes + 4095) & ~(size_t)4095;
    slots = ring_bytes / RECORD_BYTES_PER_MARK;
    if (slots < RECORD_MARKS)
        slots = RECORD_MARKS;
    rc = r->fd = nameless_file(dir);
    if (rc < 0)
        return rc;
    rc = fallocate(r->fd, 0, 0, (off_t)(fixed_bytes(slots) + ring_bytes)) < 0
             ? -errno
             : record_make(r, ring_bytes, slots, 0, true);
    if (rc < 0)
        record_fini(r);
    return rc;
}

/*
 * If we are killed in here, or before the keeper is notified that the old process is forgotten, its
 * entry no longer matches the record, and the next worker drops it.
 */
bool record_recycle(struct record *r)
{
    size_t ring_bytes = r->head->ring_bytes;

    if (r->head->on_disk || r->extra != NULL ||
        atomic_load(&r->head->next) > RECORD_RECYCLE_BYTES ||
        atomic_load(&r->head->input_tail) > RECORD_RECYCLE_BYTES ||
        atomic_load(&r->head->mark_next) > RECORD_RECYCLE_BYTES / sizeof(struct mark))
        return false;
    atomic_store(&r->head->magic, 0);
    if (r->head->guests_used || r->head->claims_used)
        memset(r->guests, 0, RECORD_GUESTS_BYTES);
    memset(r->head, 0, sizeof *r->head);
    record_head_init(r->head, ring_bytes, r->mark_slots);
    atomic_store(&r->head->magic, RECORD_MAGIC);
    return true;
}

void record_name(struct record *r, const char *id)
{
    strncpy(r->head->id, id, sizeof r->head->id - 1);
}

/* The number of marks according to its header; -EPROTO: not one of ours, or too small. */
static int64_t adopt_slots(int fd, uint64_t file_bytes)
{
    struct record_head *h;
    uint64_t slots;

    if (file_bytes <= fixed_bytes(RECORD_MARKS))
        return -EPROTO;
    h = mmap(NULL, sizeof *h, PROT_READ, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED)
        return -errno;
    slots = h->mark_slots != 0 ? h->mark_slots : RECORD_MARKS;
    if (h->magic != RECORD_MAGIC || h->layout != RECORD_LAYOUT || slots < RECORD_MARKS ||
        slots > file_bytes / sizeof(struct mark) || fixed_bytes(slots) >= file_bytes ||
        h->extra_bytes >= file_bytes - fixed_bytes(slots) ||
        h->ring_bytes != file_bytes - fixed_bytes(slots) - h->extra_bytes)
        slots = 0;
    munmap(h, sizeof *h);
    return slots == 0 ? -EPROTO : (int64_t)slots;
}

bool record_is_ours(int fd)
{
    struct record_head *h;
    struct stat st;
    bool unmade;

    if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < sizeof *h)
        return false;
    h = mmap(NULL, sizeof *h, PROT_READ, MAP_SHARED, fd, 0);
    if (h == MAP_FAILED)
        return false;
    unmade = atomic_load(&h->magic) == 0;
    munmap(h, sizeof *h);
    return unmade || adopt_slots(fd, (uint64_t)st.st_size) > 0;
}

int record_adopt(struct record *r, int fd)
{
    struct stat st;
    int64_t slots;
    int rc;

    memset(r, 0, sizeof *r);
    r->fd = fd;
    record_seal(fd); /* the worker that made it may not have sealed it */
    if (fstat(fd, &st) < 0)
        return -errno;
    slots = adopt_slots(fd, (uint64_t)st.st_size);
    if (slots < 0)
        return (int)slots;
    rc = record_map_fixed(r, (uint64_t)slots);
    if (rc == 0)
        rc = record_map_ring(r, r->head->ring_bytes);
    if (rc == 0)
        rc = record_map_extra(r);
    if (rc == 0 && !record_check(r))
        rc = -EPROTO;
    if (rc < 0) {
        r->fd = -1; /* remains the caller's */
        record_fini(r);
    }
    return rc;
}

void record_fini(struct record *r)
{
    if (r->extra != NULL)
        munmap(r->extra, r->head->extra_bytes);
    if (r->ring != NULL)
        munmap(r->ring, 2 * r->head->ring_bytes);
    if (r->head != NULL)
        munmap(r->head, r->fixed_bytes);
    io_close(&r->fd);
    memset(r, 0, sizeof *r);
    r->fd = -1;
}
