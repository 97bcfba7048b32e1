/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_worker.c - the worker: engine, dialects and transport on one loop
 *
 * The keeper forks it. It runs until it is stopped or replaced, or dies. Layer: cli.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/program.h"
#include "cli/confine.h"
#include "cli/dialects.h"
#include "cli/serve.h"
#include "dialects/native/native.h"
#include "engine/engine.h"
#include "engine/spawn/shell_integration.h"
#include "keeper/keeper.h"
#include "transport/auth.h"
#include "transport/origin.h"
#include "transport/tls.h"

#define STOP_DRAIN_MS 1000  /* for the last replies after the processes have ended */
#define RETIRE_DRAIN_MS 100 /* for close frames; the next worker is waiting */

struct serve_worker {
    struct serve *serve;
    struct loop *loop;
    struct engine *engine;
    struct http_server *server;
    struct http_options http;
    struct native *native;
    struct native_info info;
    char urls[SERVE_LISTEN_MAX][sizeof((struct listen_socket *)NULL)->url + 1];
    const char *main_urls[SERVE_LISTEN_MAX]; /* those that serve everything */
    size_t main_count;
    struct dialect_host host;
    struct dialects *dialects;
    bool wanted[DIALECTS_MAX];
    const char *names[DIALECTS_MAX + 1];
    struct auth *auth;
    struct origin *origin;
    struct tls_context *tls;
    bool waits_for_tls
        [SERVE_LISTEN_MAX]; /* the listener is not served until there is a certificate */
    struct credentials credentials;
    struct native_credentials public; /* what clients may know of them */
    struct timer *retired;            /* until the next retired token expires */
    struct confinement confinement;
};

/* --- the end ------------------------------------------------------------------- */

static void worker_on_drained(void *arg)
{
    struct serve_worker *w = arg;

    loop_stop(w->loop);
}

static void worker_drain(struct serve_worker *w, uint32_t most_ms)
{
    native_drain(w->native);
    dialects_drain(w->dialects);
    http_server_drain(w->server, most_ms, worker_on_drained, w);
}

static void worker_on_ended(void *arg)
{
    worker_drain(arg, STOP_DRAIN_MS);
}

static void worker_on_stop(void *arg, uint32_t grace_ms)
{
    struct serve_worker *w = arg;

    log_info("stopping");
    native_refuse_new(w->native);
    dialects_refuse_new(w->dialects);
    engine_terminate_all(w->engine, grace_ms, worker_on_ended, w);
}

static void worker_on_retire(void *arg)
{
    worker_drain(arg, RETIRE_DRAIN_MS);
}

/* --- the beginning ---------------------------------------------------------------- */

/* Clients see only these fields, which point into our copy. */
static void worker_note_credentials(struct serve_worker *w)
{
    const struct serve *s = w->serve;

    w->public = (struct native_credentials){
        .needs_token = !s->options.no_auth,
        .token_file = w->credentials.token_file,
        .token_error = w->credentials.token_error,
        .tls = s->options.tls_cert != NULL || s->had_tls,
        .tls_error = w->credentials.tls_error,
    };
}

/* With invalid tokens nobody has access, except root over a unix socket. */
static void worker_make_auth(struct serve_worker *w)
{
    const struct serve *s = w->serve;
    struct hf_error err = {0};
    int rc = credentials_open(&w->credentials, s->credentials_fd);

    if (rc < 0)
        log_error("cannot read the credentials: %s", strerror(-rc));
    w->auth = auth_new();
    auth_set_uid(w->auth, getuid());
    if (s->options.no_auth)
        auth_allow_all(w->auth);
    else if (credentials_auth(&w->credentials, w->auth, &err) < 0)
        log_error("%s", err.detail);
    worker_note_credentials(w);
}

static int make_origin(const struct serve *s, struct origin *out)
{
    for (size_t i = 0; i < s->options.allow_host.count; i++)
        origin_allow_host(out, s->options.allow_host.items[i]);
    return opt_allow_origins(&s->options.cors_origin, out);
}

