/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_describe.c - writes the process object of the native protocol. Layer: engine.
 */
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/io.h"
#include "base/signals.h"
#include "base/text.h"
#include "engine/live_usage.h"
#include "engine/process_own.h"
#include "engine/stream/tty_activity.h"
#include "engine/stream/tty_activity_own.h"

const char *exit_kind_name(enum exit_kind kind)
{
    static const char *const names[] = {"none",   "exited",        "signaled", "timed_out",
                                        "killed", "out_of_memory", "lost"};

    return names[kind];
}

void process_view(struct process *p, struct process_view *v)
{
    const struct record_head *h = p->rec.head;

    *v = (struct process_view){
        .id = h->id,
        .tag = p->meta.tag,
        .label = p->meta.label,
        .command = p->meta.command,
        .cwd = h->pty ? tty_activity_cwd(p) : p->meta.cwd,
        .session_id = p->meta.session_id,
        .title = p->meta.title != NULL     ? p->meta.title
                 : h->osc_title[0] != '\0' ? h->osc_title
                                           : NULL,
        .args = p->meta.args,
        .arg_count = p->meta.arg_count,
        .metadata_json = p->meta.metadata_json != NULL ? p->meta.metadata_json : "{}",
        .source = p->meta.source,
        .size_policy = p->meta.size_policy,
        .pid = p->pid,
        .pty = h->pty,
        .running = process_is_running(p),
        .output_open = output_is_open(p),
        .rows = h->rows,
        .cols = h->cols,
        .exit = &h->exit,
        .usage = process_usage(p),
        .viewers = process_viewer_count(p),
        .first = journal_first(&p->journal),
        .next = journal_next(&p->journal),
        .created_ms = h->created_wall_ms,
        .exited_ms = h->exit.at_wall_ms,
        .last_input_ms = h->last_input_ms,
        .last_output_ms = h->last_output_ms,
        .retain_ms = p->meta.retain_ms,
        .idempotency_key = p->meta.idempotency_key,
        .request_hash = p->meta.request_hash,
    };
}

void process_foreground(struct process *p, char *out, size_t size)
{
    struct buf text = {0};
    char path[40];
    pid_t group = 0;

    out[0] = '\0';
    if (output_tty(p) < 0 || ioctl(output_tty(p), TIOCGPGRP, &group) < 0 || group <= 0)
        return;
    snprintf(path, sizeof path, "/proc/%d/comm", (int)group);
    if (io_read_file(path, 64, &text) == 0 && text.len > 0) {
        snprintf(out, size, "%s", buf_cstr(&text));
        out[strcspn(out, "\n")] = '\0';
    }
    buf_fini(&text);
}

static void write_exit(struct json_out *o, const struct exit_record *x)
{
    json_key(o, "exit");
    if (x->kind == EXIT_NONE) {
        json_nil(o);
        return;
    }
    json_open(o, '{');
    json_kstr(o, "kind", exit_kind_name(x->kind));
    json_key(o, "code");
    if (x->code >= 0)
        json_int(o, x->code);
    else
        json_nil(o);
    json_kstr(o, "signal", x->signum > 0 ? signal_name(x->signum) : NULL);
    json_kstr(o, "by", x->by[0] != '\0' ? x->by : NULL);
    json_kbool(o, "core_dumped", x->core_dumped);
    json_close(o, '}');
}

static void write_blocks(struct json_out *o, const char *key, const struct usage *u,
                         uint64_t blocks)
{
    if (u->has_blocks)
        json_ku64(o, key, blocks * USAGE_BLOCK_BYTES);
    else
        json_knull(o, key);
}

void process_write_usage(struct json_out *o, const struct usage *u)
{
    if (u == NULL) {
        json_nil(o);
        return;
    }
    json_open(o, '{');
    json_kstr(o, "scope", "process");
    json_ku64(o, "user_us", u->user_us);
    json_ku64(o, "system_us", u->system_us);
    json_ku64(o, "max_rss_bytes", u->max_rss_kib * 1024);
    write_blocks(o, "disk_read_bytes", u, u->in_blocks);
    write_blocks(o, "disk_written_bytes", u, u->out_blocks);
    json_close(o, '}');
}

