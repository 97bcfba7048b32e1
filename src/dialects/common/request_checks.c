/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request_checks.c - checks sizes and signals in requests. Layer: dialects.
 */
#include "dialects/common/request_checks.h"

#include <signal.h>
#include <string.h>

#include "base/limits.h"
#include "base/signals.h"

int check_size(int64_t rows, int64_t cols, struct hf_error *err)
{
    bool rows_bad = rows < 1 || rows > TERMINAL_SIZE_MAX;

    if (!rows_bad && cols >= 1 && cols <= TERMINAL_SIZE_MAX)
        return 0;
    return hf_fail_field(err, HF_E_bad_size, rows_bad ? "rows" : "cols",
                         "rows and cols must be from 1 to %d", TERMINAL_SIZE_MAX);
}

static const char *const target_names[] = {
    [TARGET_LEADER] = "leader",
    [TARGET_GROUP] = "group",
    [TARGET_FOREGROUND] = "foreground",
    [TARGET_TREE] = "tree",
};

const char *check_signal_target_name(enum signal_target target)
{
    return target_names[target];
}

enum signal_target check_signal_target_for(int signum, struct process *p)
{
    struct process_view v;

    process_view(p, &v);
    switch (signum) {
    case SIGINT:
    case SIGQUIT:
    case SIGTSTP: return v.pty ? TARGET_FOREGROUND : TARGET_GROUP;
    case SIGTERM:
    case SIGHUP:
    case SIGKILL: return TARGET_TREE;
    default: return TARGET_GROUP;
    }
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

int check_signal_decode(const json_t *signal, const char *target, int *signum,
                        enum signal_target *out, struct hf_error *err)
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
        return hf_fail_field(err, HF_E_bad_signal, "signal",
                             "no such signal; use a name such as \"TERM\" or a number from 1 to %d",
                             SIGRTMAX);
    return target_decode(target, out, err);
}

int check_signal_role(int signum, enum role role, struct hf_error *err)
{
    if (role >= ROLE_OWN)
        return 0;
    if (role == ROLE_TYPE && (signum == SIGINT || signum == SIGTSTP || signum == SIGWINCH))
        return 0;
    return hf_fail(err, HF_E_forbidden, "the role \"%s\" may not send %s", http_role_name(role),
                   signal_name(signum));
}

/* The index of the word, or -1 with the list of all of them. */
static int find_word(const char *text, const char *const *words, int count, struct buf *list)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, words[i]) == 0)
            return i;
    for (int i = 0; i < count; i++)
        buf_printf(list, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", words[i]);
    return -1;
}

int check_word(const char *name, const char *field, const char *const *words, struct hf_error *err)
{
    struct buf list = {0};
    int i, count = 0;

    while (words[count] != NULL)
        count++;
    i = find_word(name, words, count, &list);
    if (i < 0)
        i = hf_fail_field(err, HF_E_bad_value, field, "\"%s\" must be %s", field, buf_cstr(&list));
    buf_fini(&list);
    return i;
}

int check_source(const char *name, enum hf_code code, enum process_source *out,
                 struct hf_error *err)
{
    int n = source_from_name(name);

    if (n < 0)
        return hf_fail_field(err, code, "source",
                             "\"source\" must be user, agent, user_shell or system");
    *out = (enum process_source)n;
    return 0;
}

int check_size_policy(const char *name, enum size_policy *out, struct hf_error *err)
{
    int n = size_policy_from_name(name);

    if (n < 0)
        return hf_fail_field(err, HF_E_bad_value, "size_policy",
                             "\"size_policy\" must be latest, smallest, fixed or owner");
    *out = (enum size_policy)n;
    return 0;
}

int check_query_choice(struct http_request *rq, const char *name, const char *const *words,
                       int count, int absent)
{
    const char *text = http_query(rq, name);
    struct hf_error err = {0};
    struct buf list = {0};
    int i;

    if (text == NULL)
        return absent;
    i = find_word(text, words, count, &list);
    if (i >= 0)
        return i;
    hf_fail(&err, HF_E_bad_value, "%s must be %s", name, buf_cstr(&list));
    buf_fini(&list);
    http_reply_error(rq, &err);
    return -1;
}

int process_resize_given(struct process *p, int64_t *rows, int64_t *cols, struct hf_error *err)
{
    struct process_view v;

    process_view(p, &v);
    if (*rows == 0)
        *rows = v.rows;
    if (*cols == 0)
        *cols = v.cols;
    return process_resize(p, *rows, *cols, "api", err);
}
