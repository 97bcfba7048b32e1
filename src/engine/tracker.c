/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tracker.h"

#include <string.h>

struct feeding {
    struct tracker *t;
    struct tracker_state *s;         /* being made */
    const struct tracker_state *old; /* what counts until then */
    unsigned rows;
    tracker_query_fn *fn;
    void *arg;
};

const struct tracker_state *tracker_state(const struct tracker *t)
{
    return &t->head->state[atomic_load_explicit(&t->head->which, memory_order_acquire) & 1];
}

uint64_t tracker_at(const struct tracker *t)
{
    return tracker_state(t)->vt.at;
}

const char *tracker_title(const struct tracker *t)
{
    const struct tracker_text *x = &tracker_state(t)->title;

    return x->len > 0 ? t->room->title[x->place] : "";
}

const char *tracker_cwd(const struct tracker *t)
{
    const struct tracker_text *x = &tracker_state(t)->cwd;

    return x->len > 0 ? t->room->cwd[x->place] : "";
}

/* --- queries ----------------------------------------------------------------------- */

static void ask(struct feeding *f, enum query_kind kind, int32_t number, uint8_t end)
{
    struct query q = {kind, number, end, f->s->vt.token_at, f->s->vt.at};

    if (kind != QUERY_NONE && f->fn != NULL)
        f->fn(f->arg, &q, &f->s->modes);
}

/* --- texts ---------------------------------------------------------------------------- */

