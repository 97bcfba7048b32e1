/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/register.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/place.h"
#include "gateway/redis.h"
#include "transport/conn.h"
#include "transport/query.h"

#define TTL_MS 15000
#define TTL_MIN_MS 300
#define LEAVE_MS 500 /* for the last words */

struct registrar {
    struct redis_url url;
    char id[PLACE_ID_BYTES + 1], address[64], ports[256];
    int64_t ttl_ms, port;
    bool share_token;
    struct buf value; /* JSON */
    char token[520];
    struct loop *loop;
    struct http_server *server;
    struct redis *redis;
    struct timer *timer;
    int signal_fd;
    bool told, leaving;
};

/* --- what to tell ------------------------------------------------------------------- */

static int bad(struct hf_error *err, const char *what)
{
    return hf_fail(err, HF_E_bad_value, "--register: %s.", what);
}

static int take_pair(struct registrar *r, const char *name, const char *value, struct hf_error *err)
{
    struct address a;

    if (strcmp(name, "id") == 0) {
        if (!place_id_is_valid(value, strlen(value)))
            return bad(err, "id has letters, digits, '-', '_' and '.', at most 63");
        snprintf(r->id, sizeof r->id, "%s", value);
    } else if (strcmp(name, "address") == 0) {
        if (!address_parse(value, 0, &a))
            return bad(err, "address is an IP address");
        snprintf(r->address, sizeof r->address, "%s", value);
    } else if (strcmp(name, "ports") == 0) {
        if (value[strspn(value, "0123456789,")] != '\0')
            return bad(err, "ports are numbers with commas between them");
        snprintf(r->ports, sizeof r->ports, "%s", value);
    } else if (strcmp(name, "ttl_ms") == 0) {
        if (!text_to_i64(value, TTL_MIN_MS, 3600000, &r->ttl_ms))
            return bad(err, "ttl_ms is 300 to 3600000");
    } else if (strcmp(name, "share_token") == 0) {
        r->share_token = strcmp(value, "1") == 0;
    } else if (strcmp(name, "ca_file") != 0) { /* which redis_parse_url() has taken */
        return bad(err, "only id, address, ports, ttl_ms, share_token and ca_file are known");
    }
    return 0;
}

static void default_id(struct registrar *r)
{
    const char *set = getenv("HOLDFAST_SANDBOX_ID");

    if (set != NULL && place_id_is_valid(set, strlen(set)))
        snprintf(r->id, sizeof r->id, "%s", set);
    else if (gethostname(r->id, sizeof r->id - 1) < 0 || !place_id_is_valid(r->id, strlen(r->id)))
        snprintf(r->id, sizeof r->id, "sandbox");
}

static int parse(struct registrar *r, const char *url, struct hf_error *err)
{
    char *save = NULL, *pair;
    int rc = redis_parse_url(url, &r->url, err);

    r->ttl_ms = TTL_MS;
    default_id(r);
    for (pair = strtok_r(r->url.query, "&", &save); rc == 0 && pair != NULL;
         pair = strtok_r(NULL, "&", &save)) {
        char *eq = strchr(pair, '=');

        if (eq == NULL)
            return bad(err, "parameters are NAME=VALUE");
        *eq = '\0';
        rc = take_pair(r, pair, eq + 1, err);
    }
    return rc;
}

/* The child that registers could only log it. */
static int check_trust(const struct redis_url *url, struct hf_error *err)
{
    struct tls_context *trust;

    if (!url->tls)
        return 0;
    trust = tls_client_context_new(url->ca_file[0] != '\0' ? url->ca_file : NULL, err);
    tls_context_free(trust);
    return trust != NULL ? 0 : -EINVAL;
}

/* The first TCP listener: its port, and its address unless that is every one. */
static int from_listeners(struct registrar *r, const struct serve *s, struct hf_error *err)
{
    for (size_t i = 0; i < s->listener_count; i++) {
        const char *url = s->listeners[i].url, *colon = strrchr(url, ':');

        if (s->listeners[i].kind != LISTEN_TCP || strncmp(url, "http://", 7) != 0)
            continue;
        r->port = strtol(colon + 1, NULL, 10);
        if (r->address[0] == '\0' && strncmp(url + 7, "0.0.0.0:", 8) != 0 &&
            strncmp(url + 7, "[::]:", 5) != 0)
            snprintf(r->address, sizeof r->address, "%.*s", (int)(colon - url - 7), url + 7);
        return 0;
    }
    return bad(err, "the daemon listens at no TCP port");
}

/* The address by which Redis sees us is one by which others can too. */
static void address_from_socket(struct registrar *r, int fd)
{
    struct address a = {.len = sizeof(struct sockaddr_in6)};
    char text[64];

    if (r->address[0] != '\0' || getsockname(fd, &a.any, &a.len) < 0)
        return;
    address_text(&a, text, sizeof text);
    *strrchr(text, ':') = '\0';
    snprintf(r->address, sizeof r->address, "%s", text);
}

