/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_status.c - writes the Status of a command that ended or failed. Layer: dialects.
 */
#include "dialects/kubernetes/kube_status.h"

#include <stdio.h>

#include "base/json.h"

void kube_status_exit(struct kube_status *s, const struct exit_record *x)
{
    *s = (struct kube_status){.exit_code = x->exit_code, .success = x->exit_code == 0};
    if (x->exit_code < 0)
        kube_status_failure(s, "the exit status of the command is unknown");
    else if (!s->success)
        snprintf(s->message, sizeof s->message,
                 "command terminated with non-zero exit code: exit status %d", x->exit_code);
}

void kube_status_failure(struct kube_status *s, const char *fmt, ...)
{
    va_list ap;

    *s = (struct kube_status){.exit_code = -1};
    va_start(ap, fmt);
    vsnprintf(s->message, sizeof s->message, fmt, ap);
    va_end(ap);
}

static void write_exit(struct json_out *o, int exit_code)
{
    char text[16];

    snprintf(text, sizeof text, "%d", exit_code);
    json_kstr(o, "reason", "NonZeroExitCode");
    json_key(o, "details");
    json_open(o, '{');
    json_key(o, "causes");
    json_open(o, '[');
    json_open(o, '{');
    json_kstr(o, "reason", "ExitCode");
    json_kstr(o, "message", text);
    json_close(o, '}');
    json_close(o, ']');
    json_close(o, '}');
}

void kube_status_write(struct buf *out, const struct kube_status *s, bool object)
{
    struct json_out o;

    if (!object) {
        buf_puts(out, s->message);
        return;
    }
    json_out_init(&o, out);
    json_open(&o, '{');
    json_key(&o, "metadata");
    json_open(&o, '{');
    json_close(&o, '}');
    json_kstr(&o, "status", s->success ? "Success" : "Failure");
    if (!s->success)
        json_kstr(&o, "message", s->message);
    if (!s->success && s->exit_code >= 0) {
        write_exit(&o, s->exit_code);
    } else if (!s->success) {
        json_kstr(&o, "reason", "InternalError");
        json_kint(&o, "code", 500);
    }
    json_close(&o, '}');
}
