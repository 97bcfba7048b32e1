/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_own.h - what the files of attach share
 *
 * One connection carries output and, for a terminal, what is typed. Input of
 * pipes has a second connection: on a shared one, input that waits for the process
 * would keep our acknowledgements waiting behind it, the process would be held for
 * want of them, and never read its input. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_ATTACH_OWN_H
#define HF_CLI_CLIENT_ATTACH_OWN_H

#include "base/detach_keys.h"
#include "cli/client/attach.h"
#include "cli/client/client_request.h"
#include "cli/client/client_ws.h"
#include "cli/client/output_sink.h"
#include "cli/client/screen_guard.h"
#include "cli/client/unsent_input.h"

struct attach_conn {
    struct client_ws ws;
    bool up;    /* hello has come */
    bool ended; /* not to be opened again */
    bool input, output;
    unsigned tries;
    uint64_t retry_at_ms;
    uint64_t heard_ms; /* when the last byte came */
    bool asked;        /* for a sign of life, since then */
};

struct attach {
    const struct client_call *call;
    const struct attach_options *o;
    struct attach_conn taps[2]; /* [1] is for the input of pipes only */
    int tap_count;
    char client[24];

    uint64_t at; /* offset of the next byte */
    bool placed; /* at is known: from the first hello on */
    uint64_t acked;
    uint64_t snapshot_left; /* bytes to come that do not count */
    bool ack;               /* we acknowledge what is written */
    int stream;             /* index of sinks that the next bytes go to */
    struct sink sinks[2];

    struct unsent_input typed;
    struct detach_keys keys;
    struct screen_guard guard;
    bool guarded; /* standard output is a terminal that shows one */

    int signal_fd;
    int interrupts;         /* INT and TERM so far */
    uint64_t down_ms;       /* since when the output connection is lost; 0: it is not */
    bool told_down;         /* and the user was told */
    uint64_t pipe_broke_ms; /* standard output has no reader any more; 0: it has */
    bool left;              /* by the detach keys */
    bool done;
    int code;
};

/* attach_conn.c */
int attach_conn_open_first(struct attach *a);        /* 0, or an exit code */
void attach_conns_maintain(struct attach *a);        /* opens what is down and due */
int attach_conns_timeout_ms(const struct attach *a); /* until the next thing is due; -1: nothing */
void attach_conn_receive(struct attach *a, struct attach_conn *l);
void attach_conn_is_heard(
    struct attach_conn *l); /* something came, or we do not listen at present */
void attach_conn_lost(struct attach *a, struct attach_conn *l);
void attach_conn_send_message(struct attach_conn *l, struct buf *json); /* and frees it */
void attach_send_signal(struct attach *a, const char *name, const char *target);
void attach_send_size(struct attach *a);
void attach_send_input(struct attach *a);
void attach_send_ack(struct attach *a);

/* attach_receive.c: what came. */
void attach_take_bytes(struct attach *a, const char *bytes, size_t len);
void attach_take_message(struct attach *a, struct attach_conn *l, const char *text, size_t len);
void attach_take_close(struct attach *a, struct attach_conn *l, const struct wsock_item *item);
/* A line of our own among the output. */
void attach_say(struct attach *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void attach_end(struct attach *a, int code); /* the loop is left */

#endif
