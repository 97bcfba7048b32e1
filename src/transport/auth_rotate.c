/* SPDX-License-Identifier: Apache-2.0 */
/*
 * auth_rotate.c - replaces the tokens while requests are being served
 *
 * Everything that a token authorised records the token's number. A token that stays must therefore
 * keep its number; a token that is removed invalidates its tickets and cookies. Layer: transport.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/crypto.h"
#include "base/mem.h"
#include "transport/auth_own.h"

void auth_set_link_key(struct auth *a, const uint8_t key[AUTH_KEY_BYTES])
{
    memcpy(a->link_key, key, AUTH_KEY_BYTES);
}

void auth_add_retired(struct auth *a, const char *token, size_t len, enum role role,
                      int64_t until_wall_ms)
{
    struct token *t = &a->tokens[a->count + a->retired];

    if (a->retired == AUTH_TOKENS_MAX || role == ROLE_NONE || until_wall_ms <= clock_wall_ms())
        return;
    *t = (struct token){
        .role = role, .number = ++a->last_number, .place = 1, .until_wall_ms = until_wall_ms};
    sha256(token, len, t->digest);
    auth_token_set_key(t);
    a->retired++;
}

static bool token_is_same(const struct token *x, const struct token *y)
{
    return x->role == y->role && crypto_equal(x->digest, y->digest, AUTH_DIGEST);
}

static const struct token *same_in(const struct auth *a, const struct token *t)
{
    for (size_t i = 0; i < a->count + a->retired; i++) {
        if (token_is_same(&a->tokens[i], t))
            return &a->tokens[i];
    }
    return NULL;
}

/* Number 0: those created while no token had the role own. */
static void drop_tickets(struct auth *a, uint32_t token)
{
    for (size_t i = 0; i < AUTH_TICKETS_MAX; i++) {
        if (a->tickets[i].role != ROLE_NONE && a->tickets[i].token == token)
            a->tickets[i] = (struct ticket){0};
    }
}

static void end_one(struct auth *a, uint32_t number, auth_ended_fn *ended, void *arg)
{
    drop_tickets(a, number);
    if (ended != NULL)
        ended(arg, number);
}

/* The tokens of `fresh`, with the numbers they already have here, or new ones. */
static bool take_numbers(struct auth *a, const struct auth *old, const struct auth *fresh)
{
    bool changed = false;

    memcpy(a->tokens, fresh->tokens, sizeof a->tokens);
    a->count = fresh->count;
    a->retired = fresh->retired;
    memcpy(a->key, fresh->key, sizeof a->key);
    for (size_t i = 0; i < a->count + a->retired; i++) {
        const struct token *same = same_in(old, &a->tokens[i]);

        a->tokens[i].number = same != NULL ? same->number : ++a->last_number;
        if (same != NULL && i >= a->count)
            a->tokens[i].place = same->place;
        changed |= same == NULL || (same->until_wall_ms == 0) != (i < a->count);
    }
    return changed;
}

bool auth_replace_tokens(struct auth *a, const struct auth *fresh, auth_ended_fn *ended, void *arg)
{
    struct auth *old = hf_xalloc(sizeof *old);
    bool changed;

    *old = *a;
    changed = take_numbers(a, old, fresh);
    for (size_t i = 0; i < old->count + old->retired; i++) {
        if (same_in(a, &old->tokens[i]) == NULL) {
            end_one(a, old->tokens[i].number, ended, arg);
            changed = true;
        }
    }
    if (!crypto_equal(old->key, a->key, AUTH_DIGEST))
        drop_tickets(a, 0);
    auth_free(old);
    return changed;
}

int64_t auth_end_retired(struct auth *a, auth_ended_fn *ended, void *arg)
{
    int64_t now = clock_wall_ms(), next = 0;
    size_t i = a->count;

    while (i < a->count + a->retired) {
        struct token *t = &a->tokens[i];
        uint32_t number = t->number;

        if (t->until_wall_ms <= now) {
            *t = a->tokens[a->count + --a->retired];
            end_one(a, number, ended, arg);
            continue;
        }
        next = next == 0 || t->until_wall_ms < next ? t->until_wall_ms : next;
        i++;
    }
    return next;
}

uint32_t auth_own_token(const struct auth *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->tokens[i].role == ROLE_OWN)
            return a->tokens[i].number;
    }
    return 0;
}

bool auth_token_at(const struct auth *a, size_t i, struct auth_token_view *out)
{
    const struct token *t = &a->tokens[i];

    if (i >= a->count + a->retired)
        return false;
    *out = (struct auth_token_view){.role = t->role, .until_wall_ms = t->until_wall_ms};
    snprintf(out->name, sizeof out->name, "%s-%u", http_role_name(t->role), t->place);
    return true;
}
