/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_input.c - input on its way to the child
 *
 * Input is kept in a bounded queue in the record, so that what was accepted from a client is
 * written even if the worker dies in between. One store (a commit) advances both the queue's head
 * and the client's count; the tail advances after each write(2), guarded by the slip
 * (worker_shared.h). So input is written once and in order, whatever happens. Layer: engine.
 */
#include <errno.h>
#include <string.h>
#include <termios.h>

#include "base/clock.h"
#include "base/io.h"
#include "engine/spawn/keeper_channel.h"
#include "engine/stream/client_id.h"
#include "engine/stream/screen_own.h"
#include "engine/stream/tty_activity_own.h"
#include "engine/stream/viewer_own.h"

#define QUEUE LIMIT_INPUT_BYTES

static const struct input_commit *committed(const struct record_head *h)
{
    return &h->commit[atomic_load_explicit(&h->commit_which, memory_order_acquire) & 1];
}

static uint64_t queue_tail(const struct record_head *h)
{
    return atomic_load_explicit(&h->input_tail, memory_order_relaxed);
}

static size_t queue_room(const struct record_head *h)
{
    uint64_t used = committed(h)->head - queue_tail(h);

    /* The initial input may exceed this limit; then there is no room until it has been written. */
    return used < LIMIT_INPUT_QUEUE_BYTES ? (size_t)(LIMIT_INPUT_QUEUE_BYTES - used) : 0;
}

static struct input_client *client_at(const struct record *r, int64_t index)
{
    return index < LIMIT_INPUT_CLIENTS ? &r->head->clients[index]
                                       : &r->guests[index - LIMIT_INPUT_CLIENTS];
}

/* Commits `len` bytes after the head, and with them `taken` bytes of the client's count. */
static void queue_commit(struct record *r, size_t len, int client, size_t taken)
{
    struct record_head *h = r->head;
    struct input_client *of = client >= 0 ? client_at(r, client) : NULL;
    const struct input_commit *old = committed(h);
    uint32_t which = atomic_load_explicit(&h->commit_which, memory_order_relaxed) ^ 1;
    struct input_commit *c = &h->commit[which & 1];

    c->head = old->head + len;
    c->client = client;
    c->client_offset = of != NULL ? of->offset + taken : 0;
    atomic_store_explicit(&h->commit_which, which, memory_order_release);
    if (of != NULL) {
        of->offset = c->client_offset;
        of->used_wall_ms = clock_wall_ms();
    }
}

static void queue_copy(struct record *r, const char *bytes, size_t len)
{
    size_t at = committed(r->head)->head % QUEUE;
    size_t part = len < QUEUE - at ? len : QUEUE - at;

    memcpy(r->input + at, bytes, part);
    memcpy(r->input, bytes + part, len - part);
}

/* --- clients -------------------------------------------------------------------- */

/* The owner's clients and those of all other grants have separate slots, so that a grant with
 * less than `own` cannot evict the owner's clients. */
struct client_room {
    struct input_client *slots;
    int count, first; /* index of slots[0] in a commit */
};

static struct client_room client_room(const struct record *r, const char *key)
{
    if (client_is_owners(key))
        return (struct client_room){r->head->clients, LIMIT_INPUT_CLIENTS, 0};
    return (struct client_room){r->guests, LIMIT_INPUT_GUESTS, LIMIT_INPUT_CLIENTS};
}

static int client_find(const struct record *r, const char *key)
{
    struct client_room room = client_room(r, key);
    int i;

    if (!client_is_owners(key) && !r->head->guests_used)
        return -1; /* reading them would touch a page */
    for (i = 0; i < room.count; i++)
        if (strcmp(room.slots[i].name, key) == 0)
            return room.first + i;
    return -1;
}

/* The number of slots that the grant of this client uses; 0 for the owner's clients. */
static int client_share(const struct client_room *room, int of)
{
    int i, n = 0;

    for (i = 0; i < room->count; i++)
        n += client_same_guest(room->slots[i].name, room->slots[of].name);
    return n;
}

