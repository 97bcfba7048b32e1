/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - the shared memory of one process
 *
 * One memfd: a header page, the marks, the input queue, two halves for metadata and the output
 * ring. It contains everything that must survive a worker. The keeper holds the descriptor, and
 * each worker maps it. Pages cost nothing until touched, so the generous sizes are only address
 * space. A long history is in a file instead, which has no name and so disappears with its last
 * descriptor; it is mapped and used the same way.
 *
 *   0            head     struct record_head
 *   3 KiB        marks    mark_slots x struct mark
 *                input    LIMIT_INPUT_BYTES
 *                meta     2 x RECORD_META_BYTES, one current (see process_meta.c)
 *                tracker  struct tracker_room
 *                ring     ring_bytes, mapped twice in a row
 *                extra    extra_bytes: the log of a session whose shell this is (session_log.h)
 *
 * Every multi-word change is made so that a kill at any instruction leaves the old state or the
 * new: data first, then a single store that makes it valid.
 * Owned by struct process. Layer: engine.
 */
#ifndef HF_ENGINE_JOURNAL_RECORD_H
#define HF_ENGINE_JOURNAL_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "engine/journal/units.h"
#include "engine/process.h"
#include "engine/stream/claim.h"
#include "term/tracker.h"

#define RECORD_MAGIC 0x68667231u
#define RECORD_LAYOUT 2
#define RECORD_MARKS 16384        /* for a ring in memory */
#define RECORD_BYTES_PER_MARK 256 /* a ring in a file has one mark per this many bytes */
#define RECORD_META_BYTES (LIMIT_JSON_BODY_BYTES + 256 * 1024)
#define RECORD_GUESTS_BYTES 4096 /* at the end of the second metadata half */
#define RECORD_META_MAX (RECORD_META_BYTES - RECORD_GUESTS_BYTES)
#define RECORD_CLIENT_BYTES 64
#define RECORD_TITLE_BYTES 256
#define RECORD_CWD_BYTES 512
#define INPUT_NO_EOF UINT64_MAX

/* What applies from `at` on, until the next mark. */
struct mark {
    uint64_t at;
    int64_t time_ms;
    uint8_t stream;
    uint8_t empty[3]; /* runs before this one that have no bytes, modulo 2^24 */
    uint16_t rows, cols;
};

/* How much of a client's input was accepted; commits change the count and the queue together. The
 * name is its key (client_id.h). */
struct input_client {
    char name[RECORD_CLIENT_BYTES];
    uint64_t offset;
    int64_t used_wall_ms;
};
struct input_commit {
    uint64_t head;
    int64_t client; /* index, or -1; those of guests begin at LIMIT_INPUT_CLIENTS */
    uint64_t client_offset;
};

struct record_head {
    _Atomic uint32_t magic; /* 0: being created or recycled */
    uint32_t layout;
    char id[32];
    uint64_t ring_bytes;
    int64_t created_wall_ms, last_input_ms, last_output_ms;
    uint8_t pty, stdin_pipe, delivery, on_detach;
    uint16_t rows, cols;

    /* journal */
    _Atomic uint64_t next;      /* one past the last byte */
    uint64_t floor;             /* bytes below have lost their marks */
    _Atomic uint64_t mark_next; /* marks ever written */
    uint64_t pattern_to;        /* see journal.c; 0 with exact accounting */
    uint8_t output_ended;       /* K_FD_* bits of streams at end of file */

    /* input */
    _Atomic uint32_t commit_which;
    struct input_commit commit[2];
    _Atomic uint64_t input_tail;
    uint64_t eof_at; /* end of file is due at this offset */
    struct input_client clients[LIMIT_INPUT_CLIENTS];

    /* life; times are CLOCK_BOOTTIME-like monotonic ms, 0: none */
    uint64_t timeout_at_ms;
    int64_t idle_timeout_ms, grace_ms, detach_ms;
    uint64_t detach_at_ms;
    uint8_t watched;   /* viewers are attached; for the next worker */
    char ended_by[48]; /* who requested the termination; "" no one */
    uint8_t end_kind;  /* enum exit_kind to report if termination was requested */
    uint8_t deleting;  /* dropped when it has exited and any termination in progress is complete */
    uint8_t created_reported, exit_reported; /* the events are in the log */
    _Atomic uint32_t exit_set;
    struct exit_record exit;

    /* waiting for a viewer: see viewer_hold.c */
    int64_t hold_ms;
    uint64_t owed_at;      /* lowest offset that viewers may still need */
    uint64_t owed_clients; /* the number of such viewers */

    /* metadata */
    _Atomic uint32_t meta_which; /* 0: none, 1 or 2: the current half */
    uint32_t meta_len[2];

    /* tty activity; bytes from osc_from on are fed again to the next worker */
    uint64_t osc_from, bells;
    uint8_t waiting, echo_off; /* enum tty_activity_fact */
    char osc_title[RECORD_TITLE_BYTES], osc_cwd[RECORD_CWD_BYTES];
    uint64_t extra_bytes; /* after the ring */
    uint64_t mark_slots;  /* 0: RECORD_MARKS */
    uint8_t on_disk;      /* the ring is in a file */
    uint8_t guests_used;  /* record.guests is not all zero */
    uint8_t claims_used;  /* nor is record.claims */

    struct tracker_head tracker; /* terminals only */
    struct units_head units;
};

struct record {
    struct record_head *head;
    struct mark *marks;
    char *input;
    char *meta[2];
    struct input_client *guests; /* clients other than the owner's */
    struct claim *claims;        /* LIMIT_CLAIMS, after the guests */
    struct tracker_room *tracker;
    char *ring;
    char *extra; /* NULL: none */
    int fd;
    uint64_t mark_slots;
    size_t fixed_bytes; /* mapped before the ring */
};

/* Creates a record in a new memfd, fd. Both sizes are rounded up to pages. 0 or -errno. */
int record_create(struct record *r, size_t ring_bytes, size_t extra_bytes);
/* The same in a nameless file in this directory, with its space reserved; nothing extra. */
int record_create_file(struct record *r, size_t ring_bytes, const char *dir);
void record_name(struct record *r, const char *id);
/* Resets the record of a forgotten process to the state of a fresh one, which is much cheaper than
 * creating another. False: it has used too much memory; it is unchanged. */
#define RECORD_RECYCLE_BYTES (64 * 1024) /* pages that are worth keeping */
#define RECORD_SPARES 16                 /* at most; a burst of short programs uses them */
#define RECORD_SPARES_MS 500             /* after this long without use, one is enough */
bool record_recycle(struct record *r);
/* record_check.c: whether what an earlier worker left is usable. Repairs minor damage. */
bool record_check(struct record *r);
/* Maps a record that an earlier worker made; takes ownership of fd on success. -EPROTO: not our
 * layout, or damaged. */
int record_adopt(struct record *r, int fd);
/* Whether it can be adopted; changes nothing. A record that is still being created is no
 * obstacle. */
bool record_is_ours(int fd);
void record_fini(struct record *r);

#endif
