/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fly_decode.c - decodes the body of a machine's exec, and the frames of a session.
 * Layer: dialects.
 */
#include "dialects/fly/fly_decode.h"

#include <stdlib.h>
#include <string.h>

#include "base/braces.h"
#include "base/limits.h"
#include "dialects/common/spawn_decode.h"
#include "dialects/fly/fly_limits.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

struct fly_decode_body {
    json_t *command, *input;
    const char *cmd, *container;
    bool machine;
    int64_t timeout;
};

#define FIELD(n, k, m, ...)                                                                        \
    BRACES(.name = n, .kind = JSON_F_##k, .offset = offsetof(struct fly_decode_body, m),           \
           .nullable = true, __VA_ARGS__)
static const struct json_field fields[] = {
    FIELD("command", ARRAY, command),
    FIELD("cmd", STR, cmd),
    FIELD("stdin", ANY, input),
    FIELD("container", STR, container),
    FIELD("machine", BOOL, machine),
    FIELD("timeout", INT, timeout, .max = LIMIT_DURATION_MS / 1000),
};

/* `command` is a list of words. `cmd` is an older name, and a line. */
static int decode_words(struct fly_request *a, const struct fly_decode_body *b,
                        struct hf_error *err)
{
    const char **list;
    size_t count = 0;
    int rc = 0;

    if (json_array_size(b->command) > 0)
        rc = spawn_request_args(b->command, &a->args, &count, err);
    else if (b->cmd != NULL)
        rc = fly_words_split(&a->words, b->cmd, err);
    if (rc < 0)
        return rc;
    list = a->args != NULL ? a->args : a->words.list;
    count = a->args != NULL ? count : a->words.count;
    if (count == 0)
        return hf_fail_field(err, HF_E_missing_field, "command",
                             "no command: give \"command\" as a list of words");
    a->spec.command = list[0];
    a->spec.args = list + 1;
    a->spec.arg_count = count - 1;
    return 0;
}

static int decode_input(struct spawn_spec *s, const json_t *input, struct hf_error *err)
{
    if (input != NULL && !json_is_string(input) && !json_is_null(input))
        return hf_fail_field(err, HF_E_bad_type, "stdin", "\"stdin\" must be a string");
    s->input = json_string_value(input);
    s->input_len = json_string_length(input);
    s->stdin_mode = s->input_len > 0 ? STDIN_DEFAULT : STDIN_NULL;
    return 0;
}

int fly_decode_exec(struct fly_request *a, const json_t *body, struct hf_error *err)
{
    struct fly_decode_body b = {0};
    int rc;

    *a = (struct fly_request){0};
    spec_init(&a->spec);
    rc = json_decode_known(body, fields, COUNT(fields), &b, err);
    if (rc < 0 || (rc = decode_words(a, &b, err)) < 0 ||
        (rc = decode_input(&a->spec, b.input, err)) < 0)
        return rc;
    if (b.machine && b.container != NULL && b.container[0] != '\0')
        return hf_fail_field(err, HF_E_bad_value, "container",
                             "\"container\" and \"machine\" are mutually exclusive");
    a->spec.timeout_ms = b.timeout > 0 ? b.timeout * 1000 : FLY_TIMEOUT_MS;
    a->spec.grace_ms = FLY_GRACE_MS;
    a->spec.source = SOURCE_AGENT;
    a->spec.metadata_json = FLY_METADATA;
    return 0;
}

void fly_request_fini(struct fly_request *a)
{
    fly_words_fini(&a->words);
    free(a->args);
}

/* --- frames of a session --------------------------------------------------------------------- */

size_t sprite_message_head(struct sprite_message *m, const void *piece, size_t len)
{
    if (m->inside || len == 0)
        return 0;
    m->inside = true;
    m->channel = *(const unsigned char *)piece;
    return 1;
}
