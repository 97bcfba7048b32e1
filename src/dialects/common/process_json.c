/* SPDX-License-Identifier: Apache-2.0 */
/*
 * process_json.c - exits and output as JSON. Layer: dialects.
 */
#include "dialects/common/process_json.h"

#include "base/signals.h"
#include "base/text.h"

const struct exit_record *process_exit_of(const struct process_view *v)
{
    static const struct exit_record none = {.kind = EXIT_NONE};

    return v->running ? &none : v->exit;
}

void process_json_code(struct json_out *o, const char *key, int code)
{
    if (code >= 0)
        json_kint(o, key, code);
    else
        json_knull(o, key);
}

void process_json_exit(struct json_out *o, const struct exit_record *x)
{
    if (x->kind == EXIT_NONE) {
        json_knull(o, "exit");
        json_knull(o, "exit_code");
        return;
    }
    json_kopen(o, "exit", '{');
    json_kstr(o, "kind", exit_kind_name(x->kind));
    process_json_code(o, "code", x->code);
    json_kstr(o, "signal", x->signum > 0 ? signal_name(x->signum) : NULL);
    json_kstr(o, "by", x->by[0] != '\0' ? x->by : NULL);
    json_kbool(o, "core_dumped", x->core_dumped);
    json_close(o, '}');
    process_json_code(o, "exit_code", x->exit_code);
}

void process_json_usage(struct json_out *o, const struct usage *u)
{
    json_key(o, "usage");
    process_write_usage(o, u);
}

void process_json_data(struct json_out *o, const char *bytes, size_t len)
{
    if (utf8_is_valid(bytes, len)) {
        json_kstrn(o, "data", bytes, len);
        json_kstr(o, "encoding", "utf8");
        return;
    }
    process_json_base64(o, "data", bytes, len);
    json_kstr(o, "encoding", "base64");
}

void process_json_args(struct json_out *o, const char *key, const struct process_view *v)
{
    json_kopen(o, key, '[');
    for (size_t i = 0; i < v->arg_count; i++)
        json_str(o, v->args[i]);
    json_close(o, ']');
}

void process_json_base64(struct json_out *o, const char *key, const void *bytes, size_t len)
{
    json_key(o, key);
    json_base64(o, bytes, len);
}

void process_json_survivors(struct json_out *o, const struct survivors *s)
{
    json_kopen(o, "survivors", '[');
    for (size_t i = 0; s != NULL && i < s->count; i++) {
        json_open(o, '{');
        json_kint(o, "pid", s->list[i].pid);
        json_kstr(o, "command", s->list[i].comm);
        json_close(o, '}');
    }
    json_close(o, ']');
}

void process_json_range(struct json_out *o, const char *key, uint64_t from, uint64_t to)
{
    if (from == to) {
        json_knull(o, key);
        return;
    }
    json_kopen(o, key, '{');
    json_ku64(o, "from", from);
    json_ku64(o, "to", to);
    json_close(o, '}');
}