/* Picks the slot for a new client: that of the one silent for longest. Among guests, that of the
 * grant that uses most slots, so that no link evicts the clients of another. */
static int client_victim(const struct client_room *room)
{
    int i, victim = 0;

    for (i = 0; i < room->count; i++) {
        int more = client_share(room, i) - client_share(room, victim);

        if (room->slots[i].name[0] == '\0')
            return i;
        if (more > 0 ||
            (more == 0 && room->slots[i].used_wall_ms < room->slots[victim].used_wall_ms))
            victim = i;
    }
    return victim;
}

static int client_make(struct record *r, const char *key)
{
    struct client_room room = client_room(r, key);
    struct input_client *c;
    int i;

    if (!client_is_owners(key)) {
        if (r->head->meta_len[1] > RECORD_META_MAX)
            return -1; /* an older version's metadata uses their space: not counted */
        r->head->guests_used = 1;
    }
    i = client_victim(&room);
    c = &room.slots[i];
    memset(c, 0, sizeof *c);
    memcpy(c->name, key, strlen(key));
    c->used_wall_ms = clock_wall_ms();
    return room.first + i;
}

uint64_t viewer_input_offset(const struct viewer *v)
{
    const struct record *r = &v->process->rec;
    int i = v->client != NULL ? client_find(r, v->client) : -1;

    return i >= 0 ? client_at(r, i)->offset : 0;
}

#define TYPED_BYTES 256 /* a key or a line: somebody waits for its echo */

/* --- from the queue to the child --------------------------------------------------- */

static void close_stdin(struct process *p)
{
    struct k_close m = {.type = K_CLOSE, .entry = p->entry, .which = K_FD_STDIN};

    if (p->input.fd >= 0 && p->input.fd != output_tty(p)) {
        watch_close(p->input.watch);
        p->input.watch = NULL;
        io_close(&p->input.fd);
        keeper_channel_send(p->engine->channel, &m, sizeof m, NULL, 0, NULL, 0, NULL, NULL);
    }
    p->input.closed = true;
    input_wake(p);
}

static void block(struct process *p, bool on)
{
    p->input.blocked = on;
    if (p->input.watch != NULL)
        watch_set(p->input.watch, on ? LOOP_WRITE : 0);
    else
        output_interest(p);
}

static ssize_t write_some(struct process *p)
{
    struct record_head *h = p->rec.head;
    uint64_t tail = queue_tail(h);
    size_t at = tail % QUEUE, len = (size_t)(committed(h)->head - tail);
    struct slip *slip = &p->engine->state.head->slip;
    ssize_t n;

    if (len > QUEUE - at)
        len = QUEUE - at;
    worker_slip_note(slip, SLIP_WRITE, h->id, tail, len, io_counted().written_bytes);
    n = hf_write(p->input.fd, p->rec.input + at, len);
    if (n > 0)
        atomic_store_explicit(&h->input_tail, tail + (uint64_t)n, memory_order_release);
    slip_clear(slip);
    if (n > 0 && n <= TYPED_BYTES) {
        p->input.typed = true;
        loop_expect(p->engine->loop);
    }
    return n;
}

void input_flush(struct process *p)
{
    struct record_head *h = p->rec.head;

    while (p->input.fd >= 0 && queue_tail(h) < committed(h)->head) {
        ssize_t n = write_some(p);
        if (n == -EAGAIN || n == 0) {
            if (!p->input.blocked)
                block(p, true);
            input_wake(p);
            return;
        }
        if (n < 0) { /* EPIPE, EIO: the reader is closed */
            close_stdin(p);
            return;
        }
    }
    if (p->input.blocked)
        block(p, false);
    if (h->eof_at != INPUT_NO_EOF && queue_tail(h) >= h->eof_at && !h->pty)
        close_stdin(p);
    input_wake(p);
}

