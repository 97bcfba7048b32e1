/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the driver: the chosen parts, round after round, then the table
 *
 * Called by bench/run, which builds everything, finds the peers and gives it
 * all here through the environment; see usage in bench/README.md.
 */
#include "parts.h"
#include "results.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct part {
    const char *name;
    void (*run)(const struct env *env, unsigned round);
} parts[] = {
    {"echo", part_echo},     {"bulk_pty", part_bulk_pty}, {"bulk_pipe", part_bulk_pipe},
    {"spawn", part_spawn},   {"fanout", part_fanout},     {"memory", part_memory},
    {"screen", part_screen}, {"dialects", part_dialects}, {"start", part_start},
    {"size", part_size},
};

#define PART_COUNT (sizeof(parts) / sizeof(parts[0]))

static const char *need(const char *name)
{
    const char *value = getenv(name);

    if (value == NULL || *value == '\0')
        die("%s is not set: start this with bench/run", name);
    return value;
}

static const char *maybe(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && *value != '\0' ? value : NULL;
}

static void env_read(struct env *env)
{
    env->daemon = need("BENCH_DAEMON");
    env->untracked = maybe("BENCH_UNTRACKED");
    env->dir = need("BENCH_DIR");
    env->tmp = need("BENCH_TMP");
    env->token = need("BENCH_TOKEN");
    env->token_file = need("BENCH_TOKEN_FILE");
    env->ttyd = maybe("BENCH_TTYD");
    env->ttyd_writable = maybe("BENCH_TTYD_WRITABLE") != NULL;
    env->node = maybe("BENCH_NODE");
    env->node_server = maybe("BENCH_NODE_SERVER");
    env->argument = NULL;
    env->quick = maybe("BENCH_QUICK") != NULL;
    /* The daemon's children must not find any of this in their environment. */
    env->token = strdup(env->token);
    unsetenv("BENCH_TOKEN");
}

/* `only` is NULL for all, else names with commas between. */
static bool is_chosen(const char *only, const char *name)
{
    size_t len = strlen(name);

    if (only == NULL)
        return true;
    for (const char *at = only; at != NULL; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

static void check_chosen(const char *only)
{
    char name[32];

    while (only != NULL && *only != '\0') {
        size_t len = strcspn(only, ",");
        bool known = false;

        snprintf(name, sizeof(name), "%.*s", (int)len, only);
        for (size_t i = 0; i < PART_COUNT; i++)
            known |= strcmp(parts[i].name, name) == 0;
        if (!known)
            die("no part is named \"%s\"", name);
        only += len + (only[len] == ',');
    }
}

/* 500 viewers and 500 processes need descriptors, here and in the daemon. */
static void raise_limits(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int report(const char *path)
{
    FILE *out = fopen(path, "we");
    int missed;

    if (out == NULL)
        die("%s: %s", path, strerror(errno));
    missed = results_print(out);
    if (fclose(out) != 0)
        die("%s: %s", path, strerror(errno));
    return missed;
}

int main(void)
{
    struct env env;
    const char *only = maybe("BENCH_ONLY");
    unsigned rounds = (unsigned)atoi(need("BENCH_ROUNDS"));

    env_read(&env);
    check_chosen(only);
    children_init();
    raise_limits();
    for (unsigned r = 0; r < rounds; r++) {
        printf("round %u of %u\n", r + 1, rounds);
        for (size_t i = 0; i < PART_COUNT; i++)
            if (is_chosen(only, parts[i].name))
                parts[i].run(&env, r);
    }
    printf("%d bars missed\n", report(need("BENCH_TABLE")));
    return 0;
}
