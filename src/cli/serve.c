/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.c - `holdfast serve`: opens sockets and credentials, then runs the launcher or the keeper
 *
 * The same command line also runs in a keeper that the vault or an older binary executed, and in a
 * candidate's trial before an upgrade. Layer: cli.
 */
#include "cli/serve.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/patience.h"
#include "base/text.h"
#include "cli/dialects.h"
#include "cli/launcher.h"
#include "cli/register.h"
#include "cli/token_file.h"
#include "engine/journal/record.h"
#include "engine/users.h"
#include "engine/worker_shared.h"
#include "keeper/keeper.h"
#include "vault/vault.h"

static int fail(const struct hf_error *err)
{
    return cli_complain("serve", 1, "%s", err->detail);
}

static int find_worker_user(struct serve *s, struct hf_error *err)
{
    if (geteuid() == 0)
        return opt_worker_ids(s->options.worker_user, &s->worker_uid, &s->worker_gid, err);
    s->worker_uid = geteuid();
    s->worker_gid = getegid();
    return 0;
}

/* --- users of processes ------------------------------------------------------- */

_Static_assert(K_GROUPS_MAX <= KEEPER_USER_GROUPS_MAX, "all groups of a user have room");

static int add_user(struct serve *s, const char *name, struct hf_error *err)
{
    struct keeper_user *to;
    struct user u;
    int rc = user_find(name, &u, err);

    if (rc < 0)
        return rc;
    s->users = hf_xrealloc(s->users, (s->user_count + 1) * sizeof *s->users);
    to = &s->users[s->user_count++];
    *to = (struct keeper_user){.uid = u.uid, .gid = u.gid, .group_count = (uint32_t)u.group_count};
    memcpy(to->groups, u.groups, u.group_count * sizeof u.groups[0]);
    return 0;
}

/* *rc and *err belong to the last name that failed. An earlier one is logged here. */
static void try_user(struct serve *s, const char *name, int *rc, struct hf_error *err)
{
    struct hf_error own = {0};
    int failed = add_user(s, name, &own);

    if (failed == 0)
        return;
    if (*rc < 0)
        log_error("%s", err->detail);
    *rc = failed;
    *err = own;
}

/* Continues after an unknown name: after an upgrade that is no reason to refuse the other users. */
static int find_spawn_users(struct serve *s, struct hf_error *err)
{
    const char *list = s->options.allow_users, *name = s->options.engine.spawn_user;
    hf_autofree char *copy = hf_xstrdup(list != NULL ? list : "");
    char *save = NULL, *word;
    int rc = 0;

    if (name != NULL)
        try_user(s, name, &rc, err);
    s->spawn_uid = rc == 0 && name != NULL ? s->users[0].uid : geteuid();
    for (word = strtok_r(copy, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save))
        try_user(s, word, &rc, err);
    return rc;
}

/* Releases up to 0.1.0 used this number for the worker, which owned the directory that they
 * created. */
#define FORMER_WORKER_UID 61777

static void give_history_dir(const struct serve *s, const char *dir)
{
    if (geteuid() == 0 && chown(dir, s->worker_uid, s->worker_gid) < 0)
        log_warn("cannot change the owner of %s to user %u: %s", dir, (unsigned)s->worker_uid,
                 strerror(errno));
}

/* A directory that we create belongs to the worker, which creates the files. An existing one is
 * left as it is. */
static int make_history_dir(struct serve *s, struct hf_error *err)
{
    const char *dir = s->options.engine.history_dir;
    char resolved[PATH_MAX];
    struct stat st;

    if (dir == NULL)
        return 0;
    if (mkdir(dir, 0700) == 0) {
        give_history_dir(s, dir);
    } else if (errno != EEXIST) {
        return hf_fail(err, HF_E_bad_value, "--history-dir %.200s: %s", dir, strerror(errno));
    } else if (stat(dir, &st) == 0 && st.st_uid == FORMER_WORKER_UID) {
        give_history_dir(s, dir);
    }
    if (realpath(dir, resolved) == NULL)
        return hf_fail(err, HF_E_bad_value, "--history-dir %.200s: %s", dir, strerror(errno));
    memcpy(s->history_dir, resolved, sizeof resolved);
    s->options.engine.history_dir = s->history_dir;
    return 0;
}