static void write_output(struct json_out *o, const struct process_view *v)
{
    json_key(o, "output");
    json_open(o, '{');
    json_ku64(o, "first", v->first);
    json_ku64(o, "next", v->next);
    json_ku64(o, "bytes_total", v->next);
    json_kbool(o, "open", v->output_open);
    json_close(o, '}');
}

static void write_fact(struct json_out *o, const char *name, enum tty_activity_fact fact)
{
    if (fact == FACT_UNKNOWN)
        json_knull(o, name);
    else
        json_kbool(o, name, fact == FACT_YES);
}

static void write_terminal(struct process *p, struct json_out *o, const struct process_view *v)
{
    struct tty_activity_view a;
    char foreground[32] = "";

    json_kbool(o, "pty", v->pty);
    if (!v->pty) {
        json_knull(o, "rows");
        json_knull(o, "cols");
        json_knull(o, "foreground");
        json_knull(o, "waiting_for_input");
        json_knull(o, "echo_off");
        json_knull(o, "bell");
        return;
    }
    json_kint(o, "rows", v->rows);
    json_kint(o, "cols", v->cols);
    if (v->running)
        process_foreground(p, foreground, sizeof foreground);
    json_kstr(o, "foreground", foreground[0] != '\0' ? foreground : NULL);
    process_tty_activity(p, &a);
    write_fact(o, "waiting_for_input", a.waiting);
    write_fact(o, "echo_off", a.echo_off);
    json_ku64(o, "bell", a.bells);
}

#define ABRIDGED_COMMAND_BYTES 1024

static void write_command(struct json_out *o, const struct process_view *v, bool abridged)
{
    size_t len = abridged ? strnlen(v->command, ABRIDGED_COMMAND_BYTES) : strlen(v->command);

    json_key(o, "command");
    json_strn(o, v->command, len - utf8_open_tail(v->command, len));
    json_key(o, "args");
    json_open(o, '[');
    for (size_t i = 0; i < v->arg_count && !abridged; i++)
        json_str(o, v->args[i]);
    json_close(o, ']');
    if (abridged)
        json_kbool(o, "abridged", true);
}

static void write_usage(struct json_out *o, const struct process_view *v, struct live_table *live)
{
    struct live_usage now;

    json_key(o, "usage");
    if (v->running && live != NULL && live_table_usage(live, v->pid, &now))
        live_usage_write(o, &now);
    else
        process_write_usage(o, v->usage);
}

static void write_process(struct process *p, struct json_out *o, bool abridged,
                          struct live_table *live)
{
    struct process_view v;
    const char *metadata;

    process_view(p, &v);
    metadata = abridged ? "{}" : v.metadata_json;
    json_open(o, '{');
    json_kstr(o, "id", v.id);
    json_kstr(o, "tag", v.tag);
    json_kstr(o, "label", v.label);
    write_command(o, &v, abridged);
    json_kstr(o, "cwd", v.cwd);
    json_kint(o, "pid", v.pid);
    write_terminal(p, o, &v);
    json_kstr(o, "status", v.running ? "running" : "exited");
    json_key(o, "exit_code");
    if (!v.running && v.exit->exit_code >= 0)
        json_int(o, v.exit->exit_code);
    else
        json_nil(o);
    write_exit(o, v.running ? &(struct exit_record){.kind = EXIT_NONE} : v.exit);
    write_usage(o, &v, live);
    json_kstr(o, "session_id", v.session_id);
    json_kstr(o, "source", source_name(v.source));
    json_key(o, "metadata");
    json_raw(o, metadata, strlen(metadata));
    json_kstr(o, "title", v.title);
    json_kstr(o, "size_policy", size_policy_name(v.size_policy));
    json_kint(o, "retain_ms", v.retain_ms);
    json_ku64(o, "viewers", v.viewers);
    write_output(o, &v);
    json_ktime(o, "created_at", v.created_ms);
    json_ktime(o, "exited_at", v.running ? 0 : v.exited_ms);
    json_ktime(o, "last_input_at", v.last_input_ms);
    json_ktime(o, "last_output_at", v.last_output_ms);
    json_close(o, '}');
}

void process_write_json(struct process *p, struct json_out *o)
{
    write_process(p, o, false, NULL);
}

void process_write_json_live(struct process *p, struct json_out *o, struct live_table *live)
{
    write_process(p, o, false, live);
}

void process_write_abridged(struct process *p, struct json_out *o)
{
    write_process(p, o, true, NULL);
}
