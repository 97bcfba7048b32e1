/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wait_for_facts.c - conditions of a wait that are not in the output
 *
 * Probes find out whether a process reads its terminal and whether that echoes (tty_activity.h);
 * each probe reads pending output first. Ports are watched by ports.h. Layer: dialects.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "dialects/common/wait_for_own.h"

int wait_facts_check(const struct process *p, const struct wait_request *request,
                     struct hf_error *err)
{
    struct process_view v;

    process_view((struct process *)p, &v);
    for (size_t i = 0; i < request->count; i++) {
        enum wait_kind kind = request->until[i].kind;

        if (!v.pty && (kind == WAIT_BLOCKED || kind == WAIT_ECHO_OFF))
            return hf_fail_field(err, HF_E_not_a_terminal, wait_kind_name(kind),
                                 "this process was started with pipes; this condition needs a "
                                 "terminal");
    }
    return 0;
}

static void wait_on_probe(void *arg, const struct tty_activity_view *v)
{
    struct wait *w = arg;
    size_t blocked = v->waiting == FACT_YES ? w->index[WAIT_BLOCKED] : WAIT_NO_INDEX;
    size_t echo = v->echo_off == FACT_YES ? w->index[WAIT_ECHO_OFF] : WAIT_NO_INDEX;

    if (wait_is_behind(w))
        return; /* matches in that output come first; another probe follows */
    if (blocked < echo)
        wait_finish_kind(w, WAIT_BLOCKED, blocked);
    else if (echo != WAIT_NO_INDEX)
        wait_finish_kind(w, WAIT_ECHO_OFF, echo);
}

static void wait_on_port(void *arg, struct port_watch *p)
{
    wait_finish_kind(arg, WAIT_PORT, p->index);
}

static void start_ports(struct wait *w, const struct wait_request *request)
{
    w->ports = hf_xalloc(request->count * sizeof *w->ports);
    for (size_t i = 0; i < request->count; i++) {
        struct port_watch *p = &w->ports[w->port_count];

        if (request->until[i].kind != WAIT_PORT)
            continue;
        *p = (struct port_watch){.process = w->process,
                                 .port = request->until[i].port,
                                 .any = request->until[i].any,
                                 .index = i,
                                 .fn = wait_on_port,
                                 .arg = w};
        w->port_count++;
        engine_watch_port(process_engine(w->process), p);
    }
}

void wait_facts_start(struct wait *w, const struct wait_request *request)
{
    if (wait_wants(w, WAIT_BLOCKED) || wait_wants(w, WAIT_ECHO_OFF)) {
        w->attention.fn = wait_on_probe;
        w->attention.arg = w;
        process_watch_tty_activity(w->process, &w->attention);
    }
    if (wait_wants(w, WAIT_PORT))
        start_ports(w, request);
}

void wait_facts_stop(struct wait *w)
{
    tty_activity_watch_cancel(&w->attention);
    for (size_t i = 0; i < w->port_count; i++)
        port_watch_cancel(&w->ports[i]);
    free(w->ports);
    w->ports = NULL;
    w->port_count = 0;
}

/* A program that says it is ready is likely to listen. */
void wait_facts_output(struct wait *w)
{
    if (w->port_count > 0)
        engine_ports_soon(process_engine(w->process));
}
