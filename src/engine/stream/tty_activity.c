/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tty_activity.c - the state of a terminal that is visible without reading its text
 *
 * Each terminal has one timer. Activity sets it to a short delay. When it fires while output still
 * arrives, it waits a little longer; otherwise it sends a probe to the keeper (tty_probe.h), and
 * the reply is compared with what was last reported. Layer: engine.
 */
#include "engine/stream/tty_activity.h"

#include <stdlib.h>
#include <string.h>
#include <termios.h>

#include "base/crypto.h"
#include "base/mem.h"
#include "engine/process_own.h"
#include "engine/spawn/keeper_channel.h"
#include "engine/stream/tty_activity_own.h"
#include "engine/stream/viewer.h"
#include "term/osc.h"

/* What an event reports. It is hashed as raw bytes, so it starts zeroed. */
struct tty_activity_report {
    uint8_t waiting, echo_off;
    uint64_t bells;
    char foreground[32];
    char title[RECORD_TITLE_BYTES], cwd[K_CWD_MAX];
};

struct tty_activity {
    struct process *process;
    struct osc osc;
    struct timer *timer;
    struct list watches;
    uint64_t reported; /* hash of what the last event reported; 0: none yet */
    char *proc_cwd;    /* as reported by the kernel; NULL: unknown */
    uint64_t probes;   /* started so far */
    uint64_t active_ms, busy_since_ms;
    unsigned wait_ms;    /* what the timer was set to */
    uint8_t probes_left; /* still to follow the last activity */
    bool probe_pending;  /* the keeper has not replied yet */
    bool soon;           /* the timer was set by activity */
    bool input_since;    /* something was typed since the probe was sent */
};

static unsigned first_ms(const struct tty_activity *a)
{
    return list_is_empty(&a->watches) ? ATTENTION_FIRST_MS : ATTENTION_WATCH_FIRST_MS;
}

static void arm(struct tty_activity *a, unsigned ms)
{
    a->wait_ms = ms;
    timer_start(a->timer, ms);
}

/* --- reports ------------------------------------------------------------------------------ */

static const char *or_empty(const char *s)
{
    return s != NULL ? s : "";
}

static void gather(struct tty_activity *a, struct tty_activity_report *t)
{
    const struct record_head *h = a->process->rec.head;
    struct process_view v;

    process_view(a->process, &v);
    t->waiting = h->waiting;
    t->echo_off = h->echo_off;
    t->bells = h->bells;
    process_foreground(a->process, t->foreground, sizeof t->foreground);
    strncpy(t->title, or_empty(v.title), sizeof t->title - 1);
    strncpy(t->cwd, or_empty(v.cwd), sizeof t->cwd - 1);
}

static void report(struct tty_activity *a)
{
    uint64_t before = a->reported;
    struct tty_activity_report now;

    memset(&now, 0, sizeof now);
    gather(a, &now);
    a->reported = crypto_hash(&now, sizeof now) | 1;
    if (a->reported != before)
        process_updated(a->process);
}

static struct tty_activity_view view(const struct process *p)
{
    const struct record_head *h = p->rec.head;

    return (struct tty_activity_view){.waiting = (enum tty_activity_fact)h->waiting,
                                      .echo_off = (enum tty_activity_fact)h->echo_off,
                                      .bells = h->bells};
}

/* A watch may cancel itself, but no other. */
static void notify_watches(struct tty_activity *a, uint64_t probe)
{
    struct tty_activity_view v = view(a->process);
    struct list *it, *tmp;

    list_for_each (it, tmp, &a->watches) {
        struct tty_activity_watch *w = list_entry(it, struct tty_activity_watch, link);

        if (w->from_probe <= probe)
            w->fn(w->arg, &v);
    }
}

/* --- probes --------------------------------------------------------------------------------- */

static enum tty_activity_fact probe_echo(const struct process *p)
{
    struct termios t;

    if (output_tty(p) < 0 || tcgetattr(output_tty(p), &t) < 0)
        return FACT_UNKNOWN;
    return (t.c_lflag & ICANON) && !(t.c_lflag & ECHO) ? FACT_YES : FACT_NO;
}

