/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_call.h - one request of the route API, received by HTTP or through the multiplex
 *
 * A handler replies to it exactly once: by cf_send(), cf_fail(), cf_error(), or by a stream of
 * events that ends with cf_stream_end(). The reply frees the call. A handler that replies later
 * registers with cf_wait() to be notified when the call closes. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_CALL_H
#define HF_DIALECTS_CLOUDFLARE_CF_CALL_H

#include "dialects/cloudflare/cf.h"
#include "transport/router.h"

struct cf_call;
struct cf_mux;

enum cf_close_reason {
    CF_CLIENT_CLOSED,   /* it disconnected or cancelled */
    CF_DAEMON_DRAINING, /* the client has been notified */
    CF_FREED,           /* the dialect is freed: no more callbacks */
};

struct cf_wait_ops {
    void (*closed)(void *arg, enum cf_close_reason why); /* the call must not be used any more */
    void (*drain)(void *arg); /* there is room for events again; may be NULL */
};

/* --- decoding ----------------------------------------------------------------------- */
struct cf *cf_call_cf(const struct cf_call *c);
enum role cf_call_role(const struct cf_call *c);
const char *cf_param(const struct cf_call *c, const char *name);
const char *cf_call_query(const struct cf_call *c, const char *name);
/* From the body, the header or the query; else the default session. */
const char *cf_session_id(const struct cf_call *c);
/*
 * The body, an object. NULL: there is none, or it was not an object and the call has been replied
 * to.
 */
const json_t *cf_body(struct cf_call *c);
/*
 * Members of the body. False: invalid, and the call has been replied to. Missing members leave *out
 * unchanged.
 */
bool cf_text(struct cf_call *c, const char *name, bool required, const char **out);
bool cf_int(struct cf_call *c, const char *name, int64_t min, int64_t max, int64_t *out);
bool cf_bool(struct cf_call *c, const char *name, bool *out);
bool cf_env_object(struct cf_call *c, const json_t **out); /* "env"; NULL: none */

/* --- replies -------------------------------------------------------------------------- */
void cf_wait(struct cf_call *c, const struct cf_wait_ops *ops, void *arg);
struct json_out cf_ok(struct cf_call *c); /* {"success":true */
void cf_send(struct cf_call *c, int status, struct json_out *o);
void cf_fail(struct cf_call *c, int status, const char *code, const char *message);
/* With one member of its context; value may be NULL. */
void cf_fail_about(struct cf_call *c, int status, const char *code, const char *message,
                   const char *key, const char *value);
void cf_error(struct cf_call *c, const struct hf_error *err);

/* --- streams ----------------------------------------------------------------------------- */
void cf_stream_begin(struct cf_call *c);
bool cf_stream_ready(const struct cf_call *c);
struct json_out cf_event(struct cf_call *c, const char *type); /* begins one */
void cf_event_send(struct cf_call *c, struct json_out *o);     /* with a time stamp */
void cf_stream_end(struct cf_call *c);

/* --- HTTP and multiplex ------------------------------------------------------------------- */
/* Takes ownership of the body. Both may reply before they return. */
void cf_call_http(struct http_request *rq);
struct cf_call_request {
    const char *id, *method, *path, *session; /* session: from its header, or NULL */
    json_t *body;                             /* owned */
};
void cf_call_mux(struct cf *cf, struct cf_mux *m, enum role role, const struct cf_call_request *a);
/* For the multiplex's calls. */
void cf_call_drained(struct cf_call *c);
void cf_call_cancel(struct cf_call *c, enum cf_close_reason why);

/* cf_api.c: finds the handler and calls it, or replies with an error. */
typedef void cf_handler(struct cf_call *c);
void cf_dispatch(struct cf_call *c, unsigned method, const char *raw_path);
unsigned cf_method(const char *name); /* 0: unknown */

/* The calls behind "/api", dispatched by cf_dispatch(). Their handlers are private to cf_api.c. */
#define CF_API_ROWS 16
extern const struct route cf_api_rows[CF_API_ROWS];

/* cf_mux.c */
void cf_mux_add(struct cf_mux *m, struct cf_call *c);
bool cf_mux_ready(const struct cf_mux *m);
void cf_mux_send(struct cf_mux *m, const struct buf *text);
void cf_mux_done(struct cf_mux *m, struct cf_call *c); /* it is about to be freed */

#endif
