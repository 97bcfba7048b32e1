/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgrade_carry.c - state handed to a newer binary in addition to the keeper's table
 *
 * The command line is the same, so options need not be handed over. What was derived from them is,
 * because it may not be available again: tokens from an environment that was wiped, a certificate
 * that is just being renewed, a user that was renamed. Binaries of other versions write and read
 * it, so any member may be missing. Layer: cli.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/patience.h"
#include "cli/dialects.h"
#include "cli/serve.h"
#include "keeper/keeper.h"

int carry_write(struct buf *out, void *serve)
{
    const struct serve *s = serve;
    struct credentials c = {0};
    struct json_out o;
    int rc = credentials_open(&c, s->credentials_fd);

    if (rc < 0)
        return rc;
    json_out_init(&o, out);
    json_open(&o, '{');
    credentials_write(&c, &o);
    credentials_fini(&c);
    json_kbool(&o, "tls", s->options.tls_cert != NULL || s->had_tls);
    json_kint(&o, "worker_uid", s->worker_uid);
    json_kint(&o, "worker_gid", s->worker_gid);
    json_kstr(&o, "history_dir", s->history_dir);
    /* For the keeper that a new launcher starts, not for any later one. */
    json_kbool(&o, "announce", pickup_is_found(&s->earlier));
    json_kbool(&o, "greet", pickup_is_found(&s->earlier) && s->greeting != NULL);
    json_key(&o, "dialects");
    json_open(&o, '[');
    for (size_t i = 0; i < s->listener_count; i++)
        json_str(&o, s->dialect[i] < 0 ? "" : dialects_all[s->dialect[i]]->name);
    json_close(&o, ']');
    json_close(&o, '}');
    return 0;
}

static void take_members(struct serve *s, const json_t *o)
{
    const json_t *uid = json_object_get(o, "worker_uid"), *gid = json_object_get(o, "worker_gid");
    const char *dir = json_string_value(json_object_get(o, "history_dir"));

    credentials_read(&s->credentials, o);
    s->had_tls = json_is_true(json_object_get(o, "tls"));
    s->announce = json_is_true(json_object_get(o, "announce"));
    s->greet = json_is_true(json_object_get(o, "greet"));
    if (json_is_integer(uid) && json_is_integer(gid)) {
        s->worker_uid = (uid_t)json_integer_value(uid);
        s->worker_gid = (gid_t)json_integer_value(gid);
    }
    if (dir != NULL)
        snprintf(s->history_dir, sizeof s->history_dir, "%s", dir);
}

static int describe_patiently(int fd, struct listen_socket *out)
{
    struct patience patience = {0};
    int rc;

    while (patience_is_passing(rc = listen_describe(fd, out)) && patience_wait(&patience))
        ;
    return rc;
}

/* 0 or -errno: a socket that cannot be asked just now must not be lost. */
static int take_listeners(struct serve *s, const json_t *o, const int *fds, size_t n)
{
    const json_t *names = json_object_get(o, "dialects");

    for (size_t i = 0; i < n && s->listener_count < SERVE_LISTEN_MAX; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        int rc = describe_patiently(fds[i], &s->listeners[s->listener_count]);

        if (patience_is_passing(rc))
            return rc;
        if (rc < 0) {
            log_error("descriptor %d is no longer a listening socket", fds[i]);
            continue;
        }
        /* The listener of a dialect that this binary does not have becomes a main one. */
        s->dialect[s->listener_count++] = name == NULL ? -1 : dialect_find(name, strlen(name));
    }
    return 0;
}

/* NULL on failure; *rc is -ENOMEM, or 0 if the text is invalid. */
static json_t *parse_patiently(const void *bytes, size_t len, int *rc)
{
    struct patience patience = {0};
    struct hf_error err = {0};
    json_t *o;

    while ((o = json_parse_secret(bytes, len, &err)) == NULL && err.code == HF_E_no_memory &&
           patience_wait(&patience))
        ;
    *rc = o == NULL && err.code == HF_E_no_memory ? -ENOMEM : 0;
    return o;
}

int carry_take(struct serve *s, int resume_fd)
{
    int fds[KEEPER_CARRY_FDS_MAX];
    size_t n = KEEPER_CARRY_FDS_MAX, len = 0;
    void *bytes = NULL;
    json_t *o = NULL;
    int rc = keeper_resume_carry(resume_fd, &bytes, &len, fds, &n);

    if (rc < 0) {
        log_error("cannot read the state of the previous binary: %s", strerror(-rc));
        return 1;
    }
    o = parse_patiently(bytes, len, &rc);
    if (o == NULL && rc == 0)
        log_error("the state of the previous binary is invalid; only its sockets are kept");
    take_members(s, o);
    if (rc == 0)
        rc = take_listeners(s, o, fds, n);
    if (rc < 0)
        log_error("cannot take over the state of the previous binary: %s", strerror(-rc));
    s->resumed = true;
    json_free_secret(o);
    hf_wipe(bytes, len);
    free(bytes);
    return rc < 0 ? 1 : 0;
}