/* Writes where nobody looks yet; a text of a feed that is never finished is never seen. */
static void text_set(struct tracker_text *x, const struct tracker_text *old, char *places,
                     size_t place_size, const char *text, size_t len)
{
    char *to;

    if (len >= place_size) {
        len = place_size - 1;
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--; /* no half of a character */
    }
    x->place = old->place ^ 1;
    x->len = (uint16_t)len;
    to = places + x->place * place_size;
    memcpy(to, text, len);
    to[len] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* file://HOST/PATH, with %XX; the path alone is taken too. In place; returns the path's length, 0: none. */
static size_t path_of_url(char *text, size_t len, char **path)
{
    char *from = text, *end = text + len, *to;

    if (len > 7 && memcmp(text, "file://", 7) == 0)
        from = memchr(text + 7, '/', len - 7);
    if (from == NULL || from == end || *from != '/')
        return 0;
    *path = to = from;
    for (; from < end; from++) {
        if (*from == '%' && end - from > 2 && hex_digit(from[1]) >= 0 && hex_digit(from[2]) >= 0) {
            char c = (char)(hex_digit(from[1]) * 16 + hex_digit(from[2]));
            if ((unsigned char)c < 0x20 || c == 0x7f)
                return 0;
            *to++ = c;
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    return (size_t)(to - *path);
}

static void set_cwd(struct feeding *f, char *text, size_t len)
{
    char *path = NULL;
    size_t n = path_of_url(text, len, &path);

    if (n == 0 || n > LIMIT_CWD_BYTES)
        return;
    text_set(&f->s->cwd, &f->old->cwd, f->t->room->cwd[0], sizeof f->t->room->cwd[0], path, n);
    f->s->cwds++;
}

static void set_title(struct feeding *f, const char *text, size_t len)
{
    text_set(&f->s->title, &f->old->title, f->t->room->title[0], sizeof f->t->room->title[0], text,
             len);
    f->s->titles++;
}

/* OSC 133 ; A prompt, B what is typed, C the command's output, D [; exit code] its end. */
static void set_mark(struct feeding *f, const char *text, size_t len)
{
    static const char letters[] = "ABCD";
    const char *which = len > 0 && text[0] != '\0' ? strchr(letters, text[0]) : NULL;
    int32_t code = 0;
    size_t i;

    if (which == NULL)
        return;
    f->s->last_mark = (uint8_t)(which - letters);
    f->s->marks++;
    f->s->mark_at[f->s->last_mark] = f->s->vt.at;
    if (f->s->last_mark != MARK_DONE)
        return;
    for (i = 2; i < len && i < 8 && text[i] >= '0' && text[i] <= '9'; i++)
        code = code * 10 + (text[i] - '0');
    f->s->exit_code = i > 2 ? code : -1;
}

/* --- what the parser tells ---------------------------------------------------------------- */

static void on_control(void *arg, uint8_t c)
{
    struct feeding *f = arg;

    if (c == 0x07)
        f->s->bells++;
    modes_control(&f->s->modes, c);
    ask(f, query_of_control(c), 0, c);
}

static void on_csi(void *arg, const struct vt *v, uint32_t id)
{
    struct feeding *f = arg;

    if (id == 'm')
        return; /* by far the most of them, and no mode */
    modes_csi(&f->s->modes, v, id, f->rows);
    ask(f, query_of_csi(v, id), vt_param_raw(v, 0), (uint8_t)id);
}

static void on_esc(void *arg, const struct vt *v, uint32_t id)
{
    struct feeding *f = arg;

    (void)v;
    modes_esc(&f->s->modes, id);
    ask(f, query_of_esc(id), 0, (uint8_t)id);
}

static void on_string_begin(void *arg, const struct vt *v, enum vt_string kind, uint32_t id)
{
    struct feeding *f = arg;

    (void)v;
    query_string_begin(&f->s->string, kind, id);
    f->s->osc.len = 0;
    f->s->osc.place = f->old->osc.place ^ 1;
    f->s->osc_wanted = kind == VT_STRING_OSC;
}

static bool is_wanted(int32_t number)
{
    return number == 0 || number == 2 || number == 7 || number == 133;
}

static void on_string_put(void *arg, const char *bytes, size_t len)
{
    struct feeding *f = arg;
    struct tracker_state *s = f->s;

    query_string_put(&s->string, bytes, len);
    /* As long as the number may still become a wanted one, and then up to the longest text. */
    if (!s->osc_wanted)
        return;
    if (s->osc.len + len > TRACKER_OSC_BYTES) {
        s->osc_wanted = false;
        return;
    }
    if (!is_wanted(s->string.number) && s->string.number != 1 && s->string.number != 13 &&
        s->string.number != -1) {
        s->osc_wanted = false;
        return;
    }
    memcpy(f->t->room->osc[s->osc.place] + s->osc.len, bytes, len);
    s->osc.len = (uint16_t)(s->osc.len + len);
}

static void take_osc(struct feeding *f)
{
    char *text = f->t->room->osc[f->s->osc.place];
    char *semi = memchr(text, ';', f->s->osc.len);
    size_t len;

    if (semi == NULL)
        return;
    len = (size_t)(text + f->s->osc.len - (semi + 1));
    switch (f->s->string.number) {
    case 0:
    case 2: set_title(f, semi + 1, len); break;
    case 7: set_cwd(f, semi + 1, len); break;
    case 133: set_mark(f, semi + 1, len); break;
    default: break;
    }
}

static void on_string_end(void *arg, const struct vt *v, bool ok, uint8_t end)
{
    struct feeding *f = arg;

    (void)v;
    if (ok && f->s->osc_wanted && f->s->osc.len > 0)
        take_osc(f);
    f->s->osc_wanted = false;
    if (ok)
        ask(f, query_string_end(&f->s->string), f->s->string.number, end);
}

static const struct vt_ops ops = {
    .control = on_control,
    .csi = on_csi,
    .esc = on_esc,
    .string_begin = on_string_begin,
    .string_put = on_string_put,
    .string_end = on_string_end,
};

/* --- the whole ------------------------------------------------------------------------------- */

void tracker_init(struct tracker *t, struct tracker_head *head, struct tracker_room *room,
                  uint64_t ring_bytes)
{
    t->head = head;
    t->room = room;
    t->every = ring_bytes / TRACKER_CHECKPOINTS;
}

void tracker_start(struct tracker *t)
{
    modes_init(&t->head->state[0].modes);
    t->head->state[0].exit_code = -1;
}

/* The spare copy, like the one that counts. */
static struct tracker_state *spare(struct tracker *t)
{
    const struct tracker_state *old = tracker_state(t);
    struct tracker_state *s = old == &t->head->state[0] ? &t->head->state[1] : &t->head->state[0];

    *s = *old;
    return s;
}

static void make_it_count(struct tracker *t)
{
    uint32_t which = atomic_load_explicit(&t->head->which, memory_order_relaxed);

    atomic_store_explicit(&t->head->which, which ^ 1, memory_order_release);
}

/* The slot is rewritten before the count moves: a kill in between leaves one bad slot that
 * is the oldest, and whose offset was taken out first. */
static void put_aside(struct tracker *t, const struct tracker_state *s)
{
    uint32_t n = atomic_load_explicit(&t->head->checkpoints, memory_order_relaxed);
    struct tracker_checkpoint *c = &t->room->checkpoint[n % TRACKER_CHECKPOINTS];

    c->vt.at = 0;
    atomic_signal_fence(memory_order_seq_cst);
    c->modes = s->modes;
    c->vt = s->vt;
    atomic_store_explicit(&t->head->checkpoints, n + 1, memory_order_release);
}

void tracker_feed(struct tracker *t, const void *bytes, size_t len, unsigned rows,
                  tracker_query_fn *fn, void *arg)
{
    struct feeding f = {t, NULL, tracker_state(t), rows, fn, arg};
    uint64_t before = f.old->vt.at;

    f.s = spare(t);
    vt_feed(&f.s->vt, &ops, &f, bytes, len);
    make_it_count(t);
    if (t->every > 0 && before / t->every != f.s->vt.at / t->every)
        put_aside(t, f.s);
}

void tracker_resized(struct tracker *t)
{
    modes_resized(&spare(t)->modes);
    make_it_count(t);
}

bool tracker_checkpoint(const struct tracker *t, uint64_t from, struct tracker_checkpoint *out)
{
    uint32_t n = atomic_load_explicit(&t->head->checkpoints, memory_order_acquire), i;
    bool found = false;

    for (i = 0; i < n && i < TRACKER_CHECKPOINTS; i++) {
        const struct tracker_checkpoint *c = &t->room->checkpoint[i];
        if (c->vt.at >= from && c->vt.at > 0 && (!found || c->vt.at < out->vt.at)) {
            *out = *c;
            found = true;
        }
    }
    return found;
}
