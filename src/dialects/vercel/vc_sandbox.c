/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vc_sandbox.c - the table of sandboxes, stored in the daemon's notes. Layer: dialects.
 */
#include "dialects/vercel/vc_sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "base/text.h"
#include "dialects/vercel/vercel_limits.h"
#include "engine/engine.h"
#include "engine/notes.h"

#define NOTE "vercel"
#define ID_PREFIX "sbx_"
#define ID_RANDOM_BYTES 15

/* --- storage that outlives the worker ------------------------------------------------------- */

static void write_box(struct json_out *o, const struct vc_sandbox *b)
{
    json_open(o, '{');
    json_kstr(o, "name", b->name);
    json_kstr(o, "session", b->session);
    json_kint(o, "created", b->created_ms);
    json_kint(o, "began", b->began_ms);
    json_kint(o, "changed", b->changed_ms);
    json_kint(o, "timeout", b->timeout_ms);
    json_kint(o, "usual", b->usual_ms);
    json_kbool(o, "stopped", b->stopped);
    if (b->last[0] != '\0') {
        json_kstr(o, "last", b->last);
        json_kint(o, "last_began", b->last_began_ms);
        json_kint(o, "last_ended", b->last_ended_ms);
    }
    if (b->env != NULL) {
        json_key(o, "env");
        json_value(o, b->env);
    }
    if (b->tags != NULL) {
        json_key(o, "tags");
        json_value(o, b->tags);
    }
    json_close(o, '}');
}

/* 0, or -ENOSPC: no room for all of them. */
static int boxes_keep(const struct boxes *all)
{
    struct buf text = {0};
    struct json_out o;
    int rc;

    json_out_init(&o, &text);
    json_open(&o, '[');
    for (size_t i = 0; i < all->count; i++)
        write_box(&o, &all->list[i]);
    json_close(&o, ']');
    rc = engine_note_set(all->engine, NOTE, buf_data(&text), text.len);
    buf_wipe(&text);
    return rc;
}

static bool take_text(const json_t *o, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(o, key));

    return text != NULL && snprintf(out, size, "%s", text) < (int)size;
}

static int64_t take_int(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* The slot after the last. Most daemons never need one. */
static struct vc_sandbox *next_place(struct boxes *all)
{
    if (all->list == NULL)
        all->list = hf_xalloc(LIMIT_VERCEL_SANDBOXES * sizeof *all->list);
    return &all->list[all->count];
}

static void read_box(struct boxes *all, const json_t *o)
{
    struct vc_sandbox *b = next_place(all);

    *b = (struct vc_sandbox){
        .created_ms = take_int(o, "created"),
        .began_ms = take_int(o, "began"),
        .changed_ms = take_int(o, "changed"),
        .timeout_ms = take_int(o, "timeout"),
        .usual_ms = take_int(o, "usual"),
        .stopped = json_is_true(json_object_get(o, "stopped")),
        .last_began_ms = take_int(o, "last_began"),
        .last_ended_ms = take_int(o, "last_ended"),
    };
    if (!take_text(o, "name", b->name, sizeof b->name) ||
        !take_text(o, "session", b->session, sizeof b->session))
        return;
    (void)take_text(o, "last", b->last, sizeof b->last);
    b->env = json_incref(json_object_get(o, "env"));
    b->tags = json_incref(json_object_get(o, "tags"));
    all->count++;
}

void vc_sandboxes_init(struct boxes *all, struct engine *e)
{
    size_t len = 0, i;
    const char *text = engine_note(e, NOTE, &len);
    json_auto_t *kept = text != NULL ? json_parse(text, len, NULL) : NULL;
    json_t *o;

    all->engine = e;
    all->list = NULL;
    all->count = 0;
    json_array_foreach (kept, i, o) {
        if (all->count < LIMIT_VERCEL_SANDBOXES)
            read_box(all, o);
    }
}

void vc_sandboxes_fini(struct boxes *all)
{
    while (all->count > 0) {
        json_decref(all->list[--all->count].env);
        json_decref(all->list[all->count].tags);
    }
    free(all->list);
}

/* --- lookup --------------------------------------------------------------------------------- */

bool vc_sandbox_is_session_id(const char *text)
{
    size_t prefix = strlen(ID_PREFIX);

    return strlen(text) == BOX_SESSION_BYTES && memcmp(text, ID_PREFIX, prefix) == 0 &&
           strspn(text + prefix, "abcdefghijklmnopqrstuvwxyz234567") == BOX_SESSION_BYTES - prefix;
}

static struct vc_sandbox *find(struct boxes *all, const char *name)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->list[i].name, name) == 0)
            return &all->list[i];
    return NULL;
}

struct vc_sandbox *vc_sandbox_named(struct boxes *all, const char *name)
{
    const struct vc_create local = {.name = BOX_LOCAL};
    struct vc_sandbox *b = find(all, name);

    if (b == NULL && strcmp(name, BOX_LOCAL) == 0)
        b = vc_sandbox_new(all, &local, NULL);
    return b;
}

struct vc_sandbox *vc_sandbox_of_session(struct boxes *all, const char *session)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->list[i].session, session) == 0)
            return &all->list[i];
    return NULL;
}

bool vc_sandbox_at_session(const struct boxes *all, const char *session, struct vc_sandbox *out)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct vc_sandbox *b = &all->list[i];
        bool last = b->last[0] != '\0' && strcmp(b->last, session) == 0;

        if (!last && strcmp(b->session, session) != 0)
            continue;
        *out = *b;
        out->env = out->tags = NULL;
        if (last) {
            memcpy(out->session, b->last, sizeof out->session);
            out->began_ms = b->last_began_ms;
            out->changed_ms = b->last_ended_ms;
            out->stopped = true;
        }
        return true;
    }
    return false;
}

