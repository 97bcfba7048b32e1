/* SPDX-License-Identifier: Apache-2.0 */
/*
 * viewer_hold.c - backpressure: which output must stay in the ring for viewers, present or absent
 *
 * A client that must not miss a byte resumes after the last byte it received. What was in flight
 * when its connection or its worker broke must stay in the ring until then. So the process is paced
 * by what its viewers have certainly received (receipt.h), not by what was sent to them. A viewer
 * that is cut off leaves a claim on what it may have missed (claim.h), for LIMIT_CLAIM_MS. A
 * process with hold_ms instead waits that long when no viewer is left, and for its first viewer. A
 * viewer that exerts no backpressure (viewer.h) claims nothing, nor does one that left
 * deliberately.
 *
 * The number of viewers and the lowest offset they still need are kept in the record and updated
 * before anything is overwritten, so that the next worker can replace the viewers by claims. Layer:
 * engine.
 */
#include "base/clock.h"
#include "engine/stream/viewer_own.h"

static bool is_confirmed(const struct viewer *v)
{
    return !v->ack && !v->never_holds && v->ops->confirmed != NULL;
}

uint64_t viewer_hold_has(const struct viewer *v)
{
    if (v->ack)
        return v->acked;
    return is_confirmed(v) ? v->receipt.at : v->at;
}

/* Data that a program has not read is lost when it closes its own socket, and we cannot know how
 * much that is. */
uint64_t viewer_hold_needs(const struct viewer *v)
{
    uint64_t has = viewer_hold_has(v),
             unread = v->process->rec.head->ring_bytes / VIEWER_HOLD_UNREAD_PART;

    if (!is_confirmed(v) || !v->ops->by_kernel)
        return has;
    return has > v->from + unread ? has - unread : v->from < has ? v->from : has;
}

/* Should output wait for this viewer if it is cut off? */
static bool may_claim(const struct viewer *v)
{
    return !v->internal && !v->never_holds && !v->stalled && !v->exited && !v->leaving;
}

/* --- receipts --------------------------------------------------------------------- */

static void request_receipt(struct viewer *v)
{
    receipt_note(&v->receipt, v->ops->sent(v->arg), v->at);
}

void viewer_hold_sent(struct viewer *v)
{
    uint64_t step = v->process->rec.head->ring_bytes / VIEWER_HOLD_RECEIPT_PART;

    if (is_confirmed(v) && v->at - receipt_noted(&v->receipt) >= step)
        request_receipt(v);
}

static void confirm_one(struct viewer *v, bool ask)
{
    if (!is_confirmed(v) || v->dead || v->exited || v->receipt.at == v->at)
        return;
    if (ask && receipt_noted(&v->receipt) < v->at)
        request_receipt(v);
    if (receipt_confirm(&v->receipt, v->ops->confirmed(v->arg)))
        v->moved_ms = loop_now_ms(v->process->engine->loop);
}

void viewer_hold_confirm(struct process *p, bool ask)
{
    struct list *it, *tmp;

    viewers_each(it, tmp, p) confirm_one(list_entry(it, struct viewer, link), ask);
}

/* --- retention ----------------------------------------------------------------------- */

void viewer_hold_note(struct process *p)
{
    uint64_t lowest = UINT64_MAX;
    uint32_t count = 0;
    struct list *it, *tmp;

    viewers_each(it, tmp, p)
    {
        const struct viewer *v = list_entry(it, struct viewer, link);
        if (!may_claim(v))
            continue;
        count++;
        if (viewer_hold_needs(v) < lowest)
            lowest = viewer_hold_needs(v);
    }
    p->rec.head->owed_at = lowest;
    p->rec.head->owed_clients = count;
}

/* Does not touch the page of claims while there are none. */
uint64_t viewer_hold_hold(const struct process *p, uint64_t hold)
{
    if (!p->rec.head->claims_used)
        return hold;
    return claims_hold(p->rec.claims, journal_first(&p->journal), hold, clock_mono_ms());
}

uint64_t viewer_hold_next_end(const struct process *p)
{
    return p->rec.head->claims_used ? claims_next_end(p->rec.claims, clock_mono_ms()) : 0;
}

static void claim(struct process *p, uint64_t at, uint64_t clients, bool last)
{
    struct record_head *h = p->rec.head;
    bool has_hold_ms = last && h->hold_ms > 0;
    uint64_t now = clock_mono_ms();
    struct claim c = {
        .at = at,
        .until_ms = now + (has_hold_ms ? (uint64_t)h->hold_ms : LIMIT_CLAIM_MS),
        .clients = (uint32_t)clients,
        .any = has_hold_ms,
    };

    h->claims_used = 1;
    claims_add(p->rec.claims, &c, now);
}

/* --- attach, detach and crash recovery ---------------------------------------------------- */

void viewer_hold_first(struct process *p)
{
    if (p->rec.head->hold_ms > 0)
        claim(p, 0, 1, true);
}

void viewer_hold_attached(struct viewer *v, bool resumes)
{
    const struct record *r = &v->process->rec;

    v->from = v->at;
    v->resumes = resumes && may_claim(v);
    if (!r->head->claims_used)
        return;
    if (!v->internal && !v->guest)
        claims_take_any(r->claims);
    if (v->resumes && claims_take(r->claims, v->at, clock_mono_ms()))
        v->resumes = false;
}

/* A client may reconnect before its old connection is known to be closed. */
static bool is_back(const struct viewer *cut)
{
    struct list *it, *tmp;

    viewers_each(it, tmp, cut->process)
    {
        struct viewer *v = list_entry(it, struct viewer, link);
        if (v->resumes && v->from >= viewer_hold_needs(cut) && v->from <= cut->at) {
            v->resumes = false;
            return true;
        }
    }
    return false;
}

void viewer_hold_cut(struct viewer *v)
{
    struct process *p = v->process;
    bool last = viewers_members(p) == 0;

    if (!process_is_running(p) || !may_claim(v) || is_back(v))
        return;
    if (last && p->rec.head->on_detach == DETACH_KILL && !p->engine->retiring)
        return; /* the process is killed for this very reason */
    claim(p, viewer_hold_needs(v), 1, last);
}

void viewer_hold_on_crash(struct process *p)
{
    struct record_head *h = p->rec.head;
    uint64_t ms = h->hold_ms > 0 ? (uint64_t)h->hold_ms : LIMIT_CLAIM_MS;

    if (h->claims_used)
        claims_renew(p->rec.claims, journal_next(&p->journal), clock_mono_ms(), ms);
    if (h->owed_clients > 0)
        claim(p, h->owed_at, h->owed_clients < LIMIT_VIEWERS ? h->owed_clients : LIMIT_VIEWERS,
              true);
    h->owed_clients = 0;
}

void viewer_leave(struct viewer *v)
{
    v->leaving = true;
}
