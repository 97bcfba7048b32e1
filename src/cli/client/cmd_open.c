/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_open.c - `holdfast open`: a one-time link that signs a browser in. Layer: cli.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rfc3339.h"
#include "cli/client/client_print.h"
#include "cli/client/client_request.h"
#include "cli/page_link.h"
#include "cli/token_file.h"

/* If a link seems to last longer, the daemon's clock differs from ours: show its time instead. */
#define LASTS_MOST_MS (3600 * 1000)
#define BROWSER_WORDS_MAX 16

struct open_args {
    bool print;
    const char *role;
};
#define OPT_ARGS struct open_args

static const struct opt opts[] = {
    OPT_FLAG("--print", 'p', print, "only print the link; do not open a browser"),
    OPT_TEXT("--role", 0, role, "own|type|watch", "role of the browser (yours)"),
};

/* --- where the page is ---------------------------------------------------------------- */

/* Gets an address for browsers from a daemon that we reached by its unix socket. The daemon lists
 * its addresses only for clients that may create tickets. For others `out` stays empty, and the
 * ticket is refused anyway. */
static int request_address(const struct client_call *call, struct buf *out)
{
    fetch_autoreply struct fetch_reply r = {0};
    const json_t *listeners, *l;
    const char *url = NULL;
    size_t i;
    int rc = request(call, "GET", "/v1/info", NULL, &r);

    if (rc != CLI_OK)
        return rc;
    listeners = json_object_get(r.json, "listeners");
    json_array_foreach ((json_t *)listeners, i, l) {
        url = link_better(url, json_string_value(l));
    }
    if (url != NULL)
        link_put(out, url);
    else if (listeners != NULL)
        rc = command_complain(
            call, CLI_FAILED,
            "the daemon at %s listens only on a unix socket, which a browser cannot open; "
            "start it with --listen 127.0.0.1:7070 as well",
            call->place.url);
    return rc;
}

static int find_address(const struct client_call *call, struct buf *out)
{
    if (call->place.unix_path != NULL)
        return request_address(call, out);
    link_put(out, call->place.url);
    return CLI_OK;
}

/* --- the ticket ------------------------------------------------------------------------- */

static int request_ticket(const struct client_call *call, struct fetch_reply *out)
{
    hf_autobuf struct buf body = {0};
    struct json_out o;

    json_out_init(&o, &body);
    json_open(&o, '{');
    request_put_options(call, "role", &o);
    json_close(&o, '}');
    return request(call, "POST", "/v1/tickets", &body, out);
}

/* A ticket is as good as a password while it lasts. */
static void wipe_text(const json_t *object, const char *key)
{
    const json_t *s = json_object_get(object, key);

    if (json_is_string(s))
        hf_wipe((char *)(uintptr_t)json_string_value(s), json_string_length(s));
}

/* Appends the path of the link to the address, and puts the whole URL into the reply. */
static int complete(const struct client_call *call, json_t *ticket, struct buf *url)
{
    const char *path = request_json_text(ticket, "url");

    if (path[0] != '/')
        return command_complain(call, CLI_FAILED, "%s returned no ticket; is it a holdfast daemon?",
                                call->place.url);
    if (url->len == 0)
        return command_complain(call, CLI_FAILED,
                                "the daemon does not report its addresses; set one with --url");
    buf_puts(url, path);
    wipe_text(ticket, "url");
    json_object_set_new(ticket, "url", json_string(buf_cstr(url)));
    return CLI_OK;
}

/* --- the browser: $BROWSER, or xdg-open if there is a display --- */

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

/* What would open the link: "$BROWSER" or "xdg-open"; NULL: nothing can. */
static const char *browser_way(void)
{
    if (is_set("BROWSER"))
        return "$BROWSER";
    return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") ? "xdg-open" : NULL;
}

/* "firefox --new-window %s": words, without a shell. If no word is %s, the link comes last. */
static void become(char *line, char *url)
{
    char *argv[BROWSER_WORDS_MAX + 2], *save = NULL, *word;
    bool placed = false;
    size_t n = 0;

    for (word = strtok_r(line, " ", &save); word != NULL && n < BROWSER_WORDS_MAX;
         word = strtok_r(NULL, " ", &save)) {
        bool here = strcmp(word, "%s") == 0;

        argv[n++] = here ? url : word;
        placed = placed || here;
    }
    if (n == 0)
        return;
    if (!placed)
        argv[n++] = url;
    argv[n] = NULL;
    execvp(argv[0], argv);
}

