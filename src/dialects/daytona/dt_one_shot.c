/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dt_one_shot.c - POST /process/execute and /process/code-run: run to the end, then return the
 * output
 *
 * Both streams are merged. They are merged in the child, because two pipes that are read one after
 * the other do not show which output was written first. Layer: dialects.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "dialects/common/collect_call.h"
#include "dialects/daytona/daytona.h"
#include "dialects/daytona/daytona_limits.h"

#define JOIN "exec \"$@\" 2>&1"
/* ts-node runs code only from a file. */
#define TYPESCRIPT                                                                                 \
    "exec 2>&1\n"                                                                                  \
    "d=$(mktemp -d) || exit\n"                                                                     \
    "cat >\"$d/main.ts\" && npx ts-node -T \"$d/main.ts\" \"$@\" </dev/null\n"                     \
    "c=$?; rm -rf \"$d\"; exit $c"
#define ARG_BYTES (96 * 1024) /* the kernel limits one argument to 128 KiB */

struct one_shot {
    struct collect_call run;
    int64_t timeout_s;
    bool code;
};

/* --- the result ----------------------------------------------------------------------- */

static void reply_result(struct http_request *rq, int code, struct buf *text, bool artifacts)
{
    json_auto_t *charts = artifacts ? dt_take_artifacts(text) : NULL;
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kint(&o, "exitCode", code);
    json_key(&o, "result");
    json_strn(&o, buf_cstr(text), text->len);
    if (charts != NULL && json_array_size(charts) > 0) {
        json_key(&o, "artifacts");
        json_open(&o, '{');
        json_key(&o, "charts");
        json_value(&o, charts);
        json_close(&o, '}');
    }
    dialect_reply_send(rq, 200, &o);
}

/* Report a failed start as a result, but not a lack of resources. */
static void fail(struct http_request *rq, const struct hf_error *err)
{
    struct buf text = {0};

    if (err->code != HF_E_spawn_failed && err->code != HF_E_user_unknown) {
        http_reply_error(rq, err);
        return;
    }
    buf_puts(&text, err->detail);
    reply_result(rq, -1, &text, false);
    buf_fini(&text);
}

static void one_shot_failed(struct collect_call *r, struct http_request *rq,
                            const struct hf_error *err)
{
    (void)r;
    fail(rq, err);
}

static void one_shot_done(struct collect_call *run, struct http_request *rq,
                          const struct collected *c)
{
    const struct one_shot *r = list_entry(run, struct one_shot, run);
    struct buf text = {0};

    if (c->exit->kind == EXIT_TIMED_OUT) {
        dt_fail(rq, 408, "PROCESS_EXECUTION_TIMEOUT",
                "command execution timeout: terminated after %lld s", (long long)r->timeout_s);
    } else {
        if (c->out->len > 0)
            buf_put(&text, buf_data(c->out), c->out->len);
        reply_result(rq, c->exit->exit_code, &text, r->code);
    }
    buf_fini(&text);
    process_forget(c->process); /* no client knows its id */
}

static const struct collect_call_ops ops = {
    .done = one_shot_done,
    .failed = one_shot_failed,
    .drain_detail =
        "the daemon is shutting down; the command keeps running, but its output is lost",
};

/* Runs these words of a shell, then the request's arguments. `input` NULL: none. */
static void one_shot_begin(struct http_request *rq, const struct dt_request *a,
                           const char *const *words, size_t count, const char *input)
{
    const char **args = hf_xalloc((count + a->arg_count + 1) * sizeof *args);
    struct one_shot *r = hf_xalloc(sizeof *r);
    json_auto_t *kept = NULL;
    struct spec_env *env;
    struct spawn_spec spec;

    memcpy(args, words, count * sizeof *args);
    for (size_t i = 0; i < a->arg_count; i++)
        args[count + i] = a->args[i];
    spec_init(&spec);
    env = dt_env(dt_of(rq), a->env, a->env_count, &spec.env_count, &kept);
    spec.command = "/bin/sh";
    spec.args = args;
    spec.arg_count = count + a->arg_count;
    spec.env = env;
    spec.cwd = a->cwd;
    spec.stdin_mode = input != NULL ? STDIN_DEFAULT : STDIN_NULL;
    spec.input = input;
    spec.input_len = input != NULL ? strlen(input) : 0;
    spec.timeout_ms = a->timeout_s * 1000;
    spec.grace_ms = 0;
    spec.source = SOURCE_AGENT;
    spec.metadata_json = DT_METADATA;
    r->timeout_s = a->timeout_s;
    r->code = a->code != NULL;
    collect_call_begin(&r->run, &ops, rq, &spec, LIMIT_DT_RESULT_BYTES);
    free(env);
    free(args);
}

/* --- the command ------------------------------------------------------------------------ */

/* Bash, or sh where there is none. */
static const char *command_shell(void)
{
    static const char *const places[] = {"/usr/bin/bash", "/bin/bash", "/usr/local/bin/bash"};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return "/bin/sh";
}

/*
 * A line that is too long for an argument becomes the shell's input, as it always does in the
 * original. Commands in it that read their input would then read the rest of the line.
 */
static void run_command(struct http_request *rq, const struct dt_request *a)
{
    const char *const words[] = {"-c", JOIN, "sh", command_shell(), "-c", a->command};
    bool longer = strlen(a->command) > ARG_BYTES;

    one_shot_begin(rq, a, words, longer ? 4 : 6, longer ? a->command : NULL);
}

void dt_execute(struct http_request *rq)
{
    struct dt_request a;

    if (dt_request(rq, DT_EXECUTE, &a))
        run_command(rq, &a);
    dt_request_fini(&a);
}

/* The code is the program's input, so that no shell and no argument limit affects it. */
static void run_code(struct http_request *rq, const struct dt_request *a)
{
    static const struct {
        const char *language, *words[6], *before;
        size_t count;
    } rows[] = {
        {"python", {"-c", JOIN, "sh", "python3", "-u", "-"}, "", 6},
        {"javascript", {"-c", JOIN, "sh", "node", "-"}, "process.argv.splice(1, 1);" /* "-" */, 5},
        {"typescript", {"-c", TYPESCRIPT, "sh"}, "", 3},
    };
    struct buf code = {0};
    size_t i = 0;

    while (strcmp(rows[i].language, a->language) != 0)
        i++; /* it has been checked */
    buf_puts(&code, rows[i].before);
    buf_puts(&code, a->code);
    one_shot_begin(rq, a, rows[i].words, rows[i].count, buf_cstr(&code));
    buf_fini(&code);
}

void dt_code_run(struct http_request *rq)
{
    struct dt_request a;

    if (dt_request(rq, DT_CODE, &a))
        run_code(rq, &a);
    dt_request_fini(&a);
}
