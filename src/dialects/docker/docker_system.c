/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_system.c - version, information and ping: what the daemon reports about itself.
 * Layer: dialects.
 */
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "dialects/docker/docker_entry.h"

void docker_ping(struct http_request *rq)
{
    docker_headers(rq);
    http_add_header(rq, "Cache-Control", "no-cache, no-store, must-revalidate");
    http_reply(rq, 200, "text/plain; charset=utf-8", "OK", 2);
}

static const char *arch_of(const struct utsname *u)
{
    static const char *const names[][2] = {{"x86_64", "amd64"}, {"aarch64", "arm64"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(u->machine, names[i][0]) == 0)
            return names[i][1];
    return u->machine;
}

static void write_api(struct json_out *o, const char *key)
{
    char text[16];

    snprintf(text, sizeof text, "1.%d", DOCKER_API_MINOR);
    json_kstr(o, key, text);
}

void docker_get_version(struct http_request *rq)
{
    struct docker *dk = docker_of(rq);
    struct json_out o = dialect_reply_open(&dk->base);
    struct utsname u;

    uname(&u);
    json_kopen(&o, "Platform", '{');
    json_kstr(&o, "Name", "holdfast");
    json_close(&o, '}');
    json_kstr(&o, "Version", dk->base.host.version);
    write_api(&o, "ApiVersion");
    json_kstr(&o, "MinAPIVersion", "1.24");
    json_kstr(&o, "GitCommit", "");
    json_kstr(&o, "GoVersion", "");
    json_kstr(&o, "Os", "linux");
    json_kstr(&o, "Arch", arch_of(&u));
    json_kstr(&o, "KernelVersion", u.release);
    json_kstr(&o, "BuildTime", "");
    docker_send(rq, 200, &o);
}

static void write_counts(struct docker *dk, struct json_out *o)
{
    size_t running = 1, exited = 0; /* the sandbox */
    struct process *p = NULL;

    while ((p = engine_next(dk->base.engine, p)) != NULL) {
        if (!docker_entry_is_shown(p))
            continue;
        if (process_is_running(p))
            running++;
        else
            exited++;
    }
    json_ku64(o, "Containers", running + exited + dk->containers);
    json_ku64(o, "ContainersRunning", running);
    json_kint(o, "ContainersPaused", 0);
    json_ku64(o, "ContainersStopped", exited + dk->containers);
    json_kint(o, "Images", 0);
}

void docker_info(struct http_request *rq)
{
    struct docker *dk = docker_of(rq);
    struct json_out o = dialect_reply_open(&dk->base);
    struct utsname u;

    uname(&u);
    json_kstr(&o, "ID", dk->sandbox_id);
    json_kstr(&o, "Name", dk->hostname);
    write_counts(dk, &o);
    json_kstr(&o, "ServerVersion", dk->base.host.version);
    json_kstr(&o, "Driver", "holdfast");
    json_kstr(&o, "OSType", "linux");
    json_kstr(&o, "OperatingSystem", "Linux");
    json_kstr(&o, "Architecture", u.machine);
    json_kstr(&o, "KernelVersion", u.release);
    json_kint(&o, "NCPU", sysconf(_SC_NPROCESSORS_ONLN));
    json_kint(&o, "MemTotal", sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    docker_send(rq, 200, &o);
}
