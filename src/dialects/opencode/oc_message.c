/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_message.c - reads what ran in a session from the engine's records. Layer: dialects.
 */
#include "dialects/opencode/oc_message.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/text.h"
#include "base/utf16.h"

void oc_command_fini(struct oc_command *c)
{
    json_decref(c->meta);
    buf_fini(&c->text);
    buf_fini(&c->output);
}

bool oc_command_is_named(const struct oc_command *c)
{
    return oc_meta_text(c->meta, "name") != NULL;
}

static void put_omitted(struct buf *out, uint64_t bytes)
{
    if (bytes > 0)
        buf_printf(out, "\n\n... %llu bytes omitted ...\n\n", (unsigned long long)bytes);
}

/* The head and the tail of the retained output, split between characters. */
static void put_journal(struct buf *out, const struct journal *j, size_t max)
{
    uint64_t first = journal_first(j), next = journal_next(j);
    size_t head, tail, stray;

    if (next - first <= max) {
        put_omitted(out, first);
        buf_put(out, journal_bytes(j, first), (size_t)(next - first));
        return;
    }
    head = first == 0 ? max / 2 : 0;
    head -= utf8_open_tail(journal_bytes(j, first), head);
    tail = max / 2;
    stray = utf8_to_border(journal_bytes(j, next - tail), tail);
    buf_put(out, journal_bytes(j, first), head);
    put_omitted(out, next - tail + stray - head);
    buf_put(out, journal_bytes(j, next - tail + stray), tail - stray);
}

static void put_end(struct oc_command *c, const struct exit_record *x, int64_t at_ms)
{
    c->ended = true;
    c->ended_at = at_ms;
    c->exit_code = x->exit_code;
    if (x->kind == EXIT_KILLED)
        buf_puts(&c->output, "\n\n<metadata>\nUser aborted the command\n</metadata>");
}

static void put_words(struct buf *out, const struct process_view *v)
{
    buf_puts(out, v->command);
    for (size_t i = 0; i < v->arg_count; i++) {
        buf_putc(out, ' ');
        buf_puts(out, v->args[i]);
    }
}

static void set_ids(struct oc_command *c)
{
    const char *given = oc_meta_text(c->meta, "messageID");

    if (given != NULL && strlen(given) < OC_ID_BYTES)
        memcpy(c->user, given, strlen(given) + 1);
    else
        oc_make_id("msg", c->began, 0, c->seed, c->user);
    oc_make_id("msg", c->began, 1, c->seed, c->assistant);
}

void oc_command_of_process(struct oc_command *c, const struct oc *oc, struct session *s,
                           struct process *p, size_t max)
{
    struct process_view v;

    process_view(p, &v);
    *c = (struct oc_command){
        .session_id = session_id(s),
        .directory = oc_session_directory(oc, s),
        .meta = oc_meta(v.metadata_json),
        .began = v.created_ms,
        .exit_code = -1,
    };
    snprintf(c->seed, sizeof c->seed, "%s", v.id);
    set_ids(c);
    snprintf(c->cwd, sizeof c->cwd, "%s", v.cwd != NULL ? v.cwd : c->directory);
    if (oc_meta_text(c->meta, "agent") != NULL && v.arg_count > 0)
        buf_puts(&c->text, v.args[v.arg_count - 1]); /* written by oc_shell.c */
    else
        put_words(&c->text, &v);
    put_journal(&c->output, process_journal(p), max);
    if (!v.running)
        put_end(c, v.exit, v.exited_ms);
}

void oc_command_of_log(struct oc_command *c, const struct oc *oc, struct session *s,
                       const struct session_command *log)
{
    *c = (struct oc_command){
        .session_id = session_id(s),
        .directory = oc_session_directory(oc, s),
        .began = log->begin.started_wall_ms,
        .exit_code = -1,
    };
    snprintf(c->seed, sizeof c->seed, "%.30s %llu", c->session_id,
             (unsigned long long)log->begin.number);
    set_ids(c);
    snprintf(c->cwd, sizeof c->cwd, "%s", c->directory);
    buf_put(&c->text, log->text.bytes, log->text.len);
    buf_put(&c->output, log->head.bytes, log->head.len);
    put_omitted(&c->output, log->end.omitted);
    buf_put(&c->output, log->tail.bytes, log->tail.len);
    if (log->ended)
        put_end(c, &log->end.exit, log->end.ended_wall_ms);
}
