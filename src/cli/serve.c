/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/serve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/dialects.h"
#include "cli/register.h"
#include "cli/token.h"
#include "engine/users.h"
#include "keeper/keeper.h"

static int fail(const struct hf_error *err)
{
    fprintf(stderr, "holdfast serve: %s\n", err->detail);
    return 1;
}

static int set_log_level(const char *name)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    int i;

    for (i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            log_set_level((enum log_level)i);
            return 0;
        }
    fprintf(stderr, "holdfast serve: --log-level is error, warn, info or debug\n");
    return 2;
}

static int find_worker_user(struct serve *s)
{
    struct hf_error err = {0};
    struct user u;

    if (geteuid() != 0) {
        s->worker_uid = geteuid();
        s->worker_gid = getegid();
        return 0;
    }
    if (strcmp(s->options.worker_user, "root") == 0)
        return 0;
    if (user_find(s->options.worker_user, &u, &err) < 0)
        return fail(&err);
    s->worker_uid = u.uid;
    s->worker_gid = u.gid;
    return 0;
}

/* --- as whom processes run ------------------------------------------------------- */

_Static_assert(K_GROUPS_MAX <= KEEPER_USER_GROUPS_MAX, "all groups of a user have room");

static int add_user(struct serve *s, const char *name)
{
    struct hf_error err = {0};
    struct keeper_user *to;
    struct user u;

    if (user_find(name, &u, &err) < 0)
        return fail(&err);
    s->users = hf_xrealloc(s->users, (s->user_count + 1) * sizeof *s->users);
    to = &s->users[s->user_count++];
    *to = (struct keeper_user){.uid = u.uid, .gid = u.gid, .group_count = (uint32_t)u.group_count};
    memcpy(to->groups, u.groups, u.group_count * sizeof u.groups[0]);
    return 0;
}

static int find_spawn_users(struct serve *s)
{
    const char *list = s->options.allow_users, *name = s->options.spawn_user;
    hf_autofree char *copy = hf_xstrdup(list != NULL ? list : "");
    char *save = NULL, *word;
    int rc = name != NULL ? add_user(s, name) : 0;

    s->spawn_uid = rc == 0 && name != NULL ? s->users[0].uid : geteuid();
    for (word = strtok_r(copy, ",", &save); rc == 0 && word != NULL;
         word = strtok_r(NULL, ",", &save))
        rc = add_user(s, word);
    return rc;
}

/* Releases up to 0.1.0 had this number for the worker, and gave it the directory that they made. */
#define FORMER_WORKER_UID 61777

static void give_history_dir(const struct serve *s, const char *dir)
{
    if (geteuid() == 0 && chown(dir, s->worker_uid, s->worker_gid) < 0)
        log_warn("cannot give %s to user %u: %s", dir, (unsigned)s->worker_uid, strerror(errno));
}

/* What we make is the worker's, who makes the files. What is there already is left as it is. */
static int make_history_dir(struct serve *s)
{
    struct hf_error err = {0};
    const char *dir = s->options.history_dir;
    struct stat st;

    if (dir == NULL)
        return 0;
    if (mkdir(dir, 0700) == 0) {
        give_history_dir(s, dir);
    } else if (errno == EEXIST) {
        if (stat(dir, &st) == 0 && st.st_uid == FORMER_WORKER_UID)
            give_history_dir(s, dir);
    } else {
        hf_fail(&err, HF_E_bad_value, "--history-dir %.200s: %s", dir, strerror(errno));
        return fail(&err);
    }
    if (realpath(dir, s->history_dir) == NULL) {
        hf_fail(&err, HF_E_bad_value, "--history-dir %.200s: %s", dir, strerror(errno));
        return fail(&err);
    }
    s->options.history_dir = s->history_dir;
    return 0;
}

/* --- sockets ------------------------------------------------------------------- */

_Static_assert(2 * OPTION_LIST_MAX <= SERVE_LISTEN_MAX, "all that can be asked for has room");

