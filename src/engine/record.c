/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* The first marks share the header's page: most processes never need more of them. */
#define HEAD_BYTES 3072
#define MARKS_BYTES (RECORD_MARKS * sizeof(struct mark))
#define INPUT_AT ((HEAD_BYTES + MARKS_BYTES + 4095) & ~(size_t)4095)
#define FIXED_BYTES (INPUT_AT + LIMIT_INPUT_BYTES + 2 * (size_t)RECORD_META_BYTES)

_Static_assert(sizeof(struct record_head) <= HEAD_BYTES, "record header fits");
_Static_assert(sizeof(struct mark) == 24, "marks have no hidden padding");
_Static_assert(FIXED_BYTES % 4096 == 0, "the ring begins on a page");

static int record_map_ring(struct record *r, size_t ring_bytes)
{
    char *base =
        mmap(NULL, 2 * ring_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int i;

    if (base == MAP_FAILED)
        return -errno;
    for (i = 0; i < 2; i++) {
        void *half = mmap(base + (size_t)i * ring_bytes, ring_bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_FIXED, r->fd, (off_t)FIXED_BYTES);
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
               (off_t)(FIXED_BYTES + h->ring_bytes));
    if (mem == MAP_FAILED)
        return -errno;
    r->extra = mem;
    return 0;
}

static int record_map_fixed(struct record *r)
{
    char *mem = mmap(NULL, FIXED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);

    if (mem == MAP_FAILED)
        return -errno;
    r->fixed_bytes = FIXED_BYTES;
    r->head = (struct record_head *)mem;
    r->marks = (struct mark *)(mem + HEAD_BYTES);
    r->input = mem + INPUT_AT;
    r->meta[0] = r->input + LIMIT_INPUT_BYTES;
    r->meta[1] = r->meta[0] + RECORD_META_BYTES;
    return 0;
}

static void record_head_init(struct record_head *h, size_t ring_bytes)
{
    h->layout = RECORD_LAYOUT;
    h->ring_bytes = ring_bytes;
    h->eof_at = INPUT_NO_EOF;
    h->commit[0].client = -1;
}

int record_create(struct record *r, size_t ring_bytes, size_t extra_bytes)
{
    int rc;

    memset(r, 0, sizeof *r);
    ring_bytes = (ring_bytes + 4095) & ~(size_t)4095;
    extra_bytes = (extra_bytes + 4095) & ~(size_t)4095;
    r->fd = memfd_create("holdfast-journal", MFD_CLOEXEC);
    if (r->fd < 0)
        return -errno;
    rc = ftruncate(r->fd, (off_t)(FIXED_BYTES + ring_bytes + extra_bytes)) < 0
             ? -errno
             : record_map_fixed(r);
    if (rc == 0) {
        record_head_init(r->head, ring_bytes);
        r->head->extra_bytes = extra_bytes;
        rc = record_map_ring(r, ring_bytes);
    }
    if (rc == 0)
        rc = record_map_extra(r);
    if (rc < 0) {
        record_fini(r);
        return rc;
    }
    atomic_store(&r->head->magic, RECORD_MAGIC);
    return 0;
}

/*
 * Should we be killed in here, or before the keeper has heard that the old process is
 * forgotten, its entry does not fit the record any more, and the next worker drops it.
 */
bool record_recycle(struct record *r)
{
    size_t ring_bytes = r->head->ring_bytes;

    if (r->extra != NULL || atomic_load(&r->head->next) > RECORD_RECYCLE_BYTES ||
        atomic_load(&r->head->input_tail) > RECORD_RECYCLE_BYTES ||
        atomic_load(&r->head->mark_next) > RECORD_RECYCLE_BYTES / sizeof(struct mark))
        return false;
    atomic_store(&r->head->magic, 0);
    memset(r->head, 0, sizeof *r->head);
    record_head_init(r->head, ring_bytes);
    atomic_store(&r->head->magic, RECORD_MAGIC);
    return true;
}

void record_name(struct record *r, const char *id)
{
    strncpy(r->head->id, id, sizeof r->head->id - 1);
}

int record_adopt(struct record *r, int fd)
{
    struct stat st;
    int rc;

    memset(r, 0, sizeof *r);
    r->fd = fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size <= FIXED_BYTES)
        return -EPROTO;
    rc = record_map_fixed(r);
    if (rc == 0 &&
        (r->head->magic != RECORD_MAGIC || r->head->layout != RECORD_LAYOUT ||
         r->head->extra_bytes >= (uint64_t)st.st_size - FIXED_BYTES ||
         r->head->ring_bytes != (uint64_t)st.st_size - FIXED_BYTES - r->head->extra_bytes))
        rc = -EPROTO;
    if (rc == 0)
        rc = record_map_ring(r, r->head->ring_bytes);
    if (rc == 0)
        rc = record_map_extra(r);
    if (rc < 0) {
        r->fd = -1; /* stays the caller's */
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