/* Without a valid certificate, sockets that need none are still served. */
static void worker_make_tls(struct serve_worker *w)
{
    struct credentials *c = &w->credentials;
    struct hf_error err = {0};

    if (!w->public.tls)
        return;
    if (w->tls != NULL) {
        if (tls_context_set_pem(w->tls, &c->cert, &c->key, &err) < 0)
            log_error("%s", err.detail);
    } else {
        w->tls = tls_context_from_pem(&c->cert, &c->key, &err);
        if (w->tls == NULL)
            log_error("%s TCP sockets are not served until there is a certificate.", err.detail);
        else
            tls_context_offer_h2(w->tls);
    }
    buf_wipe(&c->cert);
    buf_wipe(&c->key);
}

static void worker_on_token_end(void *arg, uint32_t token)
{
    struct serve_worker *w = arg;

    http_server_cut_token(w->server, token);
}

static void worker_on_retired(struct timer *t, void *arg)
{
    struct serve_worker *w = arg;
    int64_t next = auth_end_retired(w->auth, worker_on_token_end, w), now = clock_wall_ms();

    if (next > 0)
        timer_start(t, next > now ? (uint64_t)(next - now) : 0);
}

static void worker_listen(struct serve_worker *w, size_t i)
{
    const struct serve *s = w->serve;
    bool tcp = s->listeners[i].kind == LISTEN_TCP;

    w->waits_for_tls[i] = tcp && w->public.tls && w->tls == NULL;
    if (!w->waits_for_tls[i])
        http_server_listen(w->server, s->listeners[i].fd, s->listeners[i].kind,
                           s->dialect[i] < 0 ? NULL : dialects_routes(w->dialects, s->dialect[i]),
                           tcp ? w->tls : NULL);
}

/* --- new credentials --------------------------------------------------------------- */

struct ended {
    uint32_t tokens[2 * AUTH_TOKENS_MAX];
    size_t count;
};

static void note_end(void *arg, uint32_t token)
{
    struct ended *e = arg;

    e->tokens[e->count++] = token;
}

static bool worker_take_tokens(struct serve_worker *w, struct ended *ended)
{
    struct auth *fresh = auth_new();
    struct hf_error err = {0};
    bool changed = false;

    if (!w->serve->options.no_auth && credentials_auth(&w->credentials, fresh, &err) < 0)
        log_error("keeping the previous tokens: %s", err.detail);
    else if (!w->serve->options.no_auth)
        changed = auth_replace_tokens(w->auth, fresh, note_end, ended);
    auth_free(fresh);
    return changed;
}

static void worker_take_tls(struct serve_worker *w)
{
    worker_make_tls(w);
    for (size_t i = 0; w->tls != NULL && i < w->serve->listener_count; i++)
        if (w->waits_for_tls[i])
            worker_listen(w, i);
}

/* The client that requested the reload gets its reply before its old token is cut off. */
static void worker_on_credentials(void *arg, uint32_t req, int error, int fd)
{
    struct serve_worker *w = arg;
    struct ended ended = {.count = 0};
    bool changed = false;

    if (error == 0 && (error = -credentials_open(&w->credentials, fd)) == 0) {
        changed = worker_take_tokens(w, &ended);
        worker_take_tls(w);
        worker_note_credentials(w);
        worker_on_retired(w->retired, w);
    }
    native_on_reloaded(w->native, req, error, changed);
    if (changed)
        log_info("the tokens have changed; %zu revoked", ended.count);
    for (size_t i = 0; i < ended.count; i++)
        http_server_cut_token(w->server, ended.tokens[i]);
}

static int worker_make_engine(struct serve_worker *w, const struct keeper_boot *boot)
{
    struct engine_hooks hooks = {
        .on_stop = worker_on_stop,
        .on_retire = worker_on_retire,
        .on_credentials = worker_on_credentials,
        .arg = w,
    };

    w->engine = engine_new(w->loop, boot, &w->serve->options.engine);
    if (w->engine == NULL)
        return -1;
    engine_set_hooks(w->engine, &hooks);
    return 0;
}

