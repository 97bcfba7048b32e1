/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spec_check.c - checks a spec before it is started. Layer: engine.
 *
 * All dialects go through here, so they have the same limits and error texts.
 */
#include <string.h>

#include "base/limits.h"
#include "engine/spawn/engine_spawn.h"
#include "engine/spawn/shell_integration.h"

static int check_text(const char *s, size_t max, const char *field, struct hf_error *err)
{
    if (s != NULL && strlen(s) > max)
        return hf_fail_field(err, HF_E_bad_value, field, "%s is longer than %zu bytes", field, max);
    return 0;
}

static int check_range(int64_t v, int64_t min, int64_t max, const char *field, struct hf_error *err)
{
    if (v < min || v > max)
        return hf_fail_field(err, HF_E_bad_value, field, "%s must be %lld to %lld", field,
                             (long long)min, (long long)max);
    return 0;
}

static int check_names(const struct spawn_spec *s, struct hf_error *err)
{
    int rc = 0;

    if (s->command == NULL || s->command[0] == '\0')
        return hf_fail_field(err, HF_E_missing_field, "command", "command must name a program");
    if (s->arg_count > LIMIT_ARGS)
        return hf_fail_field(err, HF_E_bad_value, "args", "more than %d arguments", LIMIT_ARGS);
    if (s->env_count > LIMIT_ENV)
        return hf_fail_field(err, HF_E_bad_value, "env", "more than %d variables", LIMIT_ENV);
    if (s->tag != NULL && s->tag[0] == '\0')
        return hf_fail_field(err, HF_E_bad_value, "tag",
                             "tag must not be empty; leave it out for none");
    if ((rc = check_text(s->tag, LIMIT_TAG_BYTES, "tag", err)) < 0 ||
        (rc = check_text(s->label, LIMIT_LABEL_BYTES, "label", err)) < 0 ||
        (rc = check_text(s->title, LIMIT_LABEL_BYTES, "title", err)) < 0 ||
        (rc = check_text(s->session_id, LIMIT_TAG_BYTES, "session_id", err)) < 0 ||
        (rc = check_text(s->metadata_json, LIMIT_METADATA_BYTES, "metadata", err)) < 0)
        return rc;
    return 0;
}

static int check_env(const struct spawn_spec *s, struct hf_error *err)
{
    size_t i;

    for (i = 0; i < s->env_count; i++)
        if (s->env[i].name[0] == '\0' || strchr(s->env[i].name, '=') != NULL)
            return hf_fail_field(err, HF_E_bad_value, "env", "'%.40s' is not a valid variable name",
                                 s->env[i].name);
    return 0;
}

static int check_terminal(const struct spawn_spec *s, struct hf_error *err)
{
    if (!s->pty && s->stdin_mode == STDIN_TTY)
        return hf_fail_field(err, HF_E_bad_value, "stdin", "\"inherit-pty\" needs \"pty\"");
    if (s->pty && s->stdin_mode != STDIN_DEFAULT && s->stdin_mode != STDIN_TTY)
        return hf_fail_field(err, HF_E_bad_value, "stdin",
                             "with \"pty\" the terminal is the standard input");
    if (s->pty && (s->rows != 0 || s->cols != 0) &&
        (s->rows < 1 || s->rows > TERMINAL_SIZE_MAX || s->cols < 1 || s->cols > TERMINAL_SIZE_MAX))
        return hf_fail_field(err, HF_E_bad_size, "pty", "rows and cols must both be 1 to %d",
                             TERMINAL_SIZE_MAX);
    if (s->input_len > LIMIT_INPUT_BYTES)
        return hf_fail_field(err, HF_E_bad_value, "input",
                             "input is longer than %d bytes; send the rest with POST …/input",
                             LIMIT_INPUT_BYTES);
    return 0;
}

static int check_numbers(const struct spawn_spec *s, struct hf_error *err)
{
    int rc = 0;

    if ((rc = check_range(s->timeout_ms, 0, LIMIT_DURATION_MS, "timeout_ms", err)) < 0 ||
        (rc = check_range(s->idle_timeout_ms, 0, LIMIT_DURATION_MS, "idle_timeout_ms", err)) < 0 ||
        (rc = check_range(s->grace_ms, -1, LIMIT_DURATION_MS, "grace_ms", err)) < 0 ||
        (rc = check_range(s->retain_ms, -1, LIMIT_DURATION_MS, "retain_ms", err)) < 0 ||
        (rc = check_range(s->detach_ms, 0, LIMIT_DURATION_MS, "on_detach", err)) < 0 ||
        (rc = check_range(s->hold_ms, 0, LIMIT_DURATION_MS, "hold_ms", err)) < 0)
        return rc;
    if (s->history_bytes != 0)
        rc = check_range(s->history_bytes, LIMIT_JOURNAL_MIN_BYTES, LIMIT_HISTORY_MAX_BYTES,
                         "history_bytes", err);
    if (rc == 0 && s->set_nice)
        rc = check_range(s->nice, -20, 19, "limits.nice", err);
    if (rc == 0 && s->set_oom)
        rc = check_range(s->oom_score_adj, -1000, 1000, "limits.oom_score_adj", err);
    return rc;
}

int spec_check(const struct spawn_spec *s, struct hf_error *err)
{
    int rc = check_names(s, err);

    if (rc == 0)
        rc = check_env(s, err);
    if (rc == 0)
        rc = check_terminal(s, err);
    if (rc == 0)
        rc = shell_check(s, err);
    if (rc == 0)
        rc = check_numbers(s, err);
    return rc;
}