/* --- sockets ------------------------------------------------------------------- */

#define PORT_TRIES 16 /* for one that no vault is named after */

_Static_assert(2 * SERVE_LIST_MAX <= SERVE_LISTEN_MAX,
               "all listeners that can be requested have room");

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

static void take_activated(struct serve *s)
{
    int n = listen_activated(s->listeners, SERVE_LISTEN_MAX);

    s->listener_count = n > 0 ? (size_t)n : 0;
    for (int i = 0; i < n; i++)
        s->dialect[i] = -1;
}

/* Socket activation decides where the daemon listens; dialects are requested by name. */
static int open_listeners(struct serve *s)
{
    bool activated = s->listener_count > 0;
    int rc;

    for (size_t i = 0; !activated && i < s->options.listen.count; i++)
        if (strcmp(s->options.listen.items[i], "none") != 0 &&
            (rc = open_one(s, s->options.listen.items[i], -1)) != 0)
            return rc;
    rc = open_dialects(s);
    if (rc == 0 && s->listener_count == 0)
        return cli_complain("serve", 2, "--listen none needs a --dialect to serve");
    return rc;
}

/* --- what an earlier daemon left --------------------------------------------------- */

/* The address of the first socket, before it is open. False: there is none, which
 * open_listeners() reports. */
static bool first_address(const struct serve *s, char out[DIALECT_ADDRESS_BYTES])
{
    const struct opt_list *listen = &s->options.listen, *dialect = &s->options.dialect;
    struct hf_error err = {0};
    int which;

    if (s->listener_count > 0) {
        snprintf(out, DIALECT_ADDRESS_BYTES, "%s", s->listeners[0].url);
        return true;
    }
    for (size_t i = 0; i < listen->count; i++) {
        if (strcmp(listen->items[i], "none") == 0)
            continue;
        snprintf(out, DIALECT_ADDRESS_BYTES, "%s", listen->items[i]);
        return true;
    }
    return dialect->count > 0 && dialect_parse(dialect->items[0], &which, out, &err) == 0;
}

static int find_earlier(struct serve *s, const char *address)
{
    if (listen_name(address, s->name) == 0)
        return pickup_find(&s->earlier, s->name);
    s->name[0] = '\0';
    return 0;
}

static int load_credentials(struct serve *s)
{
    struct hf_error err = {0};

    if (credentials_load(&s->credentials, &s->options, &err) < 0)
        return fail(&err);
    return 0;
}

/* A daemon that serves without a launcher leaves for us, so everything that may fail comes
 * before that. */
static int settle_earlier(struct serve *s)
{
    int rc;

    launcher_guard_begin(); /* its processes are running already */
    rc = load_credentials(s);
    return rc != 0 ? rc : pickup_settle(&s->earlier);
}

static void print_held(const struct serve *s)
{
    if (pickup_is_found(&s->earlier))
        cli_complain("serve", 0, "an earlier daemon's processes (%zu) keep running",
                     vault_client_running(&s->earlier.vault));
}

static bool is_name_taken(const char *name)
{
    hf_autoclose int fd = vault_connect(name);

    return fd >= 0;
}

/*
 * The kernel chose the port. It may be that of a daemon that has left its processes with its vault:
 * nobody has asked us to pick those up, so we take another port.
 */
static int open_unnamed(struct serve *s, const char *address)
{
    struct listen_socket *first = &s->listeners[0];

    for (int i = 0; i < PORT_TRIES && listen_name(first->url, s->name) == 0; i++) {
        struct listen_socket other;
        struct hf_error err = {0};

        if (!is_name_taken(s->name))
            return 0;
        if (listen_open(address, &other, &err) < 0)
            return fail(&err);
        io_close(&first->fd); /* not before: the kernel might choose it again */
        *first = other;
    }
    s->name[0] = '\0';
    return 0;
}