static int open_one(struct serve *s, const char *address, int dialect)
{
    struct hf_error err = {0};

    if (s->listener_count == SERVE_LISTEN_MAX) {
        hf_fail(&err, HF_E_bad_value, "more than %d listeners", SERVE_LISTEN_MAX);
        return fail(&err);
    }
    if (listen_open(address, &s->listeners[s->listener_count], &err) < 0)
        return fail(&err);
    s->dialect[s->listener_count++] = dialect;
    return 0;
}

static int open_dialects(struct serve *s)
{
    for (size_t i = 0; i < s->options.dialect.count; i++) {
        char address[DIALECT_ADDRESS_BYTES];
        struct hf_error err = {0};
        int which, rc;

        if (dialect_parse(s->options.dialect.items[i], &which, address, &err) < 0)
            return fail(&err), 2;
        if ((rc = open_one(s, address, which)) != 0)
            return rc;
    }
    return 0;
}

static int open_listeners(struct serve *s)
{
    int n = listen_activated(s->listeners, SERVE_LISTEN_MAX), rc;

    s->listener_count = n > 0 ? (size_t)n : 0;
    for (int i = 0; i < n; i++)
        s->dialect[i] = -1;
    /* Socket activation decides where the daemon listens; dialects are asked for by name. */
    for (size_t i = 0; n <= 0 && i < s->options.listen.count; i++)
        if (strcmp(s->options.listen.items[i], "none") != 0 &&
            (rc = open_one(s, s->options.listen.items[i], -1)) != 0)
            return rc;
    rc = open_dialects(s);
    if (rc == 0 && s->listener_count == 0) {
        fprintf(stderr, "holdfast serve: --listen none needs a --dialect to serve\n");
        return 2;
    }
    return rc;
}

static void warn_if_open(const struct serve *s)
{
    size_t i;

    if (!s->options.no_auth)
        return;
    log_warn("--no-auth: whoever reaches this daemon can run anything as its user");
    for (i = 0; i < s->listener_count; i++)
        if (!s->listeners[i].loopback)
            log_warn("--no-auth on %s, which is reachable from other machines",
                     s->listeners[i].url);
}

/* --- hand-over to a newer binary --------------------------------------------------- */

/* The tokens may have come from an environment that is gone by then. */
static void carry_make(const struct serve *s, struct buf *text, struct keeper_carry *carry)
{
    struct json_out o;
    size_t i;

    json_out_init(&o, text);
    json_open(&o, '{');
    json_key(&o, "tokens");
    json_strn(&o, s->tokens.len > 0 ? buf_data(&s->tokens) : "", s->tokens.len);
    json_key(&o, "dialects");
    json_open(&o, '[');
    for (i = 0; i < s->listener_count; i++)
        json_str(&o, s->dialect[i] < 0 ? "" : dialects_all[s->dialect[i]]->name);
    json_shut(&o, ']');
    json_shut(&o, '}');
    carry->bytes = buf_data(text);
    carry->len = text->len;
    for (i = 0; i < s->listener_count; i++)
        carry->fds[carry->fd_count++] = s->listeners[i].fd;
}

static int carry_take(struct serve *s, int resume_fd)
{
    int fds[KEEPER_CARRY_FDS_MAX];
    size_t n = KEEPER_CARRY_FDS_MAX, len = 0, i;
    void *bytes = NULL;
    json_t *o = NULL;
    int rc = keeper_resume_carry(resume_fd, &bytes, &len, fds, &n);

    if (rc == 0 && (o = json_parse(bytes, len, NULL)) == NULL)
        rc = -EPROTO;
    if (rc == 0 && n <= SERVE_LISTEN_MAX) {
        buf_puts(&s->tokens, json_string_value(json_object_get(o, "tokens")));
        for (i = 0; i < n; i++) {
            const char *name = json_string_value(json_array_get(json_object_get(o, "dialects"), i));

            listen_describe(fds[i], &s->listeners[i]);
            /* One that this binary does not know any more answers as the main one does. */
            s->dialect[i] = name == NULL ? -1 : dialect_find(name, strlen(name));
        }
        s->listener_count = n;
        s->resumed = true;
    }
    json_decref(o);
    if (bytes != NULL)
        hf_wipe(bytes, len);
    free(bytes);
    if (rc < 0)
        fprintf(stderr, "holdfast serve: the hand-over cannot be read: %s\n", strerror(-rc));
    return rc < 0 ? 1 : 0;
}

