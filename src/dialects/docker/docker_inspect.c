/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_inspect.c - writes a container as JSON: as a list item and in full. Layer: dialects.
 */
#include "dialects/docker/docker_inspect.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "dialects/docker/docker_image.h"

#define NO_TIME "0001-01-01T00:00:00Z" /* Docker's value for "never" */
#define COMMAND_BYTES 1024             /* of a command line in a list */

/* --- text --------------------------------------------------------------------------- */

void docker_inspect_span(int64_t ms, char *out, size_t size)
{
    int64_t s = ms / 1000, hours = (s + 1800) / 3600;

    if (s < 1)
        snprintf(out, size, "Less than a second");
    else if (s == 1)
        snprintf(out, size, "1 second");
    else if (s < 60)
        snprintf(out, size, "%d seconds", (int)s);
    else if (s < 120)
        snprintf(out, size, "About a minute");
    else if (s < 3600)
        snprintf(out, size, "%d minutes", (int)(s / 60));
    else if (hours == 1)
        snprintf(out, size, "About an hour");
    else if (hours < 48)
        snprintf(out, size, "%d hours", (int)hours);
    else if (hours < 24 * 14)
        snprintf(out, size, "%d days", (int)(hours / 24));
    else
        snprintf(out, size, "%d weeks", (int)(hours / 24 / 7));
}

static int64_t created_ms(const struct docker *dk, const struct docker_entry *b)
{
    if (b->kind == DOCKER_ENTRY_CREATED)
        return b->created->created_ms;
    return b->kind == DOCKER_ENTRY_SANDBOX ? dk->began_ms : b->v.created_ms;
}

static void put_status(const struct docker *dk, const struct docker_entry *b, struct buf *out)
{
    int64_t now = clock_wall_ms();
    char span[64];

    if (b->kind == DOCKER_ENTRY_CREATED) {
        buf_puts(out, "Created");
        return;
    }
    if (docker_entry_is_running(b)) {
        docker_inspect_span(now - created_ms(dk, b), span, sizeof span);
        buf_printf(out, "Up %s", span);
        return;
    }
    docker_inspect_span(now - b->v.exited_ms, span, sizeof span);
    buf_printf(out, "Exited (%d) %s ago", docker_entry_exit_code(b), span);
}

/* --- the command ------------------------------------------------------------------------ */

/* The program (0) or one of its arguments, from whichever source has them; NULL: no more. */
static const char *word_at(const struct docker_entry *b, size_t i)
{
    if (b->kind == DOCKER_ENTRY_SANDBOX)
        return i == 0 ? "holdfast" : NULL;
    if (b->kind == DOCKER_ENTRY_CREATED)
        return json_string_value(json_array_get(json_object_get(b->config, "argv"), i));
    if (i == 0)
        return b->v.command;
    return i <= b->v.arg_count ? b->v.args[i - 1] : NULL;
}

static void put_line(const struct docker_entry *b, struct buf *line)
{
    const char *word;

    for (size_t i = 0; line->len < COMMAND_BYTES && (word = word_at(b, i)) != NULL; i++) {
        if (line->len > 0)
            buf_putc(line, ' ');
        buf_put(line, word, strnlen(word, COMMAND_BYTES - line->len));
    }
}

static void write_words(struct json_out *o, const char *key, const struct docker_entry *b,
                        size_t from)
{
    const char *word;

    json_kopen(o, key, '[');
    for (size_t i = from; (word = word_at(b, i)) != NULL; i++)
        json_str(o, word);
    json_close(o, ']');
}

void docker_inspect_command(struct json_out *o, const struct docker_entry *b, const char *program,
                            const char *args)
{
    json_kstr(o, program, word_at(b, 0));
    write_words(o, args, b, 1);
}

/* --- list item ---------------------------------------------------------------------------- */

static void write_empty(struct json_out *o, const char *key, char open, char shut)
{
    json_key(o, key);
    json_open(o, open);
    json_close(o, shut);
}

static void write_labels(struct json_out *o, const struct docker_entry *b)
{
    const json_t *labels = json_object_get(b->config, "labels");

    if (labels == NULL) {
        write_empty(o, "Labels", '{', '}');
        return;
    }
    json_key(o, "Labels");
    json_value(o, labels);
}

static void write_host(struct json_out *o, const struct docker_entry *b)
{
    json_kopen(o, "HostConfig", '{');
    json_kstr(o, "NetworkMode", "host");
    json_kbool(o, "AutoRemove", docker_flag(b->config, "remove"));
    /* The kind of log that clients read by `logs`. */
    json_kopen(o, "LogConfig", '{');
    json_kstr(o, "Type", "json-file");
    write_empty(o, "Config", '{', '}');
    json_close(o, '}');
    json_close(o, '}');
}

static void write_network(struct json_out *o)
{
    json_kopen(o, "NetworkSettings", '{');
    write_empty(o, "Networks", '{', '}');
    json_close(o, '}');
}

static void write_line(struct docker *dk, struct json_out *o, const struct docker_entry *b)
{
    struct buf text = {0};

    put_line(b, &text);
    json_kstrn(o, "Command", buf_data(&text), text.len);
    buf_clear(&text);
    put_status(dk, b, &text);
    json_kstrn(o, "Status", buf_data(&text), text.len);
    buf_fini(&text);
}

