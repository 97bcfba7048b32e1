/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.c - samples, ratios, bars (see results.h)
 *
 * A ratio is taken within each round, where both sides were measured next to
 * each other, and the median of these is held against the bar: what slows
 * the whole machine for a while falls out of it.
 */
#include "results.h"

#include "common.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define KEYS_MAX 160
#define SAMPLES_MAX 64

struct series {
    char key[64];
    size_t n;
    double v[SAMPLES_MAX];
};

/* ALWAYS: at least this much in the worst round, not in the middle one. */
enum bar_kind { AT_MOST, AT_LEAST, ALWAYS, NO_BAR };

/* A bar on `key`, or on key / floor where a floor is named. */
struct bar {
    const char *what;
    const char *key;
    const char *floor;
    enum bar_kind kind;
    double limit;
    const char *unit;
};

static const struct bar bars[] = {
    {"echo p50, beside the relay", "echo.p50_us.daemon", "echo.p50_us.relay", AT_MOST, 1.2, "us"},
    {"echo p99, beside the relay", "echo.p99_us.daemon", "echo.p99_us.relay", AT_MOST, 1.5, "us"},
    {"echo p50, beside ttyd", "echo.p50_us.daemon", "echo.p50_us.ttyd", AT_MOST, 1, "us"},
    {"echo p99, beside ttyd", "echo.p99_us.daemon", "echo.p99_us.ttyd", AT_MOST, 1, "us"},
    {"echo p50, beside node-pty", "echo.p50_us.daemon", "echo.p50_us.node", NO_BAR, 0, "us"},
    {"PTY bulk, beside a spinning reader", "bulk_pty.mb_s.daemon", "bulk_pty.mb_s.spin", AT_LEAST,
     0.9, "MB/s"},
    {"PTY bulk, beside a sleeping reader", "bulk_pty.mb_s.daemon", "bulk_pty.mb_s.sleep", AT_LEAST,
     2, "MB/s"},
    {"PTY bulk CPU, beside a sleeping reader", "bulk_pty.cpu_s_gb.daemon",
     "bulk_pty.cpu_s_gb.sleep", AT_MOST, 1, "s/GB"},
    {"PTY bulk, beside the relay", "bulk_pty.mb_s.daemon", "bulk_pty.mb_s.relay", NO_BAR, 0,
     "MB/s"},
    {"PTY bulk, beside a relay that spins", "bulk_pty.mb_s.daemon", "bulk_pty.mb_s.haste", NO_BAR,
     0, "MB/s"},
    {"(a relay that spins, beside a spinning reader)", "bulk_pty.mb_s.haste", "bulk_pty.mb_s.spin",
     NO_BAR, 0, "MB/s"},
    {"PTY bulk, beside ttyd", "bulk_pty.mb_s.daemon", "bulk_pty.mb_s.ttyd", NO_BAR, 0, "MB/s"},
    {"PTY bulk, beside node-pty", "bulk_pty.mb_s.daemon", "bulk_pty.mb_s.node", NO_BAR, 0, "MB/s"},
    {"(spinning beside sleeping reader)", "bulk_pty.mb_s.spin", "bulk_pty.mb_s.sleep", NO_BAR, 0,
     "MB/s"},
    {"pipe bulk, beside the relay", "bulk_pipe.mb_s.daemon", "bulk_pipe.mb_s.relay", AT_LEAST, 1,
     "MB/s"},
    {"pipe bulk CPU, beside the relay", "bulk_pipe.cpu_s_gb.daemon", "bulk_pipe.cpu_s_gb.relay",
     NO_BAR, 0, "s/GB"},
    {"spawn static, one at a time", "spawn.static_1.daemon", "spawn.static_1.bare", AT_LEAST, 0.85,
     "/s"},
    {"spawn static, 16 in flight", "spawn.static_16.daemon", "spawn.static_16.bare", AT_LEAST, 0.9,
     "/s"},
    {"spawn /bin/true, one at a time", "spawn.true_1.daemon", "spawn.true_1.bare", AT_LEAST, 0.85,
     "/s"},
    {"spawn /bin/true, 16 in flight", "spawn.true_16.daemon", "spawn.true_16.bare", AT_LEAST, 0.9,
     "/s"},
    {"spawn static, one at a time, worker of 500 MB", "spawn.static_1.large", "spawn.static_1.bare",
     AT_LEAST, 0.85, "/s"},
    {"spawn static, one at a time, beside two empty hops", "spawn.static_1.daemon",
     "spawn.static_1.hops", NO_BAR, 0, "/s"},
    {"spawn /bin/true, one at a time, beside two empty hops", "spawn.true_1.daemon",
     "spawn.true_1.hops", NO_BAR, 0, "/s"},
    {"(spawn static behind two empty hops, beside bare)", "spawn.static_1.hops",
     "spawn.static_1.bare", NO_BAR, 0, "/s"},
    {"spawn static, 16 in flight, worker of 500 MB", "spawn.static_16.large",
     "spawn.static_16.bare", AT_LEAST, 0.9, "/s"},
    {"spawn /bin/true, one at a time, worker of 500 MB", "spawn.true_1.large", "spawn.true_1.bare",
     AT_LEAST, 0.85, "/s"},
    {"spawn /bin/true, 16 in flight, worker of 500 MB", "spawn.true_16.large", "spawn.true_16.bare",
     AT_LEAST, 0.9, "/s"},
    {"fan-out CPU, 500 viewers beside 1", "fanout.cpu_s_gb.500", "fanout.cpu_s_gb.1", AT_MOST, 1.3,
     "s/GB"},
    {"fan-out, viewers of 500 with every byte", "fanout.complete.500", NULL, ALWAYS, 500, ""},
    {"fan-out, viewers of 100 with every byte", "fanout.complete.100", NULL, ALWAYS, 100, ""},
    {"80 viewers flat out, 20 others stuck, beside none stuck", "fanout.flat_mb_s.20",
     "fanout.flat_mb_s.0", NO_BAR, 0, "MB/s"},
    {"the same, second half", "fanout.flat_rest_mb_s.20", "fanout.flat_rest_mb_s.0", AT_LEAST, 0.9,
     "MB/s"},
    {"viewers of those 80 with every byte", "fanout.flat_complete.20", NULL, ALWAYS, 80, ""},
    {"memory, keeper + worker idle", "memory.idle_kib", NULL, AT_MOST, 2000000.0 / 1024, "KiB"},
    {"memory, each idle PTY with a viewer", "memory.pty_kib", NULL, AT_MOST, 16, "KiB"},
    {"memory, each further viewer", "memory.viewer_kib", NULL, AT_MOST, 4, "KiB"},
    {"PTY bulk with the tracker, beside without", "screen.mb_s.tracked", "screen.mb_s.untracked",
     AT_LEAST, 0.97, "MB/s"},
    {"PTY bulk CPU with the tracker, beside without", "screen.cpu_s_gb.tracked",
     "screen.cpu_s_gb.untracked", NO_BAR, 0, "s/GB"},
    {"memory, an idle terminal with the tracker, beside without", "screen.terminal_kib.tracked",
     "screen.terminal_kib.untracked", NO_BAR, 0, "KiB"},
    {"memory, tracker of an idle terminal", "screen.tracker_kib", NULL, AT_MOST, 2, "KiB"},
    {"memory, a built screen of 80x24", "screen.built_kib", NULL, AT_MOST, 64, "KiB"},
    {"CPU of a native call with all dialects, beside none", "dialects.call_cpu_us.all",
     "dialects.call_cpu_us.none", NO_BAR, 0, "us"},
    {"a native call with all dialects, beside none", "dialects.call_us.all",
     "dialects.call_us.none", AT_MOST, 1.05, "us"},
    {"memory, all dialects, idle", "dialects.memory_kib", NULL, AT_MOST, 300, "KiB"},
    {"start, exec to first answer", "start.ms", NULL, AT_MOST, 5, "ms"},
    {"size of the binary", "size.mb", NULL, AT_MOST, 3.2, "MB"},
};