static void input_on_writable(struct watch *w, int events, void *arg)
{
    struct process *p = arg;

    (void)w, (void)events;
    process_ref(p);
    input_flush(p);
    process_unref(p);
}

void input_init(struct process *p)
{
    p->input.fd = -1;
    list_init(&p->input.waiters);
}

void input_accept(struct process *p, int fd)
{
    p->input.fd = fd;
}

void input_start(struct process *p)
{
    if (p->input.fd >= 0 && p->input.fd != output_tty(p))
        p->input.watch = watch_new(p->engine->loop, p->input.fd, input_on_writable, p);
    p->input.closed = p->input.fd < 0;
    input_flush(p);
}

void input_close(struct process *p)
{
    watch_close(p->input.watch);
    p->input.watch = NULL;
    if (p->input.fd != output_tty(p))
        io_close(&p->input.fd);
    p->input.closed = true;
}

void input_fini(struct process *p)
{
    input_close(p);
    task_cancel(&p->input.room);
}

/* The terminal is about to be closed; its owner closes the descriptor. */
void input_on_tty_closed(struct process *p)
{
    if (p->input.fd == output_tty(p))
        p->input.fd = -1;
}

bool input_is_blocked(const struct process *p)
{
    return p->input.blocked;
}

bool input_is_closed(const struct process *p)
{
    return p->input.closed;
}

bool input_was_typed(struct process *p)
{
    bool typed = p->input.typed;

    p->input.typed = false;
    return typed;
}

void input_recover(struct process *p)
{
    const struct input_commit *c = committed(p->rec.head);

    if (c->client >= 0 && c->client < LIMIT_INPUT_CLIENTS + LIMIT_INPUT_GUESTS)
        client_at(&p->rec, c->client)->offset = c->client_offset;
}

/* --- waiting for room ----------------------------------------------------------------- */

static void input_on_room(void *arg)
{
    struct process *p = arg;

    process_ref(p);
    input_wake(p);
    process_unref(p);
}

/* Less may be accepted than was offered and the queue may still be empty, if the child read at
 * once: then nothing else would ever wake the waiter. */
void process_wait_for_room(struct process *p, struct input_waiter *w)
{
    list_append(&p->input.waiters, &w->link);
    p->input.room.fn = input_on_room;
    p->input.room.arg = p;
    if (queue_room(p->rec.head) > 0 || p->input.closed)
        loop_defer(p->engine->loop, &p->input.room);
}

void input_waiter_cancel(struct input_waiter *w)
{
    if (w->link.next != NULL)
        list_remove(&w->link);
}

/* Waiters that register again from their callback go to the new list, and are not called in this
 * round. */
void input_wake(struct process *p)
{
    struct list now;

    if (list_is_empty(&p->input.waiters) || (queue_room(p->rec.head) == 0 && !p->input.closed))
        return;
    now = p->input.waiters;
    now.next->prev = now.prev->next = &now;
    list_init(&p->input.waiters);
    while (!list_is_empty(&now)) {
        struct input_waiter *w = list_entry(now.next, struct input_waiter, link);
        list_remove(&w->link);
        w->fn(w->arg);
    }
}

/* --- from clients to the queue -------------------------------------------------------- */

static int input_check(const struct process *p, struct hf_error *err)
{
    if (p->meta.session_json != NULL)
        return hf_fail(err, HF_E_stdin_closed,
                       "this is the shell of a session; use POST /v1/sessions/{id}/run");
    if (!process_is_running(p))
        return hf_fail(err, HF_E_not_running, "the process has exited and accepts no input");
    if (p->input.closed || p->input.fd < 0)
        return hf_fail(
            err, HF_E_stdin_closed,
            "standard input is closed; start the process with \"stdin\":\"pipe\" or \"pty\"");
    if (p->rec.head->eof_at != INPUT_NO_EOF && !p->rec.head->pty)
        return hf_fail(err, HF_E_stdin_closed, "end of file was already sent");
    return 0;
}

