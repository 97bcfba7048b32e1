/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redis.h - a connection to Redis that reconnects by itself
 *
 * Commands are sent at once and replies arrive in their order. When the connection breaks, all
 * outstanding commands are dropped, the owner is notified, and the connection is made again with
 * growing pauses. hiredis parses; the sockets are ours. Layer: gateway.
 */
#ifndef HF_GATEWAY_REDIS_H
#define HF_GATEWAY_REDIS_H

#include "gateway/endpoint.h"
#include "gateway/redis_reply.h"

#define REDIS_PREFIX "holdfast:sandbox:"   /* keys: what endpoint_from_json() reads */
#define REDIS_CHANNEL "holdfast:sandboxes" /* messages: ids whose entry has changed */

#define REDIS_PASSWORD_ENV "HOLDFAST_REDIS_PASSWORD"

struct http_server;
struct redis;

struct redis_url {
    struct address to;
    char user[64];      /* of Redis' access control list; "": the default one */
    char password[512]; /* "" until redis_url_load() */
    unsigned db;
    bool tls;
    char ca_file[256];       /* of its certificate; "": the system's */
    char password_file[256]; /* "" */
    char query[1024];        /* after '?', raw */
};
/* "redis[s]://[USER@]IP:PORT[/DB][?...ca_file=FILE&password_file=FILE...]". No names: no DNS. A
 * password in the URL is refused, because everybody on the machine can read a command line. */
int redis_parse_url(const char *url, struct redis_url *out, struct hf_error *err);
/* Sets its password: the file's, else `password` (from the environment; NULL). */
int redis_url_load(struct redis_url *url, const char *password, struct hf_error *err);

struct redis_ops {
    void (*on_up)(void *arg);   /* ready for commands */
    void (*on_down)(void *arg); /* outstanding commands will get no reply */
    void (*on_reply)(void *arg, const struct redis_reply *r);
};
/* NULL: err; a rediss:// lacks something. */
struct redis *redis_new(struct http_server *s, const struct redis_url *url,
                        const struct redis_ops *ops, void *arg, struct hf_error *err);
void redis_free(struct redis *r); /* NULL is fine; no callback after this */
bool redis_is_up(const struct redis *r);
int redis_fd(const struct redis *r); /* for inspecting its socket; -1 */
void redis_command(struct redis *r, int count, const char *const *words);

#endif