static void put_ports(struct registrar *r, struct json_out *o)
{
    char *save = NULL, *word, list[sizeof r->ports];
    uint64_t port;

    json_key(o, "ports");
    json_open(o, '[');
    json_int(o, r->port);
    snprintf(list, sizeof list, "%s", r->ports);
    for (word = strtok_r(list, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
        if (text_to_u64(word, UINT16_MAX, &port) && port > 0 && (int64_t)port != r->port)
            json_u64(o, port);
    }
    json_shut(o, ']');
}

static void make_value(struct registrar *r)
{
    struct json_out o;

    buf_clear(&r->value);
    json_out_init(&o, &r->value);
    json_open(&o, '{');
    json_kstr(&o, "address", r->address);
    put_ports(r, &o);
    if (r->token[0] != '\0')
        json_kstr(&o, "token", r->token);
    json_shut(&o, '}');
    buf_cstr(&r->value);
}

/* --- telling it ----------------------------------------------------------------------- */

static void publish(struct registrar *r)
{
    redis_command(r->redis, 3, (const char *const[]){"PUBLISH", REDIS_CHANNEL, r->id});
}

static void tell(struct registrar *r)
{
    char key[sizeof REDIS_PREFIX + PLACE_ID_BYTES + 1], ttl[24];

    snprintf(key, sizeof key, REDIS_PREFIX "%s", r->id);
    snprintf(ttl, sizeof ttl, "%lld", (long long)r->ttl_ms);
    redis_command(r->redis, 5, (const char *const[]){"SET", key, buf_data(&r->value), "PX", ttl});
    if (!r->told)
        publish(r);
    r->told = true;
    timer_start(r->timer, (uint64_t)r->ttl_ms / 3);
}

static void on_up(void *arg)
{
    struct registrar *r = arg;

    r->told = false;
    address_from_socket(r, redis_fd(r->redis));
    make_value(r);
    tell(r);
}

static void on_down(void *arg)
{
    timer_stop(((struct registrar *)arg)->timer);
}

static void on_reply(void *arg, const struct redis_reply *reply)
{
    struct registrar *r = arg;

    if (reply->type == REDIS_FAILURE)
        log_warn("redis: %.100s", reply->text);
    if (r->leaving && reply->type == REDIS_NUMBER)
        loop_stop(r->loop);
}

static const struct redis_ops ops = {on_up, on_down, on_reply};

static void on_timer(struct timer *t, void *arg)
{
    struct registrar *r = arg;

    (void)t;
    if (r->leaving)
        loop_stop(r->loop);
    else
        tell(r);
}

static void on_signal(struct watch *w, int events, void *arg)
{
    struct registrar *r = arg;
    char key[sizeof REDIS_PREFIX + PLACE_ID_BYTES + 1];

    (void)w, (void)events;
    watch_set(w, 0);
    r->leaving = true;
    snprintf(key, sizeof key, REDIS_PREFIX "%s", r->id);
    redis_command(r->redis, 2, (const char *const[]){"DEL", key});
    publish(r);
    timer_start(r->timer, redis_is_up(r->redis) ? LEAVE_MS : 0);
}

static int watch_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    sigdelset(&set, SIGHUP);
    return signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
}

static void registrar_main(struct registrar *r)
{
    struct http_options o;
    struct hf_error err = {0};
    struct watch *w;

    log_set_part("register");
    mallopt(M_ARENA_MAX, 1);
    r->loop = loop_new();
    http_options_default(&o);
    o.connect_ms = GATEWAY_CONNECT_MS;
    r->server = http_server_new(r->loop, &o);
    r->timer = timer_new(r->loop, on_timer, r);
    r->redis = redis_new(r->server, &r->url, &ops, r, &err);
    if (r->redis == NULL) {
        log_error("--register: %s", err.detail);
        return;
    }
    w = watch_new(r->loop, r->signal_fd, on_signal, r);
    watch_set(w, LOOP_READ);
    loop_run(r->loop);
    watch_close(w);
    redis_free(r->redis);
    http_server_free(r->server);
    timer_close(r->timer);
    loop_free(r->loop);
    buf_wipe(&r->value);
    hf_wipe(r->token, sizeof r->token);
}

/* The first token of the role `own`: lines are "TOKEN" or "ROLE TOKEN". */
static void take_token(struct registrar *r, const struct buf *tokens)
{
    hf_autofree char *text = hf_xstrndup(tokens->len > 0 ? buf_data(tokens) : "", tokens->len);
    char *save = NULL, *line;

    for (line = strtok_r(text, "\n", &save); line != NULL && r->share_token;
         line = strtok_r(NULL, "\n", &save)) {
        const char *token = strncmp(line, "own ", 4) == 0 ? line + 4 : line;

        if (line[0] == '#' || line[0] == '\0' || strchr(token, ' ') != NULL)
            continue;
        snprintf(r->token, sizeof r->token, "%s", token);
        break;
    }
    hf_wipe(text, tokens->len);
}

int register_start(const struct serve *s, struct hf_error *err)
{
    struct registrar r = {.signal_fd = -1};
    pid_t keeper = getpid(), pid;
    int rc = parse(&r, s->options.register_url, err);

    if (rc == 0)
        rc = check_trust(&r.url, err);
    if (rc == 0)
        rc = from_listeners(&r, s, err);
    if (rc < 0)
        return rc;
    take_token(&r, &s->credentials.tokens);
    pid = fork();
    if (pid < 0)
        return hf_fail(err, HF_E_no_memory, "--register: fork: %s.", strerror(errno));
    if (pid > 0) {
        hf_wipe(r.token, sizeof r.token);
        return 0;
    }
    close_range(3, ~0U, 0);
    r.signal_fd = watch_signals();
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (getppid() == keeper)
        registrar_main(&r);
    _exit(0);
}
