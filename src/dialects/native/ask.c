/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.c - what a request asks, decoded strictly. Layer: dialects.
 */
#include "dialects/native/ask.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"
#include "base/signals.h"
#include "base/text.h"
#include "dialects/native/context.h"

struct process *ask_process(struct http_request *rq)
{
    struct hf_error err;
    struct process *p = engine_find(native_of(rq)->engine, http_param(rq, "id"), &err);

    if (p == NULL)
        http_reply_error(rq, &err);
    return p;
}

bool ask_is_json_type(const struct http_request *rq)
{
    const char *type = http_header(rq, "Content-Type");
    size_t len;

    if (type == NULL)
        return false;
    len = strcspn(type, "; \t");
    if (len == strlen("application/json") && strncasecmp(type, "application/json", len) == 0)
        return true;
    return len > 5 && strncasecmp(type + len - 5, "+json", 5) == 0;
}

int ask_check_json_type(const struct http_request *rq, struct hf_error *err)
{
    if (http_header(rq, "Content-Type") == NULL || ask_is_json_type(rq))
        return 0;
    return hf_fail(err, HF_E_unsupported_media_type,
                   "this call takes application/json; set Content-Type to that or leave it out");
}

json_t *ask_json(struct http_request *rq, struct hf_error *err)
{
    size_t len;
    const char *text;

    if (ask_check_json_type(rq, err) < 0)
        return NULL;
    text = http_body(rq, &len);
    return json_parse(text, len, err);
}

int ask_i64(const struct http_request *rq, const char *name, int64_t min, int64_t max, int64_t *out,
            struct hf_error *err)
{
    const char *text = http_query(rq, name);

    if (text == NULL || text_to_i64(text, min, max, out))
        return 0;
    return hf_fail_field(err, HF_E_bad_query, name,
                         "\"%s\" must be a whole number from %lld to %lld", name, (long long)min,
                         (long long)max);
}

int ask_choice(const struct http_request *rq, const char *name, const char *const *names, int *out,
               struct hf_error *err)
{
    const char *text = http_query(rq, name);

    if (text == NULL)
        return 0;
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = i;
            return 0;
        }
    }
    return hf_fail_field(err, HF_E_bad_query, name,
                         "\"%s\" cannot be \"%.40s\"; \"%s\" is one value it takes", name, text,
                         names[0]);
}

int ask_bool(const struct http_request *rq, const char *name, bool *out, struct hf_error *err)
{
    static const char *const names[] = {"0", "1", "false", "true", NULL};
    int which = -1, rc = ask_choice(rq, name, names, &which, err);

    if (rc < 0)
        return hf_fail_field(err, HF_E_bad_query, name, "\"%s\" must be 1, 0, true or false", name);
    if (which >= 0)
        *out = which & 1;
    return 0;
}

int check_size(int64_t rows, int64_t cols, struct hf_error *err)
{
    bool rows_bad = rows < 1 || rows > TERMINAL_SIZE_MAX;

    if (!rows_bad && cols >= 1 && cols <= TERMINAL_SIZE_MAX)
        return 0;
    return hf_fail_field(err, HF_E_bad_size, rows_bad ? "rows" : "cols",
                         "rows and cols must be from 1 to %d", TERMINAL_SIZE_MAX);
}

int ask_size(const struct http_request *rq, int64_t *rows, int64_t *cols, struct hf_error *err)
{
    const char *r = http_query(rq, "rows"), *c = http_query(rq, "cols");

    if (r == NULL && c == NULL)
        return 0;
    if (r == NULL || c == NULL)
        return hf_fail_field(err, HF_E_bad_query, r == NULL ? "rows" : "cols",
                             "\"rows\" and \"cols\" go together; give both or none");
    if (ask_i64(rq, "rows", INT64_MIN, INT64_MAX, rows, err) < 0 ||
        ask_i64(rq, "cols", INT64_MIN, INT64_MAX, cols, err) < 0)
        return -1;
    return check_size(*rows, *cols, err);
}

int ask_since(const struct http_request *rq, struct since *out, struct hf_error *err)
{
    const char *text = http_query(rq, "since");
    uint64_t n;

    if (text == NULL)
        return 0;
    if (strcmp(text, "now") == 0)
        *out = (struct since){SINCE_NOW, 0};
    else if (strcmp(text, "screen") == 0)
        *out = (struct since){SINCE_DEFAULT, 0};
    else if (text[0] == '-' && text_to_u64(text + 1, INT64_MAX, &n))
        *out = (struct since){SINCE_LAST, n};
    else if (text_to_u64(text, INT64_MAX, &n))
        *out = (struct since){SINCE_OFFSET, n};
    else
        return hf_fail_field(err, HF_E_bad_query, "since",
                             "\"since\" must be an offset, -N for the last N bytes, now or screen");
    return 0;
}

static const char *const target_names[] = {
    [TARGET_LEADER] = "leader",
    [TARGET_GROUP] = "group",
    [TARGET_FOREGROUND] = "foreground",
    [TARGET_TREE] = "tree",
};

const char *signal_target_name(enum signal_target target)
{
    return target_names[target];
}

static int target_decode(const char *name, enum signal_target *out, struct hf_error *err)
{
    *out = TARGET_GROUP;
    if (name == NULL)
        return 0;
    for (size_t i = 0; i < sizeof target_names / sizeof *target_names; i++) {
        if (strcmp(target_names[i], name) == 0) {
            *out = (enum signal_target)i;
            return 0;
        }
    }
    return hf_fail_field(err, HF_E_bad_value, "target",
                         "\"target\" must be group, leader, foreground or tree");
}

int signal_decode(const json_t *signal, const char *target, int *signum, enum signal_target *out,
                  struct hf_error *err)
{
    if (json_is_integer(signal)) {
        json_int_t n = json_integer_value(signal);

        *signum = n >= 1 && n <= SIGRTMAX ? (int)n : -1;
    } else if (json_is_string(signal)) {
        const char *name = json_text(signal, "signal", err);

        if (name == NULL)
            return -1;
        *signum = signal_from_name(name);
    } else {
        return hf_fail_field(err, HF_E_bad_type, "signal",
                             "\"signal\" must be a name such as \"INT\" or a number");
    }
    if (*signum < 1)
        return hf_fail_field(
            err, HF_E_bad_signal, "signal",
            "there is no such signal; use a name such as \"TERM\" or a number from 1 to %d",
            SIGRTMAX);
    return target_decode(target, out, err);
}

int signal_check_role(int signum, enum role role, struct hf_error *err)
{
    if (role >= ROLE_OWN)
        return 0;
    if (role == ROLE_TYPE && (signum == SIGINT || signum == SIGTSTP || signum == SIGWINCH))
        return 0;
    return hf_fail(err, HF_E_forbidden, "the role \"%s\" may not send %s", role_name(role),
                   signal_name(signum));
}
