/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ports.c - detects when a program listens on a TCP port. Layer: engine.
 */
#include "engine/ports.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/mem.h"
#include "engine/process_own.h"
#include "engine/spawn/keeper_channel.h"

#define TABLE_BYTES (256 * 1024) /* of one table; listening sockets come first in it */
#define LISTENERS_MAX 1024
#define LISTENS "0A"

struct ports {
    struct list watches;
    struct timer *timer;
    unsigned wait_ms;
    size_t count;
    struct port_listener listeners[LISTENERS_MAX];
};

/* --- the kernel's table --------------------------------------------------------------------- */

/* Lines begin with " SL: ADDRESS:PORT ADDRESS:PORT STATE TX:RX TR:TM RETRANSMITS UID TIMEOUT
 * INODE". */
enum { LOCAL = 1, STATE = 3, INODE = 9, FIELDS };

struct field {
    const char *at;
    size_t len;
};

/* sscanf() would add 100 KB to the static binary for this line alone. */
static void split_line(const char *line, struct field *out)
{
    static const char spaces[] = " \t";

    for (size_t i = 0; i < FIELDS; i++) {
        line += strspn(line, spaces);
        out[i] = (struct field){line, strcspn(line, spaces)};
        line += out[i].len;
    }
}

static bool parse_port(const struct field *address, uint16_t *out)
{
    const char *colon = memrchr(address->at, ':', address->len);
    char *end;
    unsigned long port;

    if (colon == NULL)
        return false;
    port = strtoul(colon + 1, &end, 16);
    *out = (uint16_t)port;
    return end == address->at + address->len && port > 0 && port <= UINT16_MAX;
}

bool ports_parse_line(const char *line, struct port_listener *out)
{
    struct field f[FIELDS];

    split_line(line, f);
    if (f[STATE].len != strlen(LISTENS) || memcmp(f[STATE].at, LISTENS, f[STATE].len) != 0 ||
        !isdigit((unsigned char)*f[INODE].at) || !parse_port(&f[LOCAL], &out->port))
        return false;
    out->inode = strtoull(f[INODE].at, NULL, 10);
    return true;
}

static void read_lines(struct ports *ps, char *text)
{
    char *save, *line;

    for (line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        if (ps->count < LISTENERS_MAX && ports_parse_line(line, &ps->listeners[ps->count]))
            ps->count++;
    }
}

static void read_table(struct ports *ps, const char *path)
{
    hf_autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = hf_xalloc(TABLE_BYTES + 1);
    size_t len = 0;
    ssize_t n = 0;

    while (fd >= 0 && len < TABLE_BYTES && (n = hf_read(fd, text + len, TABLE_BYTES - len)) > 0)
        len += (size_t)n;
    text[len] = '\0';
    read_lines(ps, text);
    free(text);
}

static size_t inodes_of(const struct ports *ps, uint16_t port, uint64_t *inodes, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < ps->count && n < max; i++) {
        if (ps->listeners[i].port == port)
            inodes[n++] = ps->listeners[i].inode;
    }
    return n;
}

/* --- watches ------------------------------------------------------------------------------- */

/* A callback may cancel other watches, so restart from the head of the list after each one. */
static void notify_found(struct ports *ps)
{
    struct list *it = ps->watches.next;

    while (it != &ps->watches) {
        struct port_watch *w = list_entry(it, struct port_watch, link);

        it = it->next;
        if (!w->found)
            continue;
        list_remove(&w->link);
        w->fn(w->arg, w);
        it = ps->watches.next;
    }
}

static void ports_on_held(void *arg, const void *packet, size_t len, int *fds, size_t fd_count)
{
    struct ports *ps = ((struct engine *)arg)->ports;
    const struct k_held *m = packet;
    struct list *it, *tmp;

    (void)len, (void)fds, (void)fd_count;
    if (m == NULL)
        return;
    list_for_each (it, tmp, &ps->watches) {
        struct port_watch *w = list_entry(it, struct port_watch, link);

        if (w->request != m->req)
            continue;
        w->request = 0;
        w->found = m->held != 0;
    }
    notify_found(ps);
}

static void request_owner(struct engine *e, struct port_watch *w, const uint64_t *inodes,
                          size_t count)
{
    struct k_holds m = {.type = K_HOLDS, .entry = w->process->entry, .count = (uint32_t)count};

    if (w->request != 0 || exit_is_reaped(w->process))
        return;
    memcpy(m.inodes, inodes, count * sizeof *inodes);
    if (keeper_channel_send(e->channel, &m, sizeof m, NULL, 0, NULL, 0, ports_on_held, e) == 0)
        w->request = m.req;
}

static void ports_on_timer(struct timer *t, void *arg)
{
    struct engine *e = arg;
    struct ports *ps = e->ports;
    struct list *it, *tmp;

    if (list_is_empty(&ps->watches))
        return;
    ps->count = 0;
    read_table(ps, "/proc/net/tcp");
    read_table(ps, "/proc/net/tcp6");
    list_for_each (it, tmp, &ps->watches) {
        struct port_watch *w = list_entry(it, struct port_watch, link);
        uint64_t inodes[K_HOLDS_MAX];
        size_t n = inodes_of(ps, w->port, inodes, K_HOLDS_MAX);

        if (n > 0 && w->any)
            w->found = true;
        else if (n > 0)
            request_owner(e, w, inodes, n);
    }
    ps->wait_ms = ps->wait_ms * 2 < PORTS_MAX_MS ? ps->wait_ms * 2 : PORTS_MAX_MS;
    timer_start(t, ps->wait_ms);
    notify_found(ps);
}

void engine_watch_port(struct engine *e, struct port_watch *w)
{
    if (e->ports == NULL) {
        e->ports = hf_xalloc(sizeof *e->ports);
        list_init(&e->ports->watches);
        e->ports->timer = timer_new(e->loop, ports_on_timer, e);
    }
    list_append(&e->ports->watches, &w->link);
    e->ports->wait_ms = PORTS_FIRST_MS;
    timer_start(e->ports->timer, 0);
}

void engine_ports_soon(struct engine *e)
{
    struct ports *ps = e->ports;

    if (ps == NULL || ps->wait_ms <= PORTS_FIRST_MS * 2)
        return;
    ps->wait_ms = PORTS_FIRST_MS;
    timer_start(ps->timer, PORTS_FIRST_MS);
}

void port_watch_cancel(struct port_watch *w)
{
    if (w->link.next != NULL)
        list_remove(&w->link);
}

void ports_free(struct engine *e)
{
    if (e->ports == NULL)
        return;
    timer_close(e->ports->timer);
    while (!list_is_empty(&e->ports->watches))
        list_remove(e->ports->watches.next);
    free(e->ports);
    e->ports = NULL;
}
