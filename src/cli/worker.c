/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker: engine, dialects and transport on one loop. It is forked by the
 * keeper and lives until it is told to stop or retire, or dies.
 */
#include <malloc.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/program.h"
#include "cli/confine.h"
#include "cli/dialects.h"
#include "cli/serve.h"
#include "dialects/mcp/mcp.h"
#include "dialects/native/native.h"
#include "engine/engine.h"
#include "engine/shell.h"
#include "keeper/keeper.h"
#include "transport/auth.h"
#include "transport/origin.h"
#include "transport/tls.h"

#define STOP_DRAIN_MS 1000  /* for last answers after the processes have ended */
#define RETIRE_DRAIN_MS 100 /* for close frames; the next worker is waiting */

struct worker {
    struct serve *serve;
    struct loop *loop;
    struct engine *engine;
    struct http_server *server;
    struct http_options http;
    struct native *native;
    struct native_info info;
    char urls[SERVE_LISTEN_MAX][sizeof((struct listen_socket *)NULL)->url + 1];
    const char *main_urls[SERVE_LISTEN_MAX]; /* those of them that serve everything */
    size_t main_count;
    struct dialect_host host;
    struct dialects *dialects;
    bool wanted[DIALECTS_MAX];
    const char *names[DIALECTS_MAX + 2];
    struct mcp *mcp;
    struct auth *auth;
    struct origin *origin;
    struct tls_context *tls;
};

/* --- the end ------------------------------------------------------------------- */

static void worker_on_drained(void *arg)
{
    struct worker *w = arg;

    loop_stop(w->loop);
}

static void worker_on_ended(void *arg)
{
    struct worker *w = arg;

    native_drain(w->native);
    dialects_drain(w->dialects);
    mcp_drain(w->mcp);
    http_server_drain(w->server, STOP_DRAIN_MS, worker_on_drained, w);
}

static void worker_on_stop(void *arg, uint32_t grace_ms)
{
    struct worker *w = arg;

    log_info("stopping");
    native_refuse_new(w->native);
    mcp_refuse_new(w->mcp);
    engine_end_all(w->engine, grace_ms, worker_on_ended, w);
}

static void worker_on_retire(void *arg)
{
    struct worker *w = arg;

    native_drain(w->native);
    dialects_drain(w->dialects);
    mcp_drain(w->mcp);
    http_server_drain(w->server, RETIRE_DRAIN_MS, worker_on_drained, w);
}

/* --- the beginning ---------------------------------------------------------------- */

static int worker_make_auth(struct worker *w)
{
    const struct serve *s = w->serve;
    struct hf_error err = {0};
    size_t i;

    w->auth = auth_new();
    auth_set_uid(w->auth, getuid());
    if (s->options.no_auth)
        auth_allow_all(w->auth);
    else if (auth_add_tokens(w->auth, buf_data(&s->tokens), s->tokens.len, &err) < 0) {
        log_error("%s", err.detail);
        return -1;
    }
    w->origin = origin_new();
    for (i = 0; i < s->options.allow_host.count; i++)
        origin_allow_host(w->origin, s->options.allow_host.items[i]);
    for (i = 0; i < s->options.cors_origin.count; i++)
        if (origin_allow_origin(w->origin, s->options.cors_origin.items[i]) < 0) {
            log_error("--cors-origin %s is not an origin; write it like https://example.org:8080",
                      s->options.cors_origin.items[i]);
            return -1;
        }
    return 0;
}

static int worker_make_tls(struct worker *w)
{
    const struct serve_options *o = &w->serve->options;
    struct hf_error err = {0};

    if (o->tls_cert == NULL)
        return 0;
    w->tls = tls_context_new(o->tls_cert, o->tls_key, &err);
    if (w->tls == NULL) {
        log_error("%s", err.detail);
        return -1;
    }
    tls_context_offer_h2(w->tls);
    return 0;
}

static int worker_make_engine(struct worker *w, const struct keeper_boot *boot)
{
    struct engine_options o;
    struct engine_hooks hooks = {
        .on_stop = worker_on_stop, .on_retire = worker_on_retire, .arg = w};

    serve_options_engine(&w->serve->options, &o);
    w->engine = engine_new(w->loop, boot, &o);
    if (w->engine == NULL)
        return -1;
    engine_set_hooks(w->engine, &hooks);
    return 0;
}

/* With --no-dialects only those that have a listener. */
static void worker_choose_dialects(struct worker *w)
{
    const struct serve *s = w->serve;

    for (size_t i = 0; dialects_all[i] != NULL; i++)
        w->wanted[i] = !s->options.no_dialects;
    for (size_t i = 0; i < s->listener_count; i++)
        if (s->dialect[i] >= 0)
            w->wanted[s->dialect[i]] = true;
}

static size_t worker_name_dialects(struct worker *w)
{
    size_t n = 0;

    w->names[n++] = "native";
    w->names[n++] = "mcp";
    for (size_t i = 0; dialects_all[i] != NULL; i++)
        if (w->wanted[i])
            w->names[n++] = dialects_all[i]->name;
    return n;
}