static void write_name(struct json_out *o, const char *key, const struct docker_entry *b)
{
    char name[sizeof b->name + 1];

    snprintf(name, sizeof name, "/%s", b->name);
    if (key != NULL)
        json_kstr(o, key, name);
    else
        json_str(o, name);
}

void docker_inspect_summary(struct docker *dk, struct json_out *o, const struct docker_entry *b)
{
    char image[DOCKER_IMAGE_ID_BYTES];

    json_open(o, '{');
    json_kstr(o, "Id", b->id);
    json_kopen(o, "Names", '[');
    write_name(o, NULL, b);
    json_close(o, ']');
    json_kstr(o, "Image", docker_entry_image(b));
    docker_image_id(docker_entry_image(b), image);
    json_kstr(o, "ImageID", image);
    write_line(dk, o, b);
    json_kint(o, "Created", created_ms(dk, b) / 1000);
    json_kstr(o, "State", docker_entry_status(b));
    write_empty(o, "Ports", '[', ']');
    write_labels(o, b);
    write_empty(o, "Mounts", '[', ']');
    json_kopen(o, "HostConfig", '{'); /* a list has no more of it */
    json_kstr(o, "NetworkMode", "host");
    json_close(o, '}');
    write_network(o);
    json_close(o, '}');
}

/* --- full object ---------------------------------------------------------------------------- */

static void write_time(struct json_out *o, const char *key, int64_t ms)
{
    if (ms > 0)
        json_ktime(o, key, ms);
    else
        json_kstr(o, key, NO_TIME);
}

static void write_times(struct docker *dk, struct json_out *o, const struct docker_entry *b)
{
    bool sandbox = b->kind == DOCKER_ENTRY_SANDBOX;

    json_kint(o, "Pid", sandbox ? getppid() : b->v.running ? b->v.pid : 0);
    write_time(o, "StartedAt", sandbox ? dk->began_ms : b->v.created_ms);
    write_time(o, "FinishedAt", b->v.running ? 0 : b->v.exited_ms);
}

static void write_state(struct docker *dk, struct json_out *o, const struct docker_entry *b)
{
    bool exited = b->kind == DOCKER_ENTRY_PROCESS && !docker_entry_is_running(b);

    json_kopen(o, "State", '{');
    json_kstr(o, "Status", docker_entry_status(b));
    json_kbool(o, "Running", docker_entry_is_running(b));
    json_kbool(o, "Paused", false);
    json_kbool(o, "Restarting", false);
    json_kbool(o, "OOMKilled", exited && b->v.exit->kind == EXIT_OUT_OF_MEMORY);
    json_kbool(o, "Dead", false);
    json_kint(o, "ExitCode", docker_entry_exit_code(b));
    json_kstr(o, "Error", b->kind == DOCKER_ENTRY_CREATED ? b->created->error : "");
    write_times(dk, o, b);
    json_close(o, '}');
}

static void write_config(struct docker *dk, struct json_out *o, const struct docker_entry *b)
{
    bool started = b->kind == DOCKER_ENTRY_PROCESS, foreign = started && b->config == NULL;

    json_kopen(o, "Config", '{');
    json_kstr(o, "Hostname", dk->hostname);
    json_kstr(o, "User", docker_text(b->config, "user"));
    json_kbool(o, "Tty", docker_entry_tty(b));
    json_kbool(o, "AttachStdin", docker_flag(b->config, "stdin"));
    json_kbool(o, "AttachStdout", true);
    json_kbool(o, "AttachStderr", true);
    json_kbool(o, "OpenStdin", foreign || docker_flag(b->config, "stdin"));
    json_kbool(o, "StdinOnce", docker_flag(b->config, "once"));
    write_empty(o, "Env", '[', ']');
    write_words(o, "Cmd", b, 0);
    json_kstr(o, "Image", docker_entry_image(b));
    json_kstr(o, "WorkingDir", started ? b->v.cwd : docker_text(b->config, "cwd"));
    write_labels(o, b);
    json_close(o, '}');
}

void docker_inspect(struct http_request *rq)
{
    struct docker *dk = docker_of(rq);
    char image[DOCKER_IMAGE_ID_BYTES];
    docker_entry_auto b = {0};
    struct json_out o;

    if (!docker_entry_of_request(rq, &b))
        return;
    o = dialect_reply_open(&dk->base);
    json_kstr(&o, "Id", b.id);
    write_time(&o, "Created", created_ms(dk, &b));
    docker_inspect_command(&o, &b, "Path", "Args");
    write_state(dk, &o, &b);
    docker_image_id(docker_entry_image(&b), image);
    json_kstr(&o, "Image", image);
    write_name(&o, "Name", &b);
    json_kint(&o, "RestartCount", 0);
    json_kstr(&o, "Driver", "holdfast");
    json_kstr(&o, "Platform", "linux");
    write_host(&o, &b);
    write_empty(&o, "Mounts", '[', ']');
    write_config(dk, &o, &b);
    write_network(&o);
    docker_send(rq, 200, &o);
}
