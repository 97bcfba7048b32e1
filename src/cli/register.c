/* SPDX-License-Identifier: Apache-2.0 */
/*
 * register.c - the process that keeps this daemon registered in Redis. Layer: cli.
 */
#include "cli/register.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/program.h"
#include "base/signals.h"
#include "base/text.h"
#include "cli/confine.h"
#include "cli/token_file.h"
#include "gateway/redis.h"
#include "gateway/registration.h"
#include "gateway/route_target.h"
#include "transport/conn.h"
#include "transport/url_query.h"

#define TTL_MS 15000
#define TTL_MIN_MS 300
#define LEAVE_MS 500 /* to remove the entry before we exit */
#define KEY_ENV "HOLDFAST_REGISTER_KEY"
#define KEY_FILE_BYTES 256 /* of the file, and of its name */

struct registrar {
    struct redis_url url;
    char id[PLACE_ID_BYTES + 1], address[64], ports[256], key_file[KEY_FILE_BYTES];
    int64_t ttl_ms, port;
    uint8_t key[REGISTRATION_KEY_BYTES];
    bool share_token, has_key, is_unsigned;
    struct buf value; /* the entry in Redis */
    struct loop *loop;
    struct http_server *server;
    struct redis *redis;
    struct timer *timer;
    int signal_fd, keeper_fd; /* keeper_fd: a pidfd; -1: not supported */
    bool published, leaving;
    struct confine_plan confine;
};

/* --- the URL ------------------------------------------------------------------------ */

static int bad(struct hf_error *err, const char *what)
{
    return hf_fail(err, HF_E_bad_value, "--register: %s.", what);
}

static int take_flag(struct registrar *r, const char *name, const char *value, struct hf_error *err)
{
    if (strcmp(name, "share_token") == 0)
        r->share_token = strcmp(value, "1") == 0;
    else if (strcmp(name, "unsigned") == 0)
        r->is_unsigned = strcmp(value, "1") == 0;
    else if (strcmp(name, "ca_file") != 0 && strcmp(name, "password_file") != 0)
        return bad(err, "known parameters are id, address, ports, ttl_ms, key_file, unsigned, "
                        "share_token, password_file and ca_file");
    return 0; /* redis_parse_url() handled those two */
}

static int take_pair(struct registrar *r, const char *name, const char *value, struct hf_error *err)
{
    struct address a;

    if (strcmp(name, "id") == 0) {
        if (!route_target_id_is_valid(value, strlen(value)))
            return bad(err, "id must be at most 63 letters, digits, '-', '_' and '.'");
        snprintf(r->id, sizeof r->id, "%s", value);
    } else if (strcmp(name, "address") == 0) {
        if (!endpoint_address_parse(value, 0, &a))
            return bad(err, "address must be an IP address");
        snprintf(r->address, sizeof r->address, "%s", value);
    } else if (strcmp(name, "ports") == 0) {
        if (value[strspn(value, "0123456789,")] != '\0')
            return bad(err, "ports must be numbers separated by commas");
        snprintf(r->ports, sizeof r->ports, "%s", value);
    } else if (strcmp(name, "ttl_ms") == 0) {
        if (!text_to_i64(value, TTL_MIN_MS, REGISTRATION_TTL_MAX_MS, &r->ttl_ms))
            return bad(err, "ttl_ms must be from 300 to 3600000");
    } else if (strcmp(name, "key_file") == 0) {
        if (strlen(value) >= sizeof r->key_file)
            return bad(err, "the name of key_file is too long");
        snprintf(r->key_file, sizeof r->key_file, "%s", value);
    } else {
        return take_flag(r, name, value, err);
    }
    return 0;
}

static void default_id(struct registrar *r)
{
    const char *set = getenv("HOLDFAST_SANDBOX_ID");

    if (set != NULL && route_target_id_is_valid(set, strlen(set)))
        snprintf(r->id, sizeof r->id, "%s", set);
    else if (gethostname(r->id, sizeof r->id - 1) < 0 ||
             !route_target_id_is_valid(r->id, strlen(r->id)))
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
            return bad(err, "parameters must be NAME=VALUE");
        *eq = '\0';
        rc = take_pair(r, pair, eq + 1, err);
    }
    return rc;
}

/* --- secrets -------------------------------------------------------------------------- */