/* Opens the sockets and the credentials, and finds what an earlier daemon at the same address
 * left. */
static int open_all(struct serve *s)
{
    char address[DIALECT_ADDRESS_BYTES] = "";
    int rc = 0;

    take_activated(s);
    if (first_address(s, address))
        rc = find_earlier(s, address);
    if (rc == 0 && pickup_is_found(&s->earlier))
        rc = settle_earlier(s);
    if (rc == 0)
        rc = open_listeners(s);
    /* With port 0 the name is known only now. */
    if (rc == 0 && s->name[0] == '\0')
        rc = open_unnamed(s, address);
    if (rc == 0 && !pickup_is_found(&s->earlier))
        rc = load_credentials(s);
    if (rc != 0)
        print_held(s);
    return rc;
}

static void warn_if_open(const struct serve *s)
{
    size_t i;

    if (!s->options.no_auth)
        return;
    log_warn("--no-auth: anyone who can reach this daemon can run any command as its user");
    for (i = 0; i < s->listener_count; i++)
        if (!s->listeners[i].loopback)
            log_warn("--no-auth on %s, which is reachable from other machines",
                     s->listeners[i].url);
}

/* --- hand-over to a newer binary --------------------------------------------------- */

static bool trial;

void serve_try(void)
{
    trial = true;
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

/* How the daemon was started: afresh, by the vault, or by an older binary in its own place. */
struct origin_of_run {
    int resume_fd; /* -1: afresh */
    bool has_vault, replaced;
    struct vault_ends vault;
};

static struct origin_of_run find_origin(void)
{
    struct origin_of_run from = {.resume_fd = resume_fd_from_env()};

    from.replaced = from.resume_fd >= 0;
    from.has_vault = vault_ends_from_env(&from.vault);
    /* From here on we are the keeper: set the name by which users find it. */
    if (!trial && (from.has_vault || from.replaced))
        (void)prctl(PR_SET_NAME, "holdfast-keeper", 0, 0, 0);
    if (from.has_vault && !from.replaced) {
        from.resume_fd = keeper_resume_from_vault(&from.vault);
        if (from.resume_fd < 0) {
            log_error("cannot read the ledger: %s", strerror(-from.resume_fd));
            exit(1);
        }
    }
    return from;
}

/* Absolute, and as called: an upgrade replaces the file at this path. */
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

/* The vault executes a descriptor, which may no longer have a name. NULL: the ledger cannot be
 * read. */
static const char *known_path(const struct vault_ends *vault, const char *argv0, char *out)
{
    struct ledger *l = ledger_map(vault->ledger_fd);

    if (l == NULL)
        return NULL;
    snprintf(out, PATH_MAX, "%s", l->exe_path);
    ledger_unmap(l);
    return out[0] != '\0' ? out : own_path(argv0, out);
}

/* --- the command ----------------------------------------------------------------------- */

static bool token_is_in_env(void)
{
    const char *token = getenv(TOKEN_ENV);

    return token != NULL && token[0] != '\0';
}

/* A log keeps what is printed, so a secret is printed only on a terminal or with --print-link. A
 * daemon that stands in for another program prints only what that program would. */
static void prepare_greeting(struct serve *s, bool posed)
{
    if (s->options.print_link || (!posed && isatty(STDOUT_FILENO)))
        s->greeting = greeting_new(&s->options, token_is_in_env());
}

/* A memory file with all credentials, or -errno. */
static int credentials_file(const struct credentials *c)
{
    int fd = memfd_create("holdfast-credentials", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int rc = fd < 0 ? -errno : credentials_save(c, fd);

    if (rc < 0)
        io_close(&fd);
    return rc < 0 ? rc : fd;
}

/* Saves them in sealed memory, for workers and newer binaries. 0 or -errno. */
static int save_credentials(struct serve *s)
{
    struct patience patience = {0};
    int fd;

    while (patience_is_passing(fd = credentials_file(&s->credentials)) && patience_wait(&patience))
        ;
    credentials_fini(&s->credentials);
    s->credentials_fd = fd < 0 ? -1 : fd;
    return fd < 0 ? fd : 0;
}

static int prepare(struct serve *s)
{
    struct hf_error err = {0};
    int rc;

    if (find_worker_user(s, &err) < 0 || find_spawn_users(s, &err) < 0 ||
        make_history_dir(s, &err) < 0)
        return fail(&err);
    if ((rc = worker_check(s)) != 0 || (rc = open_all(s)) != 0)
        return rc;
    if (s->options.register_url != NULL && register_start(s, &err) < 0)
        return fail(&err);
    rc = save_credentials(s);
    return rc < 0 ? cli_complain("serve", 1, "cannot create a memory file: %s", strerror(-rc)) : 0;
}

/* No other process could continue in our place, so faults are logged and carried values stay in
 * use. */
static void log_and_continue(const struct hf_error *err, const char *instead)
{
    log_error("%s; continuing with %s", err->detail, instead);
}

/* Credentials that were not carried may still be in the files. */
static void resume_credentials(struct serve *s)
{
    struct credentials *c = &s->credentials;
    struct hf_error err = {0};

    if (!s->options.no_auth && c->tokens.len == 0 &&
        token_load(s->options.token_file, &c->tokens, c->token_file, &err) < 0)
        log_and_continue(&err, "no token");
    if (!s->options.no_auth && c->token_file[0] == '\0')
        token_find(s->options.token_file, &c->tokens, c->token_file);
    if (c->cert.len == 0)
        credentials_reload(c, &s->options, -1);
}

/* After the exec of an upgrade. Everything was checked before, but the system may have changed.
 * The registrar, which an earlier binary started, still runs. A shortage of memory is a failure:
 * the vault then starts another keeper. Without a vault everything would end, so the daemon
 * continues. */
static int resume(struct serve *s, const struct origin_of_run *from)
{
    struct hf_error err = {0};
    int rc;

    crypto_random(s->credentials.link_key, sizeof s->credentials.link_key);
    if ((rc = carry_take(s, from->resume_fd)) != 0)
        return rc;
    if (s->greet)
        s->greeting = greeting_new(&s->options, s->credentials.token_file[0] == '\0');
    if (find_worker_user(s, &err) < 0)
        log_and_continue(&err, "the previous worker user");
    if (find_spawn_users(s, &err) < 0)
        log_and_continue(&err, "the other users that processes may run as");
    if (make_history_dir(s, &err) < 0) {
        log_and_continue(&err, "the previous directory");
        s->options.engine.history_dir = s->history_dir[0] != '\0' ? s->history_dir : NULL;
    }
    resume_credentials(s);
    (void)worker_check(s);
    rc = save_credentials(s);
    if (rc < 0)
        log_error("cannot save the credentials: %s", strerror(-rc));
    return rc < 0 && from->has_vault ? 1 : 0;
}

/* --- a candidate's trial ------------------------------------------------------------------ */

static bool try_record(int fd, void *arg)
{
    (void)arg;
    return record_is_ours(fd);
}

static bool try_state(int fd, void *arg)
{
    const struct engine_options *o = arg;

    return shared_is_ours(fd, o->event_log_bytes);
}

/* As resume(), but any fault rejects this binary. */
static int try_resume(struct serve *s, int resume_fd)
{
    struct keeper_trial t = {.record = try_record, .state = try_state, .arg = &s->options.engine};
    struct hf_error err = {0};
    const char *fault;

    if (carry_take(s, resume_fd) != 0)
        return 1;
    /* Carried values replace files that are missing at the moment. */
    credentials_reload(&s->credentials, &s->options, -1);
    if (find_worker_user(s, &err) < 0 || find_spawn_users(s, &err) < 0 ||
        make_history_dir(s, &err) < 0 || credentials_check(&s->credentials, &s->options, &err) < 0)
        return fail(&err);
    s->resumed = false; /* so that the worker's confinement is tried as well */
    if (worker_check(s) != 0)
        return 1;
    fault = keeper_try(resume_fd, &t);
    return fault == NULL ? KEEPER_CHECK_YES : cli_complain("serve", 1, "%s", fault);
}

/* --- life --------------------------------------------------------------------------------- */

/* Runs in a child of the keeper. */
static int reload_read(int fd, int64_t grace_ms, void *arg)
{
    struct serve *s = arg;
    int rc = credentials_open(&s->credentials, s->credentials_fd);

    if (rc == 0) {
        credentials_reload(&s->credentials, &s->options, grace_ms);
        rc = credentials_save(&s->credentials, fd);
    }
    credentials_fini(&s->credentials);
    if (rc < 0)
        log_error("cannot save the credentials: %s", strerror(-rc));
    return rc < 0 ? 1 : 0;
}

static void reload_take(int fd, void *arg)
{
    struct serve *s = arg;

    io_close(&s->credentials_fd);
    s->credentials_fd = fd;
}

static void serve_fini(struct serve *s)
{
    greeting_free(s->greeting);
    serve_options_fini(&s->options);
    free(s->users);
    credentials_fini(&s->credentials);
    io_close(&s->credentials_fd);
    pickup_fini(&s->earlier);
    launcher_guard_end();
}

static int serve_run(struct serve *s, const char *argv0, char **real,
                     const struct origin_of_run *from)
{
    struct keeper_options k = {.worker_main = worker_main,
                               .arg = s,
                               .argv = real,
                               .carry_write = carry_write,
                               .reload = {reload_read, reload_take, &s->credentials_fd}};
    char path[PATH_MAX];

    warn_if_open(s);
    for (size_t i = 0; i < s->listener_count; i++)
        k.carry.fds[k.carry.fd_count++] = s->listeners[i].fd;
    k.state_bytes = engine_state_bytes(&s->options.engine);
    k.grace_ms = (uint32_t)s->options.grace_ms;
    k.exe_path = from->has_vault ? known_path(&from->vault, argv0, path) : own_path(argv0, path);
    if (k.exe_path == NULL) {
        log_error("cannot read the ledger: %s", strerror(errno));
        return 1;
    }
    k.worker_uid = s->worker_uid;
    k.worker_gid = s->worker_gid;
    k.pid_file = s->options.pid_file;
    k.users_only = s->options.engine.spawn_user != NULL || s->options.allow_users != NULL;
    k.users = s->users;
    k.user_count = s->user_count;
    if (from->resume_fd < 0)
        return launcher_run(&k, s->name, &s->earlier);
    k.vault = from->has_vault ? &from->vault : NULL;
    k.replaced = from->replaced;
    return keeper_run(&k, from->resume_fd);
}

int serve_main(int argc, char **argv)
{
    return serve_main_as(argc, argv, argv);
}

int serve_main_as(int argc, char **argv, char **real)
{
    struct serve s = {.credentials_fd = -1, .earlier = {.vault = {.fd = -1}}};
    struct origin_of_run from = find_origin();
    int resume_fd = from.resume_fd, rc;
    bool resumed = resume_fd >= 0 && !trial;

    rc = serve_options_parse(&s.options, argc, argv, resumed);
    if (rc >= 0) {
        serve_options_fini(&s.options);
        return rc;
    }
    if (resume_fd < 0)
        prepare_greeting(&s, argv != real);
    rc = resumed ? resume(&s, &from) : trial ? try_resume(&s, resume_fd) : prepare(&s);
    if (rc == 0)
        rc = serve_run(&s, argv[0], real, &from);
    serve_fini(&s);
    return rc;
}
