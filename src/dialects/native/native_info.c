/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native_info.c - what the daemon reports about itself, and its replacement. Layer: dialects.
 */
#include "base/clock.h"
#include "base/embed.h"
#include "base/limits.h"
#include "dialects/native/json_reply.h"
#include "dialects/native/native_handlers.h"
#include "dialects/native/page/packed_file.h"

static void reply_status(struct http_request *rq, int code, const char *status)
{
    struct json_out o = dialect_reply_open(dialect_base_of(rq));

    json_kstr(&o, "status", status);
    dialect_reply_send(rq, code, &o);
}

void healthz_handle(struct http_request *rq)
{
    reply_status(rq, 200, "ok");
}

int readyz_handle(struct http_request *rq, struct hf_error *err)
{
    if (dialect_check_open(dialect_base_of(rq), err) < 0)
        return -1;
    reply_status(rq, 200, "ready");
    return 0;
}

static void write_limits(const struct native *n, struct json_out *o)
{
    const struct engine_options *e = engine_options(n->base.engine);
    const struct {
        const char *name;
        uint64_t value;
    } limits[] = {
        {"processes", e->max_processes},
        {"viewers", e->max_viewers},
        {"connections", n->http.max_connections},
        {"waits", LIMIT_WAITS},
        {"links", LIMIT_LINKS},
        {"history_bytes", e->journal_bytes},
        {"history_min_bytes", LIMIT_JOURNAL_MIN_BYTES},
        {"history_max_bytes",
         e->history_dir != NULL ? LIMIT_HISTORY_MAX_BYTES : LIMIT_JOURNAL_MAX_BYTES},
        {"history_disk_bytes", e->history_dir != NULL ? e->history_disk_bytes : 0},
        {"journal_memory_bytes", e->journal_memory_bytes},
        {"retained", e->retain_count},
        {"retain_ms", (uint64_t)e->retain_ms},
        {"event_log_bytes", e->event_log_bytes},
        {"json_body_bytes", LIMIT_JSON_BODY_BYTES},
        {"type_body_bytes", LIMIT_TYPE_BODY_BYTES},
        {"watch_body_bytes", LIMIT_WATCH_BODY_BYTES},
        {"public_body_bytes", LIMIT_PUBLIC_BODY_BYTES},
        {"held_bytes", n->http.held_bytes},
        {"held_weak_bytes", n->http.held_weak_bytes},
        {"held_untrusted_bytes", n->http.held_untrusted_bytes},
        {"header_bytes", n->http.header_bytes},
        {"header_count", n->http.header_count},
        {"uri_bytes", n->http.uri_bytes},
        {"ws_text_bytes", LIMIT_WS_TEXT_BYTES},
        {"ws_frame_bytes", LIMIT_WS_FRAME_BYTES},
        {"input_queue_bytes", LIMIT_INPUT_QUEUE_BYTES},
        {"input_clients", LIMIT_INPUT_CLIENTS},
        {"args", LIMIT_ARGS},
        {"env", LIMIT_ENV},
        {"tag_bytes", LIMIT_TAG_BYTES},
        {"label_bytes", LIMIT_LABEL_BYTES},
        {"metadata_bytes", LIMIT_METADATA_BYTES},
        {"run_output_bytes", LIMIT_RUN_OUTPUT_BYTES},
        {"run_output_max_bytes", LIMIT_RUN_OUTPUT_MAX_BYTES},
        {"sessions", LIMIT_SESSIONS},
        {"session_queue", LIMIT_SESSION_QUEUE},
        {"session_command_bytes", LIMIT_SESSION_COMMAND_BYTES},
        {"session_input_bytes", LIMIT_SESSION_INPUT_BYTES},
        {"transcript_commands", SESSION_LOG_COMMANDS},
        {"transcript_bytes", LIMIT_TRANSCRIPT_BYTES},
        {"transfers", LIMIT_TRANSFERS},
        {"file_list", LIMIT_FILE_LIST},
        {"file_tree", LIMIT_TREE_ENTRIES},
        {"archive_entries", LIMIT_TAR_ENTRIES},
        {"regex_bytes", LIMIT_REGEX_BYTES},
        {"regex_states", LIMIT_REGEX_STATES},
        {"text_bytes", LIMIT_TEXT_BYTES},
        {"file_watches", LIMIT_FILE_WATCHES},
        {"watched_directories", LIMIT_FILE_WATCH_DIRS},
        {"duration_ms", LIMIT_DURATION_MS},
        {"terminal_size", TERMINAL_SIZE_MAX},
    };

    json_kopen(o, "limits", '{');
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        json_ku64(o, limits[i].name, limits[i].value);
    json_close(o, '}');
}