static int read_key(struct registrar *r, const struct buf *from_env, struct hf_error *err)
{
    struct buf text = {0};
    int rc = 0;

    if (r->key_file[0] != '\0')
        rc = io_read_file(r->key_file, KEY_FILE_BYTES, &text);
    else
        buf_put(&text, buf_data(from_env), from_env->len);
    if (rc < 0)
        rc = hf_fail(err, HF_E_bad_value, "--register: cannot read %s: %s.", r->key_file,
                     strerror(-rc));
    else if (text.len > 0 && !registration_key_parse(buf_cstr(&text), text.len, r->key))
        rc = bad(err, "the key must have 64 hex digits; holdfast gateway-key prints it");
    r->has_key = rc == 0 && text.len > 0;
    buf_wipe(&text);
    return rc;
}

/* Without a key, anyone who can write to Redis can impersonate this sandbox, so require consent. */
static int check_key(const struct registrar *r, struct hf_error *err)
{
    if (r->has_key == r->is_unsigned)
        return bad(err, r->has_key ? "use a key or unsigned=1, not both"
                                   : "entries must be signed: set key_file=FILE or " KEY_ENV
                                     " (holdfast gateway-key prints the key), or unsigned=1");
    if (r->share_token && !r->has_key)
        return bad(err, "share_token needs a key: the token is derived from it and never stored");
    return 0;
}

/* Removes both variables from the environment, whether the URL needs them or not. */
static int take_secrets(struct registrar *r, struct hf_error *err)
{
    struct buf key = {0}, password = {0};
    int rc;

    token_take_env(KEY_ENV, &key);
    token_take_env(REDIS_PASSWORD_ENV, &password);
    rc = redis_url_load(&r->url, password.len > 0 ? buf_cstr(&password) : NULL, err);
    if (rc == 0)
        rc = read_key(r, &key, err);
    if (rc == 0)
        rc = check_key(r, err);
    buf_wipe(&key);
    buf_wipe(&password);
    return rc;
}

/* The forked registrar could only log an error. */
static int check_trust(const struct redis_url *url, struct hf_error *err)
{
    struct tls_context *trust;

    if (!url->tls)
        return 0;
    trust = tls_client_context_new(url->ca_file[0] != '\0' ? url->ca_file : NULL, err);
    tls_context_free(trust);
    return trust != NULL ? 0 : -EINVAL;
}

/* The first TCP listener: its port, and its address unless that is a wildcard. */
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
    return bad(err, "the daemon listens on no TCP port");
}

/* The address from which we reach Redis is one at which others can reach us, too. */
static void address_from_socket(struct registrar *r, int fd)
{
    struct address a = {.len = sizeof(struct sockaddr_in6)};
    char text[64];

    if (r->address[0] != '\0' || getsockname(fd, &a.any, &a.len) < 0)
        return;
    endpoint_address_text(&a, text, sizeof text);
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
    json_close(o, ']');
}

/* "IP:PORT" of the daemon: the only port to which its token may be sent. */
static void put_address(const struct registrar *r, struct json_out *o)
{
    char text[64];
    struct address a;

    if (!endpoint_address_parse(r->address, 0, &a))
        return;
    endpoint_address_set_port(&a, (uint16_t)r->port);
    endpoint_address_text(&a, text, sizeof text);
    json_kstr(o, "address", text);
}

/* Rebuilt for each renewal, since the expiry time is signed, too. */
static void make_value(struct registrar *r)
{
    struct buf text = {0};
    struct json_out o;

    json_out_init(&o, &text);
    json_open(&o, '{');
    put_address(r, &o);
    put_ports(r, &o);
    if (r->has_key)
        json_kint(&o, "expires_ms", clock_wall_ms() + r->ttl_ms);
    if (r->share_token)
        json_kbool(&o, "share_token", true);
    json_close(&o, '}');
    buf_clear(&r->value);
    if (r->has_key)
        registration_sign(r->key, r->id, &text, &r->value);
    else
        buf_put(&r->value, buf_data(&text), text.len);
    buf_cstr(&r->value);
    buf_fini(&text);
}

/* --- registering ---------------------------------------------------------------------- */

static void publish(struct registrar *r)
{
    redis_command(r->redis, 3, (const char *const[]){"PUBLISH", REDIS_CHANNEL, r->id});
}

static void send_entry(struct registrar *r)
{
    char key[sizeof REDIS_PREFIX + PLACE_ID_BYTES + 1], ttl[24];

    snprintf(key, sizeof key, REDIS_PREFIX "%s", r->id);
    snprintf(ttl, sizeof ttl, "%lld", (long long)r->ttl_ms);
    make_value(r);
    redis_command(r->redis, 5, (const char *const[]){"SET", key, buf_data(&r->value), "PX", ttl});
    if (!r->published)
        publish(r);
    r->published = true;
    timer_start(r->timer, (uint64_t)r->ttl_ms / 3);
}

