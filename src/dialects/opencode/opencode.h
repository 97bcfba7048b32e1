/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencode.h - the terminals, events and session commands of `opencode serve`
 *
 * Facts: docs/dialects/opencode.md. A PTY is any process; its id is the daemon's own in the
 * platform's format, so no mapping is stored. A session is the engine's; a command in it is a
 * process of that session. The platform's further attributes are in their metadata under
 * "opencode", where every dialect can see them. Layer: dialects.
 */
#ifndef HF_DIALECTS_OPENCODE_OPENCODE_H
#define HF_DIALECTS_OPENCODE_OPENCODE_H

#include <limits.h>

#include "base/buf.h"
#include "base/json.h"
#include "dialects/common/call.h"
#include "dialects/common/dialect_base.h"
#include "dialects/common/file_call.h"
#include "engine/events.h"
#include "engine/session/session.h"

extern const struct dialect opencode_dialect;

#define OC_VERSION "1.18.33" /* the version of the protocol */
#define OC_CONTINUES "the daemon is shutting down; the requested operation continues"
#define OC_ID_BYTES 32 /* "pty_" and 26 characters, and NUL */

struct oc {
    struct dialect_base base;
    char cwd[PATH_MAX]; /* the daemon's: the default directory */

    struct list removals; /* oc_pty_remove.c */
    struct list runs;     /* oc_shell.c */
    struct list tickets;  /* oldest first; oc_ticket.c */
    size_t ticket_count;

    /* oc_bus.c, oc_event_bridge.c: only while there are listeners */
    struct list streams, entries;
    struct buf event; /* being written */
    uint64_t entry_first, entry_next;
    size_t entry_bytes;
    struct event_subscriber subscriber;
    uint64_t event_next; /* position in the engine's log */
    struct list chatter; /* commands whose output is published */
};

static inline struct oc *oc_of(const struct http_request *rq)
{
    return http_context(rq);
}

/* Of a call in progress. */
static inline struct oc *oc_of_call(const struct call *c)
{
    return (struct oc *)c->base;
}

/* --- oc_request.c: replies and errors --------------------------------------------------- */
struct json_out oc_reply_open(struct http_request *rq); /* in the scratch buffer, nothing open */
static inline void oc_send(struct http_request *rq, const struct json_out *o)
{
    http_reply_json(rq, 200, o->buf);
}
void oc_send_json(struct http_request *rq, const char *json);
void oc_error(struct http_request *rq, const struct hf_error *err); /* of the dialect */
/* The request is invalid, in the format of its surface. kind: Payload, Params, Query. */
void oc_invalid(struct http_request *rq, int status, const char *kind, const char *message);
/* key and kind: NULL: none */
void oc_tagged(struct http_request *rq, int status, const char *tag, const char *key,
               const char *value, const char *message);
void oc_named(struct http_request *rq, int status, const char *name, const char *message,
              const char *kind);
bool oc_is_api(const struct http_request *rq); /* the newer surface, /api/... */

/* The newer surface includes the location that its reply is about. */
void oc_data_open(struct http_request *rq, struct json_out *o);
void oc_data_send(struct http_request *rq, struct json_out *o);

/* Decoding. NULL or false: replied. */
json_t *oc_body(struct http_request *rq, bool may_be_absent);
bool oc_limit(struct http_request *rq, int64_t *out); /* unchanged when absent */
/* The directory that a request belongs to, without a trailing slash. */
const char *oc_directory(const struct http_request *rq, char out[PATH_MAX]);
bool oc_names_directory(const struct http_request *rq);
const char *oc_workspace(const struct http_request *rq); /* "" if none */
/* The PTY that the path names, if it belongs to the directory. */
struct process *oc_process(struct http_request *rq);
struct session *oc_session(struct http_request *rq);

/* --- oc_ticket.c: single-use tickets ---------------------------------------------------- */
/* The role that a request's ticket grants, for the gate. */
enum role oc_ticket_role(const struct http_request *rq, struct auth_grant *g);
/* True: it was valid for this process and request, and is now consumed. */
bool oc_ticket_spend(const struct http_request *rq, const char *process);
void oc_ticket_new(struct http_request *rq, const char *process, char out[37]);
void oc_tickets_free(struct oc *oc);

/* --- oc_ids.c ------------------------------------------------------------------------------- */
void oc_pty_id(const struct process_view *v, char out[OC_ID_BYTES]);
/* From a time, a position within its millisecond, and `seed`: the same input gives the same id. */
void oc_make_id(const char *prefix, int64_t ms, unsigned place, const char *seed,
                char out[OC_ID_BYTES]);
void oc_new_id(const char *prefix, bool newest_first, char out[OC_ID_BYTES]);
void oc_uuid(char out[37]);

