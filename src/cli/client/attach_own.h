/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach_own.h - state and functions shared by the attach files
 *
 * One connection carries output and, for a terminal, what the user types. Input for pipes has a
 * second connection. On a shared one, input that waits for the process would delay the
 * acknowledgements behind it; the daemon would then pause the process, which would never read its
 * input: a deadlock. Layer: cli.
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
    bool up;    /* hello was received */
    bool ended; /* do not reopen */
    bool input, output;
    unsigned tries;
    uint64_t retry_at_ms;
    uint64_t heard_ms; /* time of the last byte received */
    bool pinged;       /* since then */
};

struct attach {
    const struct client_call *call;
    const struct attach_options *o;
    struct attach_conn taps[2]; /* [1] is for the input of pipes only */
    int tap_count;
    char client[24];

    uint64_t at; /* offset of the next byte */
    bool placed; /* `at` is known: set by the first hello */
    uint64_t acked;
    uint64_t snapshot_left; /* snapshot bytes still to come; they do not advance `at` */
    bool ack;               /* acknowledge written output */
    int stream;             /* index of the sink for the next bytes */
    struct sink sinks[2];

    struct unsent_input typed;
    struct detach_keys keys;
    struct screen_guard guard;
    bool guarded; /* standard output is a terminal that shows another */

    int signal_fd;
    int interrupts;         /* INT and TERM received so far */
    uint64_t down_ms;       /* when the output connection was lost; 0: it is up */
    bool reported_down;     /* the user has been notified */
    uint64_t pipe_broke_ms; /* when standard output lost its reader; 0: it has one */
    bool left;              /* detached by the user */
    bool done;
    int code;
};

/* attach_conn.c */
int attach_conn_open_first(struct attach *a);        /* 0, or an exit code */
void attach_conns_maintain(struct attach *a);        /* reopens connections that are due */
int attach_conns_timeout_ms(const struct attach *a); /* until the next deadline; -1: none */
void attach_conn_receive(struct attach *a, struct attach_conn *l);
/* Restarts the silence timer: bytes were received, or we are not reading at present. */
void attach_conn_is_heard(struct attach_conn *l);
void attach_conn_lost(struct attach *a, struct attach_conn *l);
void attach_conn_send_json(struct attach_conn *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void attach_send_signal(struct attach *a, const char *name, const char *target);
void attach_send_size(struct attach *a);
void attach_send_input(struct attach *a);
void attach_send_ack(struct attach *a);

/* attach_receive.c: received frames. */
void attach_take_bytes(struct attach *a, const char *bytes, size_t len);
void attach_take_message(struct attach *a, struct attach_conn *l, const char *text, size_t len);
void attach_take_close(struct attach *a, struct attach_conn *l, const struct wsock_item *item);
/* Prints a message of the client itself among the output. */
void attach_say(struct attach *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void attach_end(struct attach *a, int code); /* leaves the loop */
/* The same with CLI_NO_DAEMON, after an error message on a restored terminal. */
void attach_fail(struct attach *a, const char *what, const char *detail);

#endif