/* Schedules the next probe in case nothing happens. */
static void schedule_probe(struct tty_activity *a)
{
    if (a->soon)
        return;
    if (!list_is_empty(&a->watches)) {
        unsigned ms = a->wait_ms * 2;

        arm(a, ms < ATTENTION_WATCH_MAX_MS ? ms : ATTENTION_WATCH_MAX_MS);
    } else if (a->process->rec.head->waiting != FACT_YES && a->probes_left > 0) {
        a->probes_left--;
        arm(a, a->wait_ms * ATTENTION_FACTOR);
    }
}

static void apply_reply(struct tty_activity *a, const struct k_probed *m)
{
    struct record_head *h = a->process->rec.head;
    bool waits = m->reading == K_LOOK_YES && !a->input_since;

    a->probe_pending = false;
    h->waiting = m->reading == K_LOOK_UNKNOWN ? FACT_UNKNOWN : waits ? FACT_YES : FACT_NO;
    h->echo_off = (uint8_t)probe_echo(a->process);
    free(a->proc_cwd);
    a->proc_cwd = m->cwd[0] != '\0' ? hf_xstrdup(m->cwd) : NULL;
}

static void on_reply(struct process *p, const struct k_probed *m)
{
    struct tty_activity *a = p->tty_activity;

    if (a == NULL || !a->probe_pending)
        return;
    process_ref(p);
    apply_reply(a, m);
    /* A program that waits for input has already written its prompt: read that first. */
    if (!list_is_empty(&a->watches) && !pace_is_paused(p))
        output_read_rest(p);
    if (p->tty_activity != NULL && process_is_running(p)) {
        report(a);
        notify_watches(a, a->probes);
        schedule_probe(a);
    }
    process_unref(p);
}

/* Finds the process by its entry number, so that no reference is held while the keeper probes. */
static void on_probe_reply(void *arg, const void *packet, size_t len, int *fds, size_t fd_count)
{
    struct engine *e = arg;
    const struct k_probed *m = packet;
    struct list *it, *tmp;

    (void)len, (void)fds, (void)fd_count;
    if (m == NULL)
        return;
    list_for_each (it, tmp, &e->processes) {
        struct process *p = list_entry(it, struct process, link);

        if (p->entry == m->entry) {
            on_reply(p, m);
            return;
        }
    }
}

static void send_probe(struct tty_activity *a)
{
    struct process *p = a->process;
    struct k_simple m = {.type = K_PROBE, .entry = p->entry};

    a->busy_since_ms = 0;
    if (a->probe_pending || exit_is_reaped(p))
        return;
    a->input_since = false;
    a->probes++;
    a->probe_pending = keeper_channel_send(p->engine->channel, &m, sizeof m, NULL, 0, NULL, 0,
                                           on_probe_reply, p->engine) == 0;
}

static void attention_on_timer(struct timer *t, void *arg)
{
    struct tty_activity *a = arg;
    uint64_t now = loop_now_ms(a->process->engine->loop);
    unsigned first = first_ms(a);

    (void)t;
    if (a->busy_since_ms == 0)
        a->busy_since_ms = now;
    if (a->soon && now - a->active_ms < first &&
        now - a->busy_since_ms < (uint64_t)first * ATTENTION_PATIENCE) {
        arm(a, first);
        return;
    }
    a->soon = false;
    send_probe(a);
}

/* --- activity --------------------------------------------------------------------------------- */

void tty_activity_activity(struct process *p)
{
    struct tty_activity *a = p->tty_activity;

    if (a == NULL)
        return;
    a->active_ms = loop_now_ms(p->engine->loop);
    a->probes_left = TTY_ACTIVITY_PROBES;
    if (a->soon || exit_is_reaped(p))
        return;
    a->soon = true;
    arm(a, first_ms(a));
}

void tty_activity_input(struct process *p)
{
    if (p->tty_activity == NULL)
        return;
    p->tty_activity->input_since = true;
    tty_activity_activity(p);
}