/* --- changes -------------------------------------------------------------------------------- */

static void new_session(struct vc_sandbox *b, int64_t now)
{
    uint8_t random[ID_RANDOM_BYTES];

    crypto_random(random, sizeof random);
    memcpy(b->session, ID_PREFIX, strlen(ID_PREFIX));
    base32_encode(b->session + strlen(ID_PREFIX), random, sizeof random);
    b->began_ms = b->changed_ms = now;
    b->timeout_ms = b->usual_ms;
    b->stopped = false;
}

static void drop(struct boxes *all, struct vc_sandbox *b)
{
    size_t at = (size_t)(b - all->list);

    json_decref(b->env);
    json_decref(b->tags);
    all->count--;
    memmove(b, b + 1, (all->count - at) * sizeof *b);
}

static bool is_over(const struct vc_sandbox *b, int64_t now)
{
    return b->stopped || b->began_ms + b->timeout_ms < now;
}

/* A stopped sandbox is evicted, or one that the original would have stopped by now. */
static bool make_room(struct boxes *all, int64_t now)
{
    struct vc_sandbox *found = NULL;

    if (all->count < LIMIT_VERCEL_SANDBOXES)
        return true;
    for (size_t i = 0; i < all->count; i++) {
        struct vc_sandbox *b = &all->list[i];

        if (strcmp(b->name, BOX_LOCAL) != 0 && is_over(b, now) &&
            (found == NULL || b->stopped > found->stopped ||
             (b->stopped == found->stopped && b->changed_ms < found->changed_ms)))
            found = b;
    }
    if (found != NULL)
        drop(all, found);
    return found != NULL;
}

static void make_name(struct vc_sandbox *b)
{
    uint8_t random[5];
    char text[9];

    crypto_random(random, sizeof random);
    base32_encode(text, random, sizeof random);
    snprintf(b->name, sizeof b->name, "sandbox-%s", text);
}

static json_t *copy_of(const json_t *o)
{
    return json_object_size(o) > 0 ? json_deep_copy(o) : NULL;
}

struct vc_sandbox *vc_sandbox_new(struct boxes *all, const struct vc_create *request,
                                  struct hf_error *err)
{
    int64_t now = clock_wall_ms();
    struct vc_sandbox *b;

    if (request->name == NULL || strcmp(request->name, BOX_LOCAL) != 0)
        (void)vc_sandbox_named(all, BOX_LOCAL); /* reserves its slot before the table fills up */
    if (!make_room(all, now)) {
        hf_fail(err, HF_E_bad_request, "there are already %d sandboxes; stop or remove one",
                LIMIT_VERCEL_SANDBOXES);
        return NULL;
    }
    b = next_place(all);
    all->count++;
    *b = (struct vc_sandbox){.created_ms = now,
                             .usual_ms =
                                 request->timeout_ms > 0 ? request->timeout_ms : VERCEL_TIMEOUT_MS};
    if (request->name != NULL)
        snprintf(b->name, sizeof b->name, "%s", request->name);
    else
        make_name(b);
    b->env = copy_of(request->env);
    b->tags = copy_of(request->tags);
    new_session(b, now);
    if (boxes_keep(all) == -ENOSPC && strcmp(b->name, BOX_LOCAL) != 0) {
        drop(all, b);
        hf_fail(err, HF_E_bad_request, "there is no room for one more sandbox and its variables");
        return NULL;
    }
    return b;
}

int vc_sandbox_change(struct boxes *all, struct vc_sandbox *b, const struct vc_create *request,
                      struct hf_error *err)
{
    struct vc_sandbox old = *b;

    if (request->timeout_ms > 0)
        b->usual_ms = request->timeout_ms;
    if (request->env != NULL)
        b->env = copy_of(request->env);
    if (request->tags != NULL)
        b->tags = copy_of(request->tags);
    b->changed_ms = clock_wall_ms();
    if (boxes_keep(all) == -ENOSPC) {
        if (b->env != old.env)
            json_decref(b->env);
        if (b->tags != old.tags)
            json_decref(b->tags);
        *b = old;
        return hf_fail(err, HF_E_bad_request, "there is no room for these variables and tags");
    }
    if (b->env != old.env)
        json_decref(old.env);
    if (b->tags != old.tags)
        json_decref(old.tags);
    return 0;
}

void vc_sandbox_stop(struct boxes *all, struct vc_sandbox *b)
{
    b->stopped = true;
    b->changed_ms = clock_wall_ms();
    (void)boxes_keep(all);
}

void vc_sandbox_resume(struct boxes *all, struct vc_sandbox *b)
{
    memcpy(b->last, b->session, sizeof b->last);
    b->last_began_ms = b->began_ms;
    b->last_ended_ms = b->changed_ms;
    new_session(b, clock_wall_ms());
    (void)boxes_keep(all);
}

int64_t vc_sandbox_timeout_ms(const struct vc_sandbox *b)
{
    int64_t lasted = clock_wall_ms() - b->began_ms;

    return b->timeout_ms > lasted ? b->timeout_ms : lasted;
}

void vc_sandbox_extend(struct boxes *all, struct vc_sandbox *b, int64_t ms)
{
    b->timeout_ms = vc_sandbox_timeout_ms(b) + ms;
    b->changed_ms = clock_wall_ms();
    (void)boxes_keep(all);
}

void vc_sandbox_remove(struct boxes *all, struct vc_sandbox *b)
{
    drop(all, b);
    (void)boxes_keep(all);
}