static struct series all[KEYS_MAX];
static size_t all_n;

static struct series *series_find(const char *key)
{
    for (size_t i = 0; i < all_n; i++)
        if (strcmp(all[i].key, key) == 0)
            return &all[i];
    return NULL;
}

void result_add(double value, const char *fmt, ...)
{
    char key[64];
    struct series *s;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(key, sizeof(key), fmt, ap);
    va_end(ap);
    printf("  %-32s %12.3f\n", key, value);
    fflush(stdout);
    s = series_find(key);
    if (s == NULL) {
        if (all_n == KEYS_MAX)
            die("more than %d keys", KEYS_MAX);
        s = &all[all_n++];
        snprintf(s->key, sizeof(s->key), "%s", key);
    }
    if (s->n == SAMPLES_MAX)
        die("more than %d samples of %s", SAMPLES_MAX, key);
    s->v[s->n++] = value;
}

/* A copy, because medians sort; 0 samples when the key was not measured. */
static struct series series_copy(const char *key)
{
    struct series none = {.n = 0};
    struct series *s = series_find(key);

    return s != NULL ? *s : none;
}

static struct series series_ratio(const char *key, const char *floor)
{
    struct series a = series_copy(key);
    struct series b = series_copy(floor);

    if (b.n < a.n)
        a.n = b.n;
    for (size_t i = 0; i < a.n; i++)
        a.v[i] /= b.v[i];
    return a;
}

