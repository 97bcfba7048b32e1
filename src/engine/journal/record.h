/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.h - the shared memory of one process
 *
 * One memfd: a header page, the marks, the input queue, two halves for
 * metadata and the output ring. The keeper holds the descriptor; whoever maps it finds
 * everything that must survive a worker. Pages cost nothing until touched, so
 * the generous sizes are address space only. A long history is in a file instead, which
 * has no name and so goes with its last descriptor; it is mapped and used the same way.
 *
 *   0            head     struct record_head
 *   3 KiB        marks    mark_slots x struct mark
 *                input    LIMIT_INPUT_BYTES
 *                meta     2 x RECORD_META_BYTES, one current (see meta.h)
 *                tracker  struct tracker_room
 *                ring     ring_bytes, mapped twice in a row
 *                extra    extra_bytes: the log of a session whose shell this is (session_log.h)
 *
 * Every multi-word change is made so that a kill at any instruction leaves
 * the old or the new: data first, then one store that makes it count.
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
#define RECORD_MARKS 16384        /* of a ring in memory */
#define RECORD_BYTES_PER_MARK 256 /* a file has a mark for so many bytes of its ring */
#define RECORD_META_BYTES (LIMIT_JSON_BODY_BYTES + 256 * 1024)
#define RECORD_GUESTS_BYTES 4096 /* at the end of the second half of the metadata */
#define RECORD_META_MAX (RECORD_META_BYTES - RECORD_GUESTS_BYTES)
#define RECORD_CLIENT_BYTES 64
#define RECORD_TITLE_BYTES 256
#define RECORD_CWD_BYTES 512
#define INPUT_NO_EOF UINT64_MAX

/* What holds from `at` on, until the next mark. */
struct mark {
    uint64_t at;
    int64_t time_ms;
    uint8_t stream;
    uint8_t unused[3];
    uint16_t rows, cols;
};

/* How much of a client's input was taken; commits make count and queue move together. The name is
 * its key (client_id.h). */
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
    _Atomic uint32_t magic; /* 0: being made, or made anew */
    uint32_t layout;
    char id[32];
    uint64_t ring_bytes;
    int64_t created_wall_ms, last_input_ms, last_output_ms;
    uint8_t pty, stdin_pipe, delivery, on_detach;
    uint16_t rows, cols;

    /* journal */
    _Atomic uint64_t next;      /* one behind the last byte */
    uint64_t floor;             /* bytes below have lost their marks */
    _Atomic uint64_t mark_next; /* marks ever written */
    uint64_t pattern_to;        /* see journal.c; 0 with exact accounting */
    uint8_t output_ended;       /* K_FD_* bits of streams at end of file */

    /* input */
    _Atomic uint32_t commit_which;
    struct input_commit commit[2];
    _Atomic uint64_t input_tail;
    uint64_t eof_at; /* end of file is due behind this offset */
    struct input_client clients[LIMIT_INPUT_CLIENTS];

    /* life; times are CLOCK_BOOTTIME-like monotonic ms, 0: none */
    uint64_t timeout_at_ms;
    int64_t idle_timeout_ms, grace_ms, detach_ms;
    uint64_t detach_at_ms;
    uint8_t watched;   /* viewers are attached; for the next worker */
    char ended_by[48]; /* who asked for the end; "" nobody */
    uint8_t end_kind;  /* enum exit_kind to report if the end was asked for */
    uint8_t deleting;  /* dropped when it has exited and its end, if one is under way, is over */
    uint8_t created_told, exit_told; /* the events are in the log */
    _Atomic uint32_t exit_set;
    struct exit_record exit;

    /* waiting for a viewer: see viewer_hold.c */
    int64_t hold_ms;
    uint64_t owed_at;      /* the least offset that viewers may still need */
    uint64_t owed_clients; /* how many they are */

    /* metadata */
    _Atomic uint32_t meta_which; /* 0: none, 1 or 2: the current half */
    uint32_t meta_len[2];

    /* attention; what lies behind osc_from is fed again to the next worker */
    uint64_t osc_from, bells;
    uint8_t waiting, echo_off; /* enum attention_fact */
    char osc_title[RECORD_TITLE_BYTES], osc_cwd[RECORD_CWD_BYTES];
    uint64_t extra_bytes; /* behind the ring */
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
    struct input_client *guests; /* clients of others than the owner */
    struct claim *claims;        /* LIMIT_CLAIMS, behind them */
    struct tracker_room *tracker;
    char *ring;
    char *extra; /* NULL: none */
    int fd;
    uint64_t mark_slots;
    size_t fixed_bytes; /* mapped in front of the ring */
};

/* A fresh one without a name; fd is a new memfd. Both sizes are rounded up to pages. 0 or -errno. */
int record_create(struct record *r, size_t ring_bytes, size_t extra_bytes);
/* The same in a nameless file of this directory, with its space reserved; nothing extra. */
int record_create_file(struct record *r, size_t ring_bytes, const char *dir);
void record_name(struct record *r, const char *id);
/* Makes the record of a process that is forgotten as good as a fresh one, which is much
 * cheaper than another. False: it has used too much memory, and is as it was. */
#define RECORD_RECYCLE_BYTES (64 * 1024) /* pages that are worth keeping */
#define RECORD_SPARES 16                 /* as many at once; a burst of short programs takes them */
#define RECORD_SPARES_MS 500             /* without one being taken: one is enough */
bool record_recycle(struct record *r);
/* record_check.c: is what an earlier worker left fit to be used? Small faults are put right. */
bool record_check(struct record *r);
/* One that an earlier worker made; takes fd on success. -EPROTO: not of our layout, or damaged. */
int record_adopt(struct record *r, int fd);
/* Could it be adopted? Only looks; one that is being made is not in the way. */
bool record_is_ours(int fd);
void record_fini(struct record *r);

#endif