bool input_put(struct process *p, const void *bytes, size_t len)
{
    struct record_head *h = p->rec.head;

    if (len > QUEUE - (committed(h)->head - queue_tail(h)))
        return false;
    queue_copy(&p->rec, bytes, len);
    queue_commit(&p->rec, len, -1, 0);
    h->last_input_ms = clock_wall_ms();
    p->engine->state.head->input_bytes_total += len;
    process_touch(p);
    if (!p->input.blocked)
        input_flush(p);
    return true;
}

size_t input_room(const struct process *p)
{
    return p->input.fd >= 0 ? queue_room(p->rec.head) : 0;
}

uint64_t process_input_offset(const struct process *p)
{
    return committed(p->rec.head)->head;
}

static ssize_t input_take(struct process *p, int client, const void *bytes, size_t len)
{
    struct record_head *h = p->rec.head;
    size_t room = queue_room(h);

    if (len > room)
        len = room;
    if (len == 0)
        return 0;
    queue_copy(&p->rec, bytes, len);
    queue_commit(&p->rec, len, client, len);
    h->last_input_ms = clock_wall_ms();
    p->engine->state.head->input_bytes_total += len;
    process_touch(p);
    tty_activity_input(p);
    if (!p->input.blocked)
        input_flush(p);
    return (ssize_t)len;
}

/* Index of the viewer's client, known or new; -1: the client has no id. */
static int client_index(const struct viewer *v)
{
    struct record *r = &v->process->rec;
    int i = v->client != NULL ? client_find(r, v->client) : -1;

    return v->client != NULL && i < 0 ? client_make(r, v->client) : i;
}

/* v: the viewer that sent it; NULL: it was not sent by a viewer. */
static ssize_t input_from(struct process *p, const struct viewer *v, const void *bytes, size_t len,
                          struct hf_error *err)
{
    if (input_check(p, err) < 0 || lease_check(p, v, err) < 0)
        return -EPIPE;
    return input_take(p, v != NULL ? client_index(v) : -1, bytes, len);
}

ssize_t process_input(struct process *p, const void *bytes, size_t len, struct hf_error *err)
{
    return input_from(p, NULL, bytes, len, err);
}

ssize_t viewer_input(struct viewer *v, const void *bytes, size_t len, struct hf_error *err)
{
    ssize_t n = input_from(v->process, v, bytes, len, err);

    /* A terminal reply that arrives after another viewer typed must not make its sender the
     * answerer again. */
    if (n > 0 && !query_is_reply(bytes, len))
        viewer_answerer_typed(v);
    return n;
}

void viewer_input_pass(struct viewer *v, size_t len)
{
    if (v->client != NULL)
        queue_commit(&v->process->rec, 0, client_index(v), len);
}

static int input_eof(struct process *p, const struct viewer *v, struct hf_error *err)
{
    struct record_head *h = p->rec.head;
    struct termios t;
    int rc = input_check(p, err);

    if (rc == 0)
        rc = lease_check(p, v, err);
    if (rc < 0)
        return rc;
    if (h->pty) {
        char eof = tcgetattr(output_tty(p), &t) == 0 ? (char)t.c_cc[VEOF] : 4;
        return input_take(p, -1, &eof, 1) == 1
                   ? 0
                   : hf_fail(err, HF_E_not_running,
                             "the input queue is full; send the end of file again later");
    }
    h->eof_at = committed(h)->head;
    if (!p->input.blocked)
        input_flush(p);
    return 0;
}

int process_input_eof(struct process *p, struct hf_error *err)
{
    return input_eof(p, NULL, err);
}

int viewer_input_eof(struct viewer *v, struct hf_error *err)
{
    return input_eof(v->process, v, err);
}

bool process_app_cursor(struct process *p)
{
    return p->rec.head->pty && modes_on(screen_terminal_modes(p), MODE_APP_CURSOR);
}