static void worker_make_mcp(struct worker *w)
{
    const struct mcp_options o = {
        .version = HF_VERSION,
        .origin = w->origin,
        .session_ms = w->serve->options.mcp_session_ms,
    };

    w->mcp = mcp_new(w->engine, &o);
    http_server_mount(w->server, mcp_routes(w->mcp));
}

/* As a client writes them: a TCP socket with a certificate speaks https. */
static void worker_name_listeners(struct worker *w)
{
    for (size_t i = 0; i < w->serve->listener_count; i++) {
        const char *url = w->serve->listeners[i].url;
        bool tls = w->tls != NULL && strncmp(url, "http://", 7) == 0;

        snprintf(w->urls[i], sizeof w->urls[i], "%s%s", tls ? "https://" : "", tls ? url + 7 : url);
        if (w->serve->dialect[i] < 0)
            w->main_urls[w->main_count++] = w->urls[i];
    }
}

static void worker_make_server(struct worker *w)
{
    const struct serve *s = w->serve;
    size_t i;

    worker_name_listeners(w);
    serve_options_http(&s->options, &w->http);
    w->http.auth = w->auth;
    w->http.origin = w->origin;
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
        .compress = s->options.compress,
        .secure_cookie = w->tls != NULL,
        .http = &w->http,
        .server = w->server,
    };
    w->native = native_new(w->engine, w->auth, &w->info);
    http_server_mount(w->server, native_routes(w->native));
    w->host = (struct dialect_host){
        .engine = w->engine,
        .loop = w->loop,
        .version = HF_VERSION,
        .auth = w->auth,
        .tokens = &s->tokens,
        .own_uid = geteuid(), /* still the keeper's: confine() comes later */
    };
    w->dialects = dialects_new(&w->host, w->server, w->wanted);
    worker_make_mcp(w);
    for (i = 0; i < s->listener_count; i++)
        http_server_listen(w->server, s->listeners[i].fd, s->listeners[i].kind,
                           s->dialect[i] < 0 ? NULL : dialects_routes(w->dialects, s->dialect[i]),
                           s->listeners[i].kind == LISTEN_TCP ? w->tls : NULL);
}

static const char *announced_as(int which)
{
    const struct dialect *d = which < 0 ? NULL : dialects_all[which];

    return d == NULL ? "" : d->announce != NULL ? d->announce : d->name;
}

/* Told once in the daemon's life, on standard output, for whoever started it. */
static void worker_announce(const struct worker *w, const struct keeper_boot *boot)
{
    char line[256];
    size_t i;

    if (boot->generation != 1 || w->serve->resumed)
        return;
    for (i = 0; i < w->serve->listener_count; i++) {
        int which = w->serve->dialect[i];
        int n = snprintf(line, sizeof line, "%s%slistening on %s\n", announced_as(which),
                         which < 0 ? "" : " ", w->urls[i]);
        io_write_all(STDOUT_FILENO, line, (size_t)n);
    }
    if (w->serve->greeting != NULL)
        greeting_print(w->serve->greeting, w->auth, w->main_urls, w->main_count);
}

static void worker_fini(struct worker *w)
{
    if (w->server != NULL)
        http_server_free(w->server);
    dialects_free(w->dialects);
    if (w->native != NULL)
        native_free(w->native);
    mcp_free(w->mcp);
    engine_free(w->engine);
    auth_free(w->auth);
    origin_free(w->origin);
    tls_context_free(w->tls);
    loop_free(w->loop);
}

/* A forked child ends by _exit(2), which the sanitizer does not see. */
static void worker_check_leaks(void)
{
#ifdef __SANITIZE_ADDRESS__
    __lsan_do_leak_check();
#endif
}

int worker_check(struct serve *s)
{
    struct worker w = {.serve = s};
    int rc = worker_make_auth(&w);

    if (rc == 0)
        rc = worker_make_tls(&w);
    auth_free(w.auth);
    origin_free(w.origin);
    tls_context_free(w.tls);
    return rc == 0 ? 0 : 1;
}

int worker_main(const struct keeper_boot *boot, void *arg)
{
    struct worker w = {.serve = arg};
    int rc;

    log_set_part("worker");
    /* One thread, many small objects: one arena, and memory goes back early. */
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, 256 * 1024);
    w.loop = loop_new();
    rc = worker_make_auth(&w);
    if (rc == 0)
        rc = worker_make_tls(&w);
    if (rc == 0)
        rc = worker_make_engine(&w, boot);
    if (rc == 0) {
        worker_make_server(&w);
        if (geteuid() == 0 && w.serve->worker_uid != 0)
            shell_files_prepare();
        rc = confine(w.serve->worker_uid, w.serve->worker_gid);
        /* The change of ids made the kernel forget that we go with the keeper. */
        if (rc == 0)
            rc = keeper_guard_worker(boot->keeper_pid);
    }
    if (rc == 0) {
        engine_ready(w.engine);
        worker_announce(&w, boot);
        program_give_back();
        loop_run(w.loop);
    }
    worker_fini(&w);
    worker_check_leaks();
    return rc == 0 ? 0 : 1;
}
