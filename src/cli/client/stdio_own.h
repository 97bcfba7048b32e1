/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdio_own.h - the relay between an MCP client on standard input and output and the daemon's /mcp
 *
 * Each message is one HTTP request with a connection of its own. It waits in `waiting` until it is
 * sent, and is in `sent` until its response ends. Messages are sent in the order of their arrival,
 * but the daemon may carry out those that are under way at once in another. Every request gets
 * exactly one reply: the daemon's, or an error if the connection broke and repeating the request
 * might carry it out twice. The session is the relay's: when the daemon has forgotten it, the relay
 * opens another one with the client's `initialize` and subscribes again. Layer: cli.
 */
#ifndef HF_CLI_CLIENT_STDIO_OWN_H
#define HF_CLI_CLIENT_STDIO_OWN_H

#include <jansson.h>

#include "base/buf.h"
#include "base/list.h"
#include "cli/client/client_fetch.h"
#include "cli/client/command.h"
#include "cli/client/sse_parse.h"

#define RPC_PARSE (-32700)
#define RPC_INVALID (-32600)
#define RPC_REFUSED_BY_RELAY (-32000)
#define STDIO_TRIES 8 /* of one message that is refused for now */
#define STDIO_PAUSE_MS 100
#define STDIO_PAUSE_MAX_MS 2000
#define STDIO_DOWN_MS 10000 /* how long a message waits for a daemon that does not accept it */
#define STDIO_MAY_BE_DONE                                                                          \
    "the connection to the daemon broke before the reply, and the call may have been carried "     \
    "out; look at list_processes and list_sessions before you repeat it"
#define STDIO_CLOSE_MS 1000 /* for the end of the session */

enum stdio_purpose {
    STDIO_CLIENT, /* a message of the client */
    STDIO_REOPEN, /* the client's initialize, sent again by the relay */
    STDIO_OWN,    /* another message of the relay: its reply goes to nobody */
    STDIO_FEED,   /* GET: the session's stream of notifications */
};

enum stdio_state {
    STDIO_NONE,    /* the client has not initialized a session */
    STDIO_OPENING, /* an initialize is under way; other messages wait */
    STDIO_OPEN,
    STDIO_LOST, /* the daemon no longer knows it */
};

struct stdio {
    struct client_call *call;
    unsigned tokens;           /* how often another one was read */
    struct list waiting, sent; /* struct stdio_call */
    size_t calls;              /* in both */
    size_t notes;              /* of these, without a reply */
    size_t held;               /* bytes of their messages */
    struct buf in, out;
    bool more;   /* `in` may have lines that were not taken, as too much is held */
    bool skips;  /* the rest of a line that is too long */
    bool at_end; /* of the input */
    bool broken; /* no process reads the output */
    int signals; /* signalfd; -1: none */
    int stopped; /* the signal that asks it to exit; 0: none */
    enum stdio_state state;
    bool ready;                 /* the client has sent notifications/initialized */
    struct stdio_call *opening; /* the initialize under way; NULL: none */
    char *id, *version;         /* of the session; NULL: none */
    struct buf initialize;      /* the client's message */
    json_t *uris;               /* subscribed resources: keys of an object */
    struct stdio_call *feed;    /* NULL: not open */
    uint64_t feed_at;           /* when to open it; 0: not at all */
    unsigned feed_pause_ms;     /* after its session was unknown */
    uint64_t retry_at;          /* when to connect again */
    unsigned pause_ms;          /* between such attempts */
    struct hf_error why;        /* the last failure */
};

struct stdio_call {
    struct list link;
    struct stdio *relay;
    enum stdio_purpose purpose;
    const char *http_method;
    json_t *message; /* NULL: no message, or none that could be parsed */
    struct buf body;
    char *revision;          /* of a self-contained message; NULL: it belongs to the session */
    char key[33];            /* Idempotency-Key */
    char *sent_in;           /* the session in which it was sent */
    unsigned token;          /* which one it was sent with: stdio.tokens */
    char *session;           /* the one to end, which is no longer the relay's; NULL: none */
    unsigned tries;          /* how often it was sent */
    unsigned fails;          /* of these, since the daemon last accepted it */
    uint64_t began;          /* the last try */
    uint64_t retry_at;       /* not to be sent before */
    uint64_t trouble_since;  /* since when it waits for a daemon that fails; 0: it does not */
    struct buf cancellation; /* the client's message, sent until the call has ended */
    uint64_t cancel_at;      /* when to send it again; 0: not cancelled */
    unsigned cancel_pause_ms;
    bool is_note; /* it gets no reply */
    bool repeatable, cancelled, replied, acknowledged;
    bool lost;      /* the daemon is being replaced and has not carried it out to the end */
    bool untouched; /* of this attempt: the daemon refused it and has done nothing */
    bool is_sent;   /* `stream` is open */
    struct fetch_stream stream;
    bool has_events;
    struct sse_parse events;
    struct buf reply;
};