static void print_value(FILE *out, double v, const char *unit)
{
    int digits = v >= 1000 ? 0 : v >= 100 ? 1 : v >= 10 ? 2 : 3;

    fprintf(out, "%.*f%s%s", digits, v, *unit ? " " : "", unit);
}

static double key_median(const char *key)
{
    struct series s = series_copy(key);

    return median(s.v, s.n);
}

/* Returns 1 for a bar that was missed. */
static int print_bar(FILE *out, const struct bar *b)
{
    struct series s = b->floor ? series_ratio(b->key, b->floor) : series_copy(b->key);
    double mid;
    bool ok;

    if (s.n == 0)
        return 0;
    mid = median(s.v, s.n); /* sorts, so the ends are the extremes */
    if (b->kind == ALWAYS)
        mid = s.v[0];
    ok = b->kind == NO_BAR || (b->kind == AT_MOST ? mid <= b->limit : mid >= b->limit);
    fprintf(out, "| %s | ", b->what);
    print_value(out, b->floor ? key_median(b->key) : mid, b->unit);
    fputs(" | ", out);
    if (b->floor != NULL) {
        print_value(out, key_median(b->floor), b->unit);
        fprintf(out, " | **%.2f** (%.2f-%.2f)", mid, s.v[0], s.v[s.n - 1]);
    } else {
        fputs(" | ", out);
    }
    if (b->kind == NO_BAR)
        fputs(" | | |\n", out);
    else
        fprintf(out, " | %s %.4g%s%s | %s |\n", b->kind == AT_MOST ? "≤" : "≥", b->limit,
                b->floor || !*b->unit ? "" : " ", b->floor ? "" : b->unit, ok ? "pass" : "MISS");
    return !ok;
}

int results_print(FILE *out)
{
    int missed = 0;

    fputs("| what | holdfast | floor | ratio (range) | bar | result |\n"
          "|---|---:|---:|---:|---:|---|\n",
          out);
    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++)
        missed += print_bar(out, &bars[i]);
    fputs("\n## Every number\n\n| key | median | least | most | samples |\n"
          "|---|---:|---:|---:|---:|\n",
          out);
    for (size_t i = 0; i < all_n; i++) {
        struct series s = all[i];
        double mid = median(s.v, s.n);

        fprintf(out, "| %s | ", s.key);
        print_value(out, mid, "");
        fputs(" | ", out);
        print_value(out, s.v[0], "");
        fputs(" | ", out);
        print_value(out, s.v[s.n - 1], "");
        fprintf(out, " | %zu |\n", s.n);
    }
    return missed;
}