/* With --no-dialects only those that have a listener, and those that cannot have one. */
static void worker_choose_dialects(struct serve_worker *w)
{
    const struct serve *s = w->serve;

    for (size_t i = 0; dialects_all[i] != NULL; i++)
        w->wanted[i] = !s->options.no_dialects || dialects_all[i]->port == 0;
    for (size_t i = 0; i < s->listener_count; i++)
        if (s->dialect[i] >= 0)
            w->wanted[s->dialect[i]] = true;
}

static size_t worker_name_dialects(struct serve_worker *w)
{
    size_t n = 0;

    w->names[n++] = "native";
    for (size_t i = 0; dialects_all[i] != NULL; i++)
        if (w->wanted[i])
            w->names[n++] = dialects_all[i]->name;
    return n;
}

/* As a client writes them: https for a TCP socket with a certificate. */
static void worker_name_listeners(struct serve_worker *w)
{
    for (size_t i = 0; i < w->serve->listener_count; i++) {
        const char *url = w->serve->listeners[i].url;
        bool tls = w->public.tls && strncmp(url, "http://", 7) == 0;

        snprintf(w->urls[i], sizeof w->urls[i], "%s%s", tls ? "https://" : "", tls ? url + 7 : url);
        if (w->serve->dialect[i] < 0)
            w->main_urls[w->main_count++] = w->urls[i];
    }
}

static void worker_make_server(struct serve_worker *w)
{
    const struct serve *s = w->serve;
    size_t i;

    worker_name_listeners(w);
    w->http = s->options.http;
    w->http.auth = w->auth;
    w->http.origin = w->origin;
    http_options_fit(&w->http);
    worker_choose_dialects(w);
    w->server = http_server_new(w->loop, &w->http);
    w->info = (struct native_info){
        .version = HF_VERSION,
        .started_ms = clock_wall_ms(),
        .dialects = w->names,
        .dialect_count = worker_name_dialects(w),
        .listeners = w->main_urls,
        .listener_count = w->main_count,
        .tls = tls_is_built_in(),
        .compress = s->options.http.compress,
        .secure_cookie = w->public.tls,
        .seccomp = &w->confinement.seccomp,
        .landlock = &w->confinement.landlock,
        .user = &w->confinement.user,
        .http = &w->http,
        .server = w->server,
        .credentials = &w->public,
    };
    w->native = native_new(w->engine, w->auth, &w->info);
    http_server_mount(w->server, native_routes(w->native));
    w->host = (struct dialect_host){
        .engine = w->engine,
        .loop = w->loop,
        .server = w->server,
        .version = HF_VERSION,
        .auth = w->auth,
        .tokens = &w->credentials.tokens,
        .own_uid = s->spawn_uid,
        .any_user = s->options.engine.spawn_user == NULL && s->options.allow_users == NULL,
        .origin = w->origin,
        .mcp_session_ms = s->options.mcp_session_ms,
        .e2b_user = s->options.e2b_user,
    };
    w->dialects = dialects_new(&w->host, w->server, w->wanted);
    for (i = 0; i < s->listener_count; i++)
        worker_listen(w, i);
    w->retired = timer_new(w->loop, worker_on_retired, w);
    worker_on_retired(w->retired, w);
}

static const char *announced_as(int which)
{
    const struct dialect *d = which < 0 ? NULL : dialects_all[which];

    return d == NULL ? "" : d->announce != NULL ? d->announce : d->name;
}

/* Printed once on standard output, for the launcher that waits for the daemon, by the first worker
 * that lives long enough. */
