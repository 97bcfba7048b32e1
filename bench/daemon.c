/* SPDX-License-Identifier: Apache-2.0 */
/* daemon.c - the daemon under test (see daemon.h) */
#include "daemon.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_GIVES_UP_MS 10000

const char *bench_program(const struct env *env, const char *name, char *out)
{
    snprintf(out, PATH_BYTES, "%s/%s", env->dir, name);
    return out;
}

void read_line(int fd, char *out, size_t size, const char *who)
{
    size_t n = 0;

    while (n < size - 1) {
        struct pollfd p = {.fd = fd, .events = POLLIN};

        if (poll(&p, 1, LINE_GIVES_UP_MS) <= 0 || read(fd, out + n, 1) != 1)
            die("%s did not say where it listens", who);
        if (out[n] == '\n')
            break;
        n++;
    }
    out[n] = '\0';
}

static int log_open(const struct env *env)
{
    static char path[PATH_BYTES];
    int fd;

    snprintf(path, sizeof(path), "%s/daemon.log", env->tmp);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        die("%s: %s", path, strerror(errno));
    die_show_file(path);
    return fd;
}

void daemon_exec(struct daemon *d, const struct env *env)
{
    const char *argv[] = {env->daemon,    "serve",         "--listen",    "127.0.0.1:0",
                          "--token-file", env->token_file, env->argument, NULL};
    char line[256];
    const char *at;
    int out[2];
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = log_open(env);

    if (pipe2(out, O_CLOEXEC) != 0 || null < 0)
        die("pipe: %s", strerror(errno));
    memset(d, 0, sizeof(*d));
    d->env = env;
    d->pid[0] = child_start(argv, null, out[1], log);
    d->pid_count = 1;
    close(out[1]);
    close(null);
    close(log);
    d->out = out[0];
    do {
        read_line(d->out, line, sizeof(line), env->daemon);
        at = strstr(line, "listening on http://127.0.0.1:");
    } while (at == NULL);
    d->port = atoi(strrchr(at, ':') + 1);
}

static pid_t parent_of(pid_t pid)
{
    char path[64];
    char text[512];
    const char *at;
    int parent = 0;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    at = strrchr(text, ')'); /* a name may hold blanks and brackets */
    if (at == NULL || sscanf(at + 1, " %*c %d", &parent) != 1)
        return 0;
    return parent;
}

static bool same_program(pid_t a, pid_t b)
{
    char path[64];
    char exe[2][PATH_BYTES] = {{0}, {0}};

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)a);
    if (readlink(path, exe[0], PATH_BYTES - 1) < 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)b);
    return readlink(path, exe[1], PATH_BYTES - 1) >= 0 && strcmp(exe[0], exe[1]) == 0;
}

/* The child of `parent` that runs the same program; 0: none. */
static pid_t child_of(pid_t parent)
{
    DIR *proc = opendir("/proc");
    struct dirent *e;
    pid_t found = 0;

    while (proc != NULL && found == 0 && (e = readdir(proc)) != NULL) {
        pid_t pid = atoi(e->d_name);

        if (pid > 0 && parent_of(pid) == parent && same_program(pid, parent))
            found = pid;
    }
    if (proc != NULL)
        closedir(proc);
    return found;
}

void daemon_start(struct daemon *d, const struct env *env)
{
    pid_t next;

    daemon_exec(d, env);
    while (d->pid_count < DAEMON_PROCESSES && (next = child_of(d->pid[d->pid_count - 1])) != 0)
        d->pid[d->pid_count++] = next;
    if (d->pid_count < 2)
        die("no worker found below process %d", (int)d->pid[0]);
    d->http = http_new(d->port);
}

void daemon_stop(struct daemon *d)
{
    http_free(d->http);
    child_end(d->pid[0], SIGTERM);
    close(d->out);
    memset(d, 0, sizeof(*d));
}

uint64_t daemon_cpu_ns(const struct daemon *d)
{
    uint64_t sum = 0;

    for (int i = 0; i < d->pid_count; i++)
        sum += cpu_ns_of(d->pid[i]);
    return sum;
}

const char *daemon_ask(struct daemon *d, const char *method, const char *path, const char *body,
                       int status)
{
    char request[8192];
    struct answer a;
    size_t n = http_format(request, sizeof(request), method, path, d->port, d->env->token, body);

    http_send(d->http, request, n);
    http_wait(d->http, &a);
    if (a.status != status)
        die("%s %s %s: %d instead of %d: %s", method, path, body ? body : "", a.status, status,
            a.body);
    return a.body;
}

static char *json_string(char *out, const char *end, const char *s)
{
    *out++ = '"';
    for (; *s != '\0'; s++) {
        if (out + 4 > end)
            die("command too long");
        if (*s == '"' || *s == '\\')
            *out++ = '\\';
        *out++ = *s;
    }
    *out++ = '"';
    *out = '\0';
    return out;
}

void json_command(char *out, size_t size, const char *const argv[], const char *more)
{
    const char *end = out + size;

    out += sprintf(out, "{\"command\":");
    out = json_string(out, end, argv[0]);
    out += sprintf(out, ",\"args\":[");
    for (size_t i = 1; argv[i] != NULL; i++) {
        if (i > 1)
            *out++ = ',';
        out = json_string(out, end, argv[i]);
    }
    if (snprintf(out, (size_t)(end - out), "]%s}", more) >= end - out)
        die("command too long");
}

void daemon_create(struct daemon *d, const char *const argv[], bool pty, char *id)
{
    char body[4096];
    const char *answer;
    const char *at;

    json_command(body, sizeof(body), argv,
                 pty ? ",\"pty\":{\"rows\":24,\"cols\":80}" : ",\"stdin\":\"pipe\"");
    answer = daemon_ask(d, "POST", "/v1/processes", body, 201);
    at = strstr(answer, "\"proc_");
    if (at == NULL || sscanf(at, "\"%127[^\"]", id) != 1)
        die("no process id in %s", answer);
}

void daemon_forget(struct daemon *d, const char *id)
{
    char path[ID_BYTES + 64];

    snprintf(path, sizeof(path), "/v1/processes/%s?grace_ms=0", id);
    daemon_ask(d, "DELETE", path, NULL, 200);
}

void daemon_view(struct daemon *d, const char *id, const char *query, struct ws *w)
{
    char path[ID_BYTES + 128];

    snprintf(path, sizeof(path), "/v1/processes/%s/connect?%s", id, query);
    ws_open(w, d->port, path, d->env->token, NULL);
}