static void set_title(struct process *p, const char *title)
{
    struct viewer_notice n = {.kind = NOTICE_TITLE};
    struct record_head *h = p->rec.head;
    size_t len = strlen(title);

    if (len >= sizeof h->osc_title) {
        len = sizeof h->osc_title - 1;
        while (len > 0 && ((unsigned char)title[len] & 0xC0) == 0x80)
            len--;
    }
    if (strncmp(h->osc_title, title, len) == 0 && h->osc_title[len] == '\0')
        return;
    memcpy(h->osc_title, title, len);
    memset(h->osc_title + len, 0, sizeof h->osc_title - len);
    if (p->meta.title == NULL)
        viewers_notice(p, &n);
}

static void on_osc(void *arg, const struct osc_event *e)
{
    struct process *p = arg;
    struct record_head *h = p->rec.head;

    switch (e->kind) {
    case OSC_TITLE: set_title(p, e->text); break;
    case OSC_CWD:
        if (e->len < sizeof h->osc_cwd)
            memcpy(h->osc_cwd, e->text, e->len + 1);
        break;
    case OSC_BELL: h->bells++; break;
    case OSC_MARK: break;
    }
}

/* Being killed in between is harmless: the next worker parses the sequence again. */
void tty_activity_output(struct process *p)
{
    struct tty_activity *a = p->tty_activity;
    uint64_t next = journal_next(&p->journal);

    if (a == NULL || a->osc.vt.at >= next)
        return;
    if (a->osc.vt.at < journal_first(&p->journal))
        osc_init(&a->osc, journal_first(&p->journal));
    osc_feed(&a->osc, journal_bytes(&p->journal, a->osc.vt.at), (size_t)(next - a->osc.vt.at),
             on_osc, p);
    p->rec.head->osc_from = osc_resume_at(&a->osc);
    tty_activity_activity(p);
}

/* --- life -------------------------------------------------------------------------------- */

void tty_activity_start(struct process *p)
{
    struct tty_activity *a;

    if (!p->rec.head->pty || p->tty_activity != NULL)
        return;
    a = hf_xalloc(sizeof *a);
    a->process = p;
    a->timer = timer_new(p->engine->loop, attention_on_timer, a);
    list_init(&a->watches);
    osc_init(&a->osc, p->rec.head->osc_from);
    p->tty_activity = a;
    tty_activity_output(p);
    tty_activity_activity(p);
}

/* The process has exited: stop probing. Watchers learn of the exit as viewers. */
void tty_activity_stop(struct process *p)
{
    if (p->tty_activity != NULL)
        timer_stop(p->tty_activity->timer);
}

void tty_activity_free(struct process *p)
{
    struct tty_activity *a = p->tty_activity;

    if (a == NULL)
        return;
    p->tty_activity = NULL;
    timer_close(a->timer);
    while (!list_is_empty(&a->watches))
        list_remove(a->watches.next);
    free(a->proc_cwd);
    free(a);
}

const char *tty_activity_cwd(const struct process *p)
{
    const struct record_head *h = p->rec.head;

    if (h->osc_cwd[0] != '\0')
        return h->osc_cwd;
    if (p->tty_activity != NULL && p->tty_activity->proc_cwd != NULL)
        return p->tty_activity->proc_cwd;
    return p->meta.cwd;
}

void process_tty_activity(struct process *p, struct tty_activity_view *v)
{
    *v = view(p);
    if (!process_is_running(p))
        v->waiting = v->echo_off = FACT_NO;
}

void process_watch_tty_activity(struct process *p, struct tty_activity_watch *w)
{
    struct tty_activity *a = p->tty_activity;

    if (a == NULL)
        return;
    w->from_probe = a->probes + 1;
    list_append(&a->watches, &w->link);
    if (!exit_is_reaped(p))
        arm(a, 0);
    a->soon = false;
    a->wait_ms = ATTENTION_WATCH_FIRST_MS;
}

void tty_activity_watch_cancel(struct tty_activity_watch *w)
{
    if (w->link.next != NULL)
        list_remove(&w->link);
}