static inline unsigned stdio_longer_pause(unsigned ms)
{
    return ms * 2 < STDIO_PAUSE_MAX_MS ? ms * 2 : STDIO_PAUSE_MAX_MS;
}

/* --- stdio_call.c: one message, one HTTP request ----------------------------------------- */
/* `text` is copied and the message referenced; appended to the waiting ones. */
struct stdio_call *stdio_call_new(struct stdio *r, enum stdio_purpose purpose, json_t *message,
                                  const char *text, size_t len);
void stdio_call_free(struct stdio_call *c);
const char *stdio_call_method(const struct stdio_call *c); /* "" for a response */
const json_t *stdio_call_id(const struct stdio_call *c);   /* NULL: it gets no reply */
bool stdio_call_is(const struct stdio_call *c, const char *method);
bool stdio_call_needs_session(const struct stdio_call *c);
/* Connects; 0, or -errno and err. */
int stdio_call_start(struct stdio_call *c, struct hf_error *err);
/* Moves bytes; may free the call. */
void stdio_call_step(struct stdio_call *c);
/* Replies with an error, if the message wants a reply, and frees the call. If the call was to open
 * the session again, the messages that wait for the session get the same error. */
void stdio_call_refuse(struct stdio_call *c, const char *code, const char *detail);

/* --- stdio_session.c: what the messages mean for the session --------------------------------- */
/* A message from the daemon that belongs to `c`; text is its bytes. */
void stdio_session_receive(struct stdio_call *c, json_t *message, const char *text, size_t len);
/* The response has ended without a reply. `complete`: as the daemon meant it. Frees the call. */
void stdio_session_ended(struct stdio_call *c, bool complete);
/* The client's message `c` joined the waiting ones. */
void stdio_session_note(struct stdio_call *c);
/* The client cancels a request by this message: true if the daemon need not hear of it. */
bool stdio_session_cancel(struct stdio *r, const json_t *id, const char *text, size_t len);
/* Messages have connections of their own, so a cancellation may overtake its request. */
void stdio_session_cancel_again(struct stdio *r);
/* Messages that wait began to wait for a daemon that fails. */
void stdio_session_note_trouble(struct stdio *r);
/* Gives up the messages that have waited too long. */
void stdio_session_expire(struct stdio *r);
void stdio_session_reopen(struct stdio *r);
/* The session could not be opened again: as long as no client's message needs it, try later. */
void stdio_session_rest(struct stdio *r);
/* `c` is about to be freed. */
void stdio_session_forget(struct stdio_call *c);
/* The session was not opened again: refuses the messages that wait for it. */
void stdio_session_refuse_waiting(struct stdio *r, const char *code, const char *detail);
void stdio_session_open_feed(struct stdio *r);
/* Ends it at the daemon, unless calls are under way that it would cancel. */
void stdio_session_close(struct stdio *r);
void stdio_session_fini(struct stdio *r);

/* --- stdio_relay.c: the loop ------------------------------------------------------------------ */
/* Writes one message, on a line of its own. */
void stdio_print(struct stdio *r, const char *text, size_t len);
void stdio_print_json(struct stdio *r, const json_t *message);
/* {"error"}; id NULL: null. `code` is a stable code of docs/PROTOCOL.md, or NULL. */
void stdio_print_error(struct stdio *r, const json_t *id, int number, const char *code,
                       const char *detail);
/* Relays until the input ends. Returns the exit code. */
int stdio_relay_run(struct client_call *call);
/* There is no daemon: the first message, if one comes soon, gets this error. */
void stdio_relay_refuse(struct client_call *call, const char *detail);

#endif