/* --- oc_shells.c ------------------------------------------------------------------------------ */
/* The default shell; out: PATH_MAX. */
const char *oc_shell(char out[PATH_MAX]);
bool oc_is_shell(const char *path);
bool oc_is_fish(const char *path);                          /* its language differs */
bool oc_find_program(const char *name, char out[PATH_MAX]); /* in PATH, or a path itself */

/* --- oc_pty.c ------------------------------------------------------------------------------- */
/* The platform's attributes of a process or session: "opencode" in this metadata. A new reference,
 * or NULL. */
json_t *oc_meta(const char *metadata_json);
/* Begins such metadata; the text is in `out`. */
struct json_out oc_meta_open(struct buf *out);
const char *oc_meta_close(struct json_out *o);
/* Its directory; NULL: not created here, visible in all. Borrowed from the tree. */
const char *oc_meta_text(const json_t *meta, const char *key);
bool oc_is_visible(const struct process_view *v, const char *directory);
/* created: as it was then, that is, running. */
void oc_write_pty(struct json_out *o, struct process *p, bool created);

/* --- oc_bus.c: events to all listeners ------------------------------------------------------ */
bool oc_is_heard(const struct oc *oc);
/* {"id","type","properties": then yours }; end it with oc_event_send(), directory NULL: for all. */
struct json_out oc_event(struct oc *oc, const char *type);
void oc_event_send(struct oc *oc, struct json_out *o, const char *directory);
void oc_streams_end(struct oc *oc, const char *directory); /* once everything is sent */
/* oc_event_bridge.c */
void oc_publish_start(struct oc *oc);
void oc_publish_stop(struct oc *oc);
void oc_publish_now(struct oc *oc); /* the engine's events so far */
void oc_publish_pty(struct oc *oc, const char *type, struct process *p); /* {info} */
void oc_publish_deleted(struct oc *oc, const struct process_view *v);
void oc_publish_session(struct oc *oc, const char *type, struct session *s);
void oc_publish_failure(struct oc *oc, struct session *s, const char *message);

/* --- oc_pty_remove.c ------------------------------------------------------------------------ */
bool oc_is_being_removed(const struct oc *oc, const struct process *p);

/* --- oc_message_write.c --------------------------------------------------------------------- */
void oc_write_tokens(struct json_out *o); /* none were used */

/* --- oc_session.c --------------------------------------------------------------------------- */
void oc_write_session(struct json_out *o, struct oc *oc, struct session *s);
const char *oc_session_directory(const struct oc *oc, const struct session *s);
bool oc_session_is_busy(const struct oc *oc, struct session *s);

/* --- oc_file.c: the files of a directory ----------------------------------------------------- */
struct oc_place {
    char directory[PATH_MAX], path[PATH_MAX]; /* absolute, without "." and ".." */
};
/* False: replied that it leads out of the directory. */
bool oc_place(struct http_request *rq, const char *path, struct oc_place *p);
/* Where the part of a path begins that is below the directory. */
int oc_place_below(const struct oc_place *p);
const char *oc_query(struct http_request *rq, const char *name); /* NULL: replied */
void oc_write_path(struct json_out *o, const struct file_entry *e, int below);
void oc_write_entry(struct json_out *o, const struct file_entry *e, int below);
void oc_entries_reply(struct http_request *rq, const struct file_results *r, int tag);
void oc_file_failed(struct http_request *rq, const struct file_fault *f, int tag);
const char *oc_mime(const char *path); /* oc_mime.c */

/* --- handlers ------------------------------------------------------------------------------- */
void oc_pty_list(struct http_request *rq);
void oc_pty_create(struct http_request *rq);
void oc_pty_get(struct http_request *rq);
void oc_pty_update(struct http_request *rq);
void oc_pty_remove(struct http_request *rq);
void oc_pty_connect(struct http_request *rq);
void oc_pty_token(struct http_request *rq);
void oc_shells(struct http_request *rq);
void oc_dispose(struct http_request *rq);
void oc_events(struct http_request *rq);
void oc_session_create(struct http_request *rq);
void oc_session_list(struct http_request *rq);
void oc_session_status(struct http_request *rq);
void oc_session_get(struct http_request *rq);
void oc_session_update(struct http_request *rq);
void oc_session_delete(struct http_request *rq);
void oc_session_children(struct http_request *rq);
void oc_session_abort(struct http_request *rq);
void oc_session_messages(struct http_request *rq);
void oc_session_message(struct http_request *rq);
void oc_session_shell(struct http_request *rq);
void oc_session_command(struct http_request *rq);
void oc_file_list(struct http_request *rq);
void oc_file_content(struct http_request *rq);
void oc_fs_list(struct http_request *rq);
void oc_fs_read(struct http_request *rq);
void oc_find_text(struct http_request *rq);
void oc_find_files(struct http_request *rq);
void oc_find_symbols(struct http_request *rq);

#endif