static int resume_fd_from_env(void)
{
    const char *text = getenv(KEEPER_RESUME_ENV);
    int64_t fd = -1;

    if (text == NULL || !text_to_i64(text, 0, INT_MAX, &fd))
        return -1;
    unsetenv(KEEPER_RESUME_ENV);
    return (int)fd;
}

/* Absolute, and as it was called: an upgrade replaces the file at this path. */
static const char *own_path(const char *argv0, char *out)
{
    char *found = strchr(argv0, '/') != NULL ? realpath(argv0, out) : NULL;
    ssize_t n;

    if (found != NULL)
        return out;
    n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        return argv0;
    out[n] = '\0';
    return out;
}

/* --- the command ----------------------------------------------------------------------- */

/* A log keeps what is printed, so a secret is printed only on a terminal or with --print-link. When
 * the daemon stands in for another program, it prints only what that program would. */
static void prepare_greeting(struct serve *s, bool posed)
{
    if (s->options.print_link || (!posed && isatty(STDOUT_FILENO)))
        s->greeting = greeting_new(&s->options);
}

static int prepare(struct serve *s, int resume_fd)
{
    struct hf_error err = {0};
    int rc = find_worker_user(s);

    if (rc == 0)
        rc = find_spawn_users(s);
    if (rc == 0)
        rc = make_history_dir(s);
    if (rc == 0)
        rc = resume_fd >= 0 ? carry_take(s, resume_fd) : open_listeners(s);
    if (rc == 0 && resume_fd < 0 && !s->options.no_auth &&
        token_load(s->options.token_file, &s->tokens, &err) < 0)
        return fail(&err);
    if (rc == 0)
        rc = worker_check(s);
    /* A newer binary finds the process that does it still there. */
    if (rc == 0 && resume_fd < 0 && s->options.register_url != NULL && register_start(s, &err) < 0)
        return fail(&err);
    return rc;
}

int serve_main(int argc, char **argv)
{
    return serve_main_as(argc, argv, argv);
}

int serve_main_as(int argc, char **argv, char **real)
{
    struct serve s = {.worker_uid = 0};
    struct keeper_options k = {.worker_main = worker_main, .arg = &s, .argv = real};
    struct engine_options engine;
    struct buf text = {0};
    char path[PATH_MAX];
    int resume_fd = resume_fd_from_env(), rc;

    serve_options_init(&s.options);
    rc = serve_options_parse(&s.options, argc - 2, argv + 2);
    if (rc == 1) {
        serve_options_help(&text);
        rc = io_write_all(STDOUT_FILENO, buf_data(&text), text.len) < 0;
        buf_fini(&text);
        return rc;
    }
    if (rc != 0 || (rc = set_log_level(s.options.log_level)) != 0)
        return rc;
    if (resume_fd < 0)
        prepare_greeting(&s, argv != real);
    if ((rc = prepare(&s, resume_fd)) != 0) {
        greeting_free(s.greeting);
        free(s.users);
        buf_wipe(&s.tokens);
        return rc;
    }
    warn_if_open(&s);
    serve_options_engine(&s.options, &engine);
    carry_make(&s, &text, &k.carry);
    k.state_bytes = engine_state_bytes(&engine);
    k.grace_ms = (uint32_t)s.options.grace_ms;
    k.exe_path = own_path(argv[0], path);
    k.worker_uid = s.worker_uid;
    k.worker_gid = s.worker_gid;
    k.pid_file = s.options.pid_file;
    k.users_only = s.options.spawn_user != NULL || s.options.allow_users != NULL;
    k.users = s.users;
    k.user_count = s.user_count;
    rc = keeper_run(&k, resume_fd);
    free(s.users);
    greeting_free(s.greeting);
    buf_wipe(&text);
    buf_wipe(&s.tokens);
    return rc;
}
