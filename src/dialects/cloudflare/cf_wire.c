/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_wire.c - decodes the frames of Cloudflare's clients, and builds lines for the shell.
 * Layer: dialects.
 */
#include "dialects/cloudflare/cf_wire.h"

#include <string.h>

#include "base/text.h"
#include "dialects/cloudflare/cloudflare_limits.h"

static const char *text_of(const json_t *object, const char *name)
{
    return json_text(json_object_get(object, name), name, NULL);
}

/* --- the multiplex ------------------------------------------------------------------------- */

static const char *session_header(const json_t *headers)
{
    const char *s = text_of(headers, "x-session-id");

    return s != NULL ? s : text_of(headers, "X-Session-Id");
}

const char *cf_mux_decode(struct cf_mux_frame *f, const char *text, size_t len, const char **code)
{
    struct hf_error err;
    const char *type;

    *f = (struct cf_mux_frame){.tree = json_parse(text, len, &err)};
    *code = "PARSE_ERROR";
    if (f->tree == NULL)
        return "the message is not valid JSON";
    *code = "INVALID_REQUEST";
    type = text_of(f->tree, "type");
    f->id = text_of(f->tree, "id");
    if (f->id != NULL && (f->id[0] == '\0' || strlen(f->id) > LIMIT_CF_CALL_ID_BYTES))
        f->id = NULL;
    if (f->id == NULL || type == NULL)
        return "a message needs a type and an id";
    f->cancel = strcmp(type, "cancel") == 0;
    if (f->cancel)
        return NULL;
    f->method = text_of(f->tree, "method");
    f->path = text_of(f->tree, "path");
    if (strcmp(type, "request") != 0 || f->method == NULL || f->path == NULL)
        return "a request needs a method and a path";
    f->body = json_object_get(f->tree, "body");
    f->session = session_header(json_object_get(f->tree, "headers"));
    return NULL;
}

void cf_mux_frame_fini(struct cf_mux_frame *f)
{
    json_decref(f->tree);
}

/* --- control of a terminal ------------------------------------------------------------------ */

static enum cf_control resize_decode(const json_t *frame, int64_t *cols, int64_t *rows)
{
    const json_t *c = json_object_get(frame, "cols"), *r = json_object_get(frame, "rows");

    if (!json_is_number(c) || !json_is_number(r))
        return CF_CONTROL_BAD;
    if (!json_is_integer(c) || !json_is_integer(r))
        return CF_CONTROL_SIZE;
    *cols = json_integer_value(c);
    *rows = json_integer_value(r);
    return *cols < 1 || *rows < 1 ? CF_CONTROL_SIZE : CF_CONTROL_RESIZE;
}

enum cf_control cf_control_decode(const char *text, size_t len, int64_t *cols, int64_t *rows)
{
    struct hf_error err;
    json_auto_t *frame = json_parse(text, len, &err);
    const char *type = text_of(frame, "type");

    *cols = *rows = 0;
    if (frame == NULL)
        return CF_CONTROL_BAD;
    if (type != NULL && strcmp(type, "resize") == 0)
        return resize_decode(frame, cols, rows);
    if (type != NULL && strcmp(type, "interrupt") == 0)
        return CF_CONTROL_INTERRUPT;
    if (type != NULL && strcmp(type, "terminate") == 0)
        return CF_CONTROL_TERMINATE;
    return CF_CONTROL_UNKNOWN;
}

bool cf_is_argv(const json_t *v)
{
    for (size_t i = 0; i < json_array_size(v); i++)
        if (json_text(json_array_get(v, i), "argv", NULL) == NULL)
            return false;
    return json_array_size(v) > 0 && json_string_length(json_array_get(v, 0)) > 0;
}

/* --- shells ----------------------------------------------------------------------------------- */

bool cf_is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

    return text[0] != '\0' && strspn(text, letters) == strlen(text) &&
           !(text[0] >= '0' && text[0] <= '9');
}

/* Save each variable, set or (null) remove it, then restore it, or unset it if it was not set. */
static void wrap_env(struct buf *before, struct buf *behind, const json_t *env)
{
    const char *name;
    json_t *value;

    json_object_foreach ((json_t *)(uintptr_t)env, name, value) {
        buf_printf(before, "__hf_had_%s=${%s+1} __hf_was_%s=${%s-}; ", name, name, name, name);
        buf_printf(before, json_is_string(value) ? "export %s=" : "unset %s", name);
        if (json_is_string(value))
            buf_put_quoted(before, json_string_value(value));
        buf_puts(before, "; ");
        buf_printf(
            behind,
            "if [ -n \"$__hf_had_%s\" ]; then export %s=\"$__hf_was_%s\"; else unset %s; fi; "
            "unset __hf_had_%s __hf_was_%s; ",
            name, name, name, name, name, name);
    }
}

void cf_wrap_command(struct buf *out, const char *command, const char *cwd, const json_t *env)
{
    struct buf behind = {0};

    if (cwd == NULL && json_object_size(env) == 0) {
        buf_puts(out, command);
        return;
    }
    if (cwd != NULL) {
        buf_puts(out, "__hf_dir=$PWD; command cd -- ");
        buf_put_quoted(out, cwd);
        buf_puts(out, " && { ");
    }
    wrap_env(out, &behind, env);
    buf_puts(out, "command eval ");
    buf_put_quoted(out, command);
    buf_puts(out, "; __hf_end=$?; ");
    buf_put(out, buf_data(&behind), behind.len);
    if (cwd != NULL)
        buf_puts(out, "command cd -- \"$__hf_dir\"; unset __hf_dir; ");
    buf_puts(out, "(exit \"$__hf_end\")");
    buf_puts(out, cwd != NULL ? "; }" : "");
    buf_fini(&behind);
}