/* $BROWSER is a colon-separated list of programs; use the first that can be executed. */
static void become_any(const char *list, const char *url)
{
    hf_autofree char *lines = hf_xstrdup(list), *link = hf_xstrdup(url);
    char *save = NULL, *line;

    errno = ENOENT;
    for (line = strtok_r(lines, ":", &save); line != NULL; line = strtok_r(NULL, ":", &save))
        become(line, link);
}

/* The browser does not need our token, and its children would inherit it. */
static void leave_behind(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    unsetenv(TOKEN_ENV);
    signal(SIGPIPE, SIG_DFL);
}

/* Runs in the grandchild, which is never waited for. `status` closes on a successful exec. */
static void begin(const char *url, int status)
{
    int reason;

    leave_behind();
    become_any(is_set("BROWSER") ? getenv("BROWSER") : "xdg-open", url);
    reason = errno;
    hf_write(status, &reason, sizeof reason);
    _exit(127);
}

/*
 * 0 once the program runs; else -errno. The browser gets its own session and none of our
 * descriptors, so it neither writes to the terminal nor ends with it.
 */
static int browser_open(const char *url)
{
    int status[2], reason = 0;
    pid_t child;

    if (pipe2(status, O_CLOEXEC) < 0)
        return -errno;
    child = fork();
    if (child == 0) {
        if (setsid() >= 0 && fork() == 0)
            begin(url, status[1]);
        _exit(0);
    }
    io_close(&status[1]);
    if (child < 0 || hf_read(status[0], &reason, sizeof reason) != sizeof reason)
        reason = child < 0 ? EAGAIN : 0;
    if (child > 0)
        waitpid(child, NULL, 0);
    io_close(&status[0]);
    return -reason;
}

/* --- output -------------------------------------------------------------------------------- */

static void print_lifetime(const json_t *ticket)
{
    const char *end = request_json_text(ticket, "expires_at"),
               *role = request_json_text(ticket, "role");
    int64_t end_ms, lasts_ms = rfc3339_parse(end, &end_ms) ? end_ms - clock_wall_ms() : 0;

    if (lasts_ms > 0 && lasts_ms <= LASTS_MOST_MS)
        fprintf(stderr, "holdfast: the link works once, within %lld seconds, with the role %s\n",
                (long long)(lasts_ms + 999) / 1000, role);
    else
        fprintf(stderr, "holdfast: the link works once, until %s, with the role %s\n", end, role);
}

/* Only on a terminal, where a person reads the output. */
static void open_for_person(const struct client_call *call, const char *url)
{
    const struct open_args *a = call->args;
    const char *way = a->print || !isatty(STDOUT_FILENO) ? NULL : browser_way();
    int rc;

    if (way == NULL)
        return;
    rc = browser_open(url);
    if (rc == 0)
        fprintf(stderr, "holdfast: opening it in a browser with %s\n", way);
    else
        fprintf(stderr, "holdfast: %s cannot open it: %s\n", way, strerror(-rc));
}

static void show_link(const struct client_call *call, const json_t *ticket, struct buf *url)
{
    if (print_value(call, ticket))
        return;
    print_out(buf_data(url), url->len);
    print_out("\n", 1);
    print_lifetime(ticket);
    open_for_person(call, buf_cstr(url));
}

static int open_main(struct client_call *call)
{
    fetch_autoreply struct fetch_reply r = {0};
    struct buf url = {0};
    int rc = find_address(call, &url);

    if (rc == CLI_OK)
        rc = request_ticket(call, &r);
    if (rc == CLI_OK)
        rc = complete(call, r.json, &url);
    if (rc == CLI_OK)
        show_link(call, r.json, &url);
    buf_wipe(&url);
    return rc;
}

const struct command open_command = {
    .name = "open",
    .operands = "",
    .summary = "print a link that signs a browser in, and open it",
    .about = "The link works once, for a minute. On a terminal the command also opens it, with\n"
             "$BROWSER or xdg-open if available.\n",
    COMMAND_OPTS(opts),
    .run = open_main,
};