static void worker_announce(const struct serve_worker *w, const struct keeper_boot *boot)
{
    char line[256];
    size_t i;

    bool picked_up = w->serve->announce && boot->is_first;

    if (engine_is_announced(w->engine) && !picked_up)
        return;
    for (i = 0; i < w->serve->listener_count; i++) {
        int which = w->serve->dialect[i];
        int n = snprintf(line, sizeof line, "%s%slistening on %s\n", announced_as(which),
                         which < 0 ? "" : " ", w->urls[i]);
        io_write_all(STDOUT_FILENO, line, (size_t)n);
    }
    if (w->serve->greeting != NULL)
        greeting_print(w->serve->greeting, w->auth, w->main_urls, w->main_count);
    engine_set_announced(w->engine);
}

static void worker_fini(struct serve_worker *w)
{
    if (w->server != NULL)
        http_server_free(w->server);
    dialects_free(w->dialects);
    if (w->native != NULL)
        native_free(w->native);
    engine_free(w->engine);
    auth_free(w->auth);
    origin_free(w->origin);
    tls_context_free(w->tls);
    timer_close(w->retired);
    credentials_fini(&w->credentials);
    loop_free(w->loop);
}

/* --- confinement -------------------------------------------------------------------- */

#define WRITE_DIRS_MAX 6

/* Long histories, and the places where engine/spawn/shell_integration.c looks for room. */
static void worker_name_dirs(const struct serve *s, const char *dirs[WRITE_DIRS_MAX])
{
    const char *const all[] = {s->options.engine.history_dir, getenv("TMPDIR"), "/tmp", "/dev/shm",
                               "/run"};
    size_t n = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != NULL)
            dirs[n++] = all[i];
    dirs[n] = NULL;
}

static struct confine_plan worker_confine_plan(const struct serve *s,
                                               const char *dirs[WRITE_DIRS_MAX])
{
    worker_name_dirs(s, dirs);
    return (struct confine_plan){
        .role = CONFINE_WORKER,
        .off = s->options.confine_off,
        .uid = s->worker_uid,
        .gid = s->worker_gid,
        .write_dirs = dirs,
    };
}

static int worker_confine(struct serve_worker *w, const struct keeper_boot *boot)
{
    const char *dirs[WRITE_DIRS_MAX];
    struct confine_plan plan = worker_confine_plan(w->serve, dirs);
    int rc = confine_user(&plan, &w->confinement);

    /* The change of ids cleared PR_SET_PDEATHSIG: set it again. */
    if (rc == 0)
        rc = keeper_guard_worker(boot->keeper_pid);
    if (rc == 0)
        rc = confine_calls(&plan, &w->confinement);
    if (rc == 0 && boot->generation == 1)
        confine_report(&plan, &w->confinement);
    return rc;
}

int worker_check(const struct serve *s)
{
    const char *dirs[WRITE_DIRS_MAX];
    struct confine_plan plan = worker_confine_plan(s, dirs);
    struct origin *o = origin_new();
    int rc = make_origin(s, o);

    if (rc == 0 && !s->resumed)
        rc = confine_check(&plan);
    origin_free(o);
    return rc == 0 ? 0 : 1;
}

int worker_main(const struct keeper_boot *boot, void *arg)
{
    struct serve_worker w = {.serve = arg};
    int rc;

    log_set_part("worker");
    program_tune_heap();
    w.loop = loop_new();
    worker_make_auth(&w);
    worker_make_tls(&w);
    w.origin = origin_new();
    (void)make_origin(w.serve, w.origin); /* the command has checked it */
    rc = worker_make_engine(&w, boot);
    if (rc == 0) {
        worker_make_server(&w);
        if (geteuid() == 0 && w.serve->worker_uid != 0)
            shell_files_prepare();
        rc = worker_confine(&w, boot);
    }
    if (rc == 0) {
        engine_ready(w.engine);
        worker_announce(&w, boot);
        program_release_pages();
        loop_run(w.loop);
    }
    worker_fini(&w);
    program_check_leaks();
    return rc == 0 ? 0 : 1;
}