static void write_confinement(const struct native_info *info, struct json_out *o)
{
    json_kopen(o, "confinement", '{');
    json_kbool(o, "seccomp", info->seccomp != NULL && *info->seccomp);
    json_kbool(o, "landlock", info->landlock != NULL && *info->landlock);
    json_kbool(o, "user", info->user != NULL && *info->user);
    json_close(o, '}');
}

static void write_features(const struct native *n, struct json_out *o)
{
    struct engine_stats s;

    engine_stats(n->base.engine, &s);
    json_kopen(o, "features", '{');
    json_kbool(o, "pty", true);
    json_kbool(o, "cgroup", s.has_cgroup);
    json_kbool(o, "exact_recovery", s.exact_recovery);
    json_kbool(o, "tls", n->info.tls);
    json_kbool(o, "compress", n->info.compress);
    json_kbool(o, "screen", true);
    json_kbool(o, "recording", true);
    json_kbool(o, "links", true);
    json_kbool(o, "sessions", true);
    json_kbool(o, "mcp", true);
    json_close(o, '}');
}

static void write_names(struct json_out *o, const char *key, const char *const *names, size_t count)
{
    json_kopen(o, key, '[');
    for (size_t i = 0; i < count; i++)
        json_str(o, names[i]);
    json_close(o, ']');
}

void info_handle(struct http_request *rq)
{
    struct native *n = native_of(rq);
    struct json_out o = dialect_reply_open(&n->base);
    struct engine_stats s;

    engine_stats(n->base.engine, &s);
    json_kstr(&o, "name", "holdfast");
    json_kstr(&o, "version", n->info.version);
    json_kstr(&o, "protocol", "holdfast.v1");
    json_ktime(&o, "started_at", n->info.started_ms);
    json_ku64(&o, "generation", s.generation);
    json_kstr(&o, "role", http_role_name(http_role(rq)));
    write_names(&o, "dialects", n->info.dialects, n->info.dialect_count);
    /* Clients that may only watch must not see paths or internal addresses. */
    if (http_role(rq) == ROLE_OWN)
        write_names(&o, "listeners", n->info.listeners, n->info.listener_count);
    write_features(n, &o);
    write_confinement(&n->info, &o);
    write_limits(n, &o);
    dialect_reply_send(rq, 200, &o);
}

/* For a platform that suspends idle sandboxes: is anything active, and if not, since when? */
void activity_handle(struct http_request *rq)
{
    struct native *n = native_of(rq);
    struct json_out o = dialect_reply_open(&n->base);
    struct engine_stats s;
    struct http_stats h = {0};
    int64_t last, idle;

    engine_stats(n->base.engine, &s);
    if (n->info.server != NULL)
        http_server_stats(n->info.server, &h);
    last = s.last_activity_wall_ms > 0 ? s.last_activity_wall_ms : n->info.started_ms;
    idle = clock_wall_ms() - last;
    json_ku64(&o, "running", s.running);
    json_ku64(&o, "viewers", s.viewers);
    json_ku64(&o, "connections", h.connections);
    json_ktime(&o, "last_activity_at", last);
    json_kint(&o, "idle_ms", idle > 0 ? idle : 0);
    dialect_reply_send(rq, 200, &o);
}

void openapi_handle(struct http_request *rq)
{
    static struct packed_file document;

    packed_file_reply(rq, 200, "application/json", &document, embed_openapi_json_gz_start,
                      embed_openapi_json_gz_end);
}

int upgrade_handle(struct http_request *rq, struct hf_error *err)
{
    struct native *n = native_of(rq);

    if (dialect_check_open(&n->base, err) < 0)
        return -1;
    if (engine_request_upgrade(n->base.engine) < 0)
        return hf_fail(err, HF_E_internal,
                       "the keeper did not accept the request; see the daemon's log");
    reply_status(rq, 202, "upgrading");
    return 0;
}
