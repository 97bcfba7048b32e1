/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h - links that let others watch one process, or type into it
 *
 * A link is a secret that its creator passes on. It is shown once and stored as a SHA-256 digest.
 * Its holder may do what its role allows, to this process only, until the link is revoked, expires
 * or has no uses left. Links are part of the record's metadata, so they survive a worker.
 *
 * A secret is "hfl_", the process's id without its prefix, "_" and 39 random characters. The id
 * finds the process directly; then the digests of all its links are compared in constant time.
 * Owned by struct process. Layer: engine.
 */
#ifndef HF_ENGINE_STREAM_SHARE_H
#define HF_ENGINE_STREAM_SHARE_H

#include "engine/process.h"

#define SHARE_PREFIX "hfl_"
#define SHARE_SECRET_LEN 64
#define SHARE_ID_LEN 17    /* "link_" and 12 characters */
#define SHARE_GRANT_LEN 38 /* 20 characters of the process's id, ".", the link's id */

enum share_role { SHARE_NONE, SHARE_WATCH, SHARE_TYPE };

struct share_spec {
    enum share_role role;
    const char *label;     /* NULL: none */
    int64_t expires_in_ms; /* 0: LINK_EXPIRES_MS */
    int64_t max_uses;      /* 0: any number */
};

/* A view of a link; strings are borrowed until the next return to the loop. */
struct share_view {
    const char *id, *label;
    enum share_role role;
    int64_t created_ms, expires_ms, max_uses, uses;
};

/* `secret` gets SHARE_SECRET_LEN + 1 bytes. too_many_links, bad_value. */
int process_share(struct process *p, const struct share_spec *s, char *secret,
                  struct share_view *out, struct hf_error *err);
/* no_such_link. engine_on_share_end() notifies the connections that use it. */
int process_unshare(struct process *p, const char *id, struct hf_error *err);
/* Oldest first; false: there is no link with this index. */
bool process_share_at(const struct process *p, size_t index, struct share_view *out);

/* The role that the secret grants now. `grant` (SHARE_GRANT_LEN + 1 bytes) identifies the link
 * from then on. */
enum share_role engine_share_by_secret(struct engine *e, const char *secret, size_t len,
                                       char *grant);
/* The same for a connection that was admitted before, so the number of uses does not matter. *p:
 * the process of the link; p may be NULL. */
enum share_role engine_share_by_grant(struct engine *e, const char *grant, struct process **p);
void engine_share_use(struct engine *e, const char *grant); /* counts one use */

/* Runs when a link is revoked or expires. */
typedef void share_end_fn(void *arg, const char *grant);
void engine_on_share_end(struct engine *e, share_end_fn *fn, void *arg);

#endif