static void on_up(void *arg)
{
    struct registrar *r = arg;

    if (r->leaving)
        return;
    r->published = false;
    address_from_socket(r, redis_fd(r->redis));
    send_entry(r);
}

/* When leaving, do not wait for Redis to return: that would register a stopped daemon. */
static void on_down(void *arg)
{
    struct registrar *r = arg;

    timer_stop(r->timer);
    if (r->leaving)
        loop_stop(r->loop);
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
        send_entry(r);
}

static void leave(struct registrar *r)
{
    char key[sizeof REDIS_PREFIX + PLACE_ID_BYTES + 1];

    if (r->leaving)
        return;
    r->leaving = true;
    if (!redis_is_up(r->redis)) {
        loop_stop(r->loop);
        return;
    }
    snprintf(key, sizeof key, REDIS_PREFIX "%s", r->id);
    redis_command(r->redis, 2, (const char *const[]){"DEL", key});
    publish(r);
    timer_start(r->timer, LEAVE_MS);
}

/* A signal, or the end of the keeper, which makes its pidfd readable. */
static void on_end(struct watch *w, int events, void *arg)
{
    (void)events;
    watch_set(w, 0);
    leave(arg);
}

static void registrar_close(struct registrar *r)
{
    redis_free(r->redis);
    http_server_free(r->server);
    timer_close(r->timer);
    loop_free(r->loop);
    buf_wipe(&r->value);
    hf_wipe(r->key, sizeof r->key);
    hf_wipe(&r->url, sizeof r->url);
}

static void registrar_main(struct registrar *r)
{
    struct http_options o;
    struct hf_error err = {0};
    struct watch *signals, *keeper = NULL;

    log_set_part("register");
    program_tune_heap();
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
    if (confine_self(&r->confine, true) < 0)
        return;
    signals = watch_new(r->loop, r->signal_fd, on_end, r);
    watch_set(signals, LOOP_READ);
    if (r->keeper_fd >= 0) {
        keeper = watch_new(r->loop, r->keeper_fd, on_end, r);
        watch_set(keeper, LOOP_READ);
    }
    loop_run(r->loop);
    watch_close(signals);
    watch_close(keeper);
    registrar_close(r);
}

/* A token with the role `own` that the gateway can derive itself, unique to this sandbox. */
static void share_token(struct registrar *r, struct buf *tokens)
{
    char token[REGISTRATION_HEX_BYTES];

    registration_token(r->key, token);
    buf_printf(tokens, "own %s\n", token);
    hf_wipe(token, sizeof token);
}

static int prepare(struct registrar *r, struct serve *s, struct hf_error *err)
{
    int rc = parse(r, s->options.register_url, err);

    if (rc == 0)
        rc = take_secrets(r, err);
    if (rc == 0)
        rc = check_trust(&r->url, err);
    if (rc == 0)
        rc = from_listeners(r, s, err);
    if (rc < 0)
        return rc;
    if (r->is_unsigned)
        log_warn("--register with unsigned=1: anyone who can write to Redis can impersonate this "
                 "sandbox");
    r->confine = (struct confine_plan){.role = CONFINE_REGISTRAR,
                                       .off = s->options.confine_off,
                                       .uid = s->worker_uid,
                                       .gid = s->worker_gid};
    r->share_token = r->share_token && !s->options.no_auth;
    if (!r->share_token)
        return 0;
    share_token(r, &s->credentials.fixed);
    return credentials_check(&s->credentials, &s->options, err);
}

/* PR_SET_PDEATHSIG also signals the keeper's death, but is cleared when we change our user. */
static void registrar_run(struct registrar *r, pid_t keeper)
{
    static const int wanted[] = {SIGTERM, SIGINT, 0};

    close_range(3, ~0U, 0);
    signal(SIGHUP, SIG_IGN);
    r->signal_fd = signals_open(wanted, SFD_NONBLOCK);
    r->keeper_fd = (int)syscall(SYS_pidfd_open, keeper, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (getppid() == keeper)
        registrar_main(r);
}

int register_start(struct serve *s, struct hf_error *err)
{
    struct registrar r = {.signal_fd = -1, .keeper_fd = -1};
    pid_t keeper = getpid(), pid = -1;
    int rc = prepare(&r, s, err);

    if (rc == 0) {
        pid = fork();
        if (pid < 0)
            rc = hf_fail(err, HF_E_no_memory, "--register: fork: %s.", strerror(errno));
    }
    if (pid == 0) {
        credentials_fini(&s->credentials); /* the registrar's copy: all that it needs is in r */
        registrar_run(&r, keeper);
        _exit(0);
    }
    hf_wipe(&r, sizeof r);
    return rc;
}
