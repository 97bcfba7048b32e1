/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_call.h - one request of the route API, whether it came by HTTP or through the multiplex
 *
 * A handler answers it exactly once: by cf_send(), cf_fail(), cf_error(), or by a stream of events
 * that ends with cf_stream_end(); the call is freed by that. A handler that answers
 * later says by cf_wait() whom to tell when the call is no more. Layer: dialects.
 */
#ifndef HF_DIALECTS_CLOUDFLARE_CF_CALL_H
#define HF_DIALECTS_CLOUDFLARE_CF_CALL_H

#include "dialects/cloudflare/cf.h"
#include "transport/router.h"

struct cf_call;
struct cf_mux;

enum cf_gone {
    CF_CLIENT_GONE, /* it hung up or cancelled */
    CF_DAEMON_GOES, /* the client has been told */
    CF_FREED,       /* the dialect is freed: nobody calls back any more */
};

struct cf_wait_ops {
    void (*gone)(void *arg, enum cf_gone why); /* the call must not be used any more */
    void (*drain)(void *arg);                  /* there is room for events again; may be NULL */
};

/* --- what is asked ------------------------------------------------------------------ */
struct cf *cf_call_cf(const struct cf_call *c);
enum role cf_call_role(const struct cf_call *c);
const char *cf_param(const struct cf_call *c, const char *name);
const char *cf_call_query(const struct cf_call *c, const char *name);
/* Of the body, the header or the query; else the default one. */
const char *cf_session_id(const struct cf_call *c);
/* The body, an object; NULL: there is none, or it was no object and that was answered. */
const json_t *cf_body(struct cf_call *c);
/* Members of the body. False: wrong, and that was answered. Missing ones leave *out alone. */
bool cf_text(struct cf_call *c, const char *name, bool required, const char **out);
bool cf_int(struct cf_call *c, const char *name, int64_t min, int64_t max, int64_t *out);
bool cf_bool(struct cf_call *c, const char *name, bool *out);

/* --- answers -------------------------------------------------------------------------- */
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
void cf_event_send(struct cf_call *c, struct json_out *o);     /* with its time */
void cf_stream_end(struct cf_call *c);

/* --- the two ways in ---------------------------------------------------------------------- */
/* Takes the body. Both may answer before they return. */
void cf_call_http(struct http_request *rq);
struct cf_call_ask {
    const char *id, *method, *path, *session; /* session: of its header, or NULL */
    json_t *body;                             /* taken */
};
void cf_call_mux(struct cf *cf, struct cf_mux *m, enum role role, const struct cf_call_ask *a);
/* Of the multiplex's calls; `link` is in its list. */
struct list *cf_call_link(struct cf_call *c);
struct cf_call *cf_call_of(struct list *link);
const char *cf_call_id(const struct cf_call *c);
void cf_call_drained(struct cf_call *c);
void cf_call_cancel(struct cf_call *c, enum cf_gone why);

/* cf_api.c: finds the handler and calls it, or answers. */
typedef void cf_handler(struct cf_call *c);
void cf_dispatch(struct cf_call *c, const char *method, const char *raw_path);

/* The calls behind "/api", which cf_dispatch() finds: their handlers are cf_api.c's own. */
#define CF_API_ROWS 16
extern const struct route cf_api_rows[CF_API_ROWS];
struct route_match *cf_call_match(struct cf_call *c);
struct path *cf_call_path(struct cf_call *c);
struct url_query *cf_call_queries(struct cf_call *c);

/* cf_mux.c */
void cf_mux_add(struct cf_mux *m, struct cf_call *c);
bool cf_mux_ready(const struct cf_mux *m);
void cf_mux_send(struct cf_mux *m, const struct buf *text);
void cf_mux_done(struct cf_mux *m, struct cf_call *c); /* it is about to be freed */

#endif
