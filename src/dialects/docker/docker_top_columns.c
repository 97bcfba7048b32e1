/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docker_top_columns.c - the columns and cells of the table that ps would print. Layer: dialects.
 */
#include "dialects/docker/docker_top_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/braces.h"
#include "base/clock.h"

#define DAY_MS (24LL * 3600 * 1000)

/* --- cells ------------------------------------------------------------------------ */

typedef void cell_fn(const struct top_row *r, struct buf *out);

static void cell_user(const struct top_row *r, struct buf *out)
{
    if (r->user[0] != '\0')
        buf_puts(out, r->user);
    else
        buf_printf(out, "%" PRId64, r->uid);
}

static uint64_t cpu_permille(const struct top_row *r)
{
    return r->age_ms > 0 ? r->cpu_ms / r->age_ms * 1000 + r->cpu_ms % r->age_ms * 1000 / r->age_ms
                         : 0;
}

static void cell_c(const struct top_row *r, struct buf *out)
{
    buf_printf(out, "%" PRIu64, cpu_permille(r) / 10);
}

static void put_permille(struct buf *out, uint64_t n)
{
    buf_printf(out, "%" PRIu64 ".%" PRIu64, n / 10, n % 10);
}

static void cell_cpu(const struct top_row *r, struct buf *out)
{
    put_permille(out, cpu_permille(r));
}

static void cell_mem(const struct top_row *r, struct buf *out)
{
    put_permille(out, r->total_kib > 0 ? (uint64_t)r->rss_kib * 1000 / r->total_kib : 0);
}

static void cell_stat(const struct top_row *r, struct buf *out)
{
    buf_putc(out, r->state);
}

/* The hour for today, in UTC because a static binary knows no other zone; else the day. */
static void cell_start(const struct top_row *r, struct buf *out)
{
    char date[CLOCK_HTTP_DATE_LEN + 1], text[CLOCK_RFC3339_LEN + 1];

    clock_rfc3339(r->start_wall_ms, text);
    clock_http_date(r->start_wall_ms, date);
    if (r->age_ms < DAY_MS)
        buf_put(out, text + 11, 5);
    else
        buf_printf(out, "%.3s%.2s", date + 8, date + 5);
}

static void cell_tty(const struct top_row *r, struct buf *out)
{
    unsigned major = (r->tty >> 8) & 0xfff, minor = (r->tty & 0xff) | ((r->tty >> 12) & 0xfff00);

    if (r->tty == 0)
        buf_puts(out, "?");
    else if (major >= 136 && major <= 143)
        buf_printf(out, "pts/%u", minor + (major - 136) * 256);
    else
        buf_printf(out, "tty%u", minor);
}

static void cell_time(const struct top_row *r, struct buf *out)
{
    uint64_t s = r->cpu_ms / 1000;

    buf_printf(out, "%02" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60, s % 60);
}

/* [[DD-]HH:]MM:SS */
static void cell_etime(const struct top_row *r, struct buf *out)
{
    uint64_t s = r->age_ms / 1000;

    if (s >= 24 * 3600)
        buf_printf(out, "%" PRIu64 "-", s / (24 * 3600));
    if (s >= 3600)
        buf_printf(out, "%02" PRIu64 ":", s / 3600 % 24);
    buf_printf(out, "%02" PRIu64 ":%02" PRIu64, s / 60 % 60, s % 60);
}

static void cell_comm(const struct top_row *r, struct buf *out)
{
    buf_puts(out, r->comm);
}

static void cell_args(const struct top_row *r, struct buf *out)
{
    if (r->args.len > 0)
        buf_put(out, buf_data(&r->args), r->args.len);
    else
        buf_printf(out, "[%s]", r->comm);
}

/* --- columns ------------------------------------------------------------------------- */

#define NUMBER(name, title, field) BRACES(name, title, NULL, offsetof(struct top_row, field))

static const struct column {
    const char *name, *title;
    cell_fn *cell; /* NULL: a number of the row */
    size_t offset;
} columns[] = {
    NUMBER("pid", "PID", pid),
    NUMBER("ppid", "PPID", ppid),
    NUMBER("pgid", "PGID", pgid),
    NUMBER("sid", "SID", sid),
    NUMBER("uid", "UID", uid),
    {"user", "USER", cell_user, 0},
    {"uname", "USER", cell_user, 0},
    {"c", "C", cell_c, 0},
    {"pcpu", "%CPU", cell_cpu, 0},
    {"%cpu", "%CPU", cell_cpu, 0},
    {"pmem", "%MEM", cell_mem, 0},
    {"%mem", "%MEM", cell_mem, 0},
    NUMBER("vsz", "VSZ", vsz_kib),
    NUMBER("rss", "RSS", rss_kib),
    {"tty", "TT", cell_tty, 0},
    {"tt", "TT", cell_tty, 0},
    {"tname", "TTY", cell_tty, 0},
    {"stat", "STAT", cell_stat, 0},
    {"s", "S", cell_stat, 0},
    {"state", "S", cell_stat, 0},
    NUMBER("ni", "NI", nice),
    NUMBER("nlwp", "NLWP", threads),
    {"stime", "STIME", cell_start, 0},
    {"start", "STARTED", cell_start, 0},
    {"time", "TIME", cell_time, 0},
    {"etime", "ELAPSED", cell_etime, 0},
    {"comm", "COMMAND", cell_comm, 0},
    {"ucmd", "CMD", cell_comm, 0},
    {"cmd", "CMD", cell_args, 0},
    {"args", "COMMAND", cell_args, 0},
    {"command", "COMMAND", cell_args, 0},
    {"uidname", "UID", cell_user, 0},
    {"begin", "START", cell_start, 0},
};
#define FULL "uidname,pid,ppid,c,stime,tname,time,cmd"
#define AUX "user,pid,%cpu,%mem,vsz,rss,tname,stat,begin,time,command"

static int column_find(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strlen(columns[i].name) == len && memcmp(columns[i].name, name, len) == 0)
            return (int)i;
    return -1;
}

static int add_columns(struct top_columns *c, const char *list, struct hf_error *err)
{
    for (;;) {
        size_t len;
        int column;

        list += strspn(list, ", ");
        if (*list == '\0')
            return 0;
        len = strcspn(list, ", ");
        column = column_find(list, len);
        if (column < 0)
            return hf_fail(err, HF_E_bad_value, "ps: unknown column '%.*s'",
                           (int)(len < 40 ? len : 40), list);
        if (c->count == TOP_COLUMNS_MAX)
            return hf_fail(err, HF_E_bad_value, "ps: more than %d columns", TOP_COLUMNS_MAX);
        c->list[c->count++] = column;
        list += len;
    }
}

/* After letters that end in 'o': "-o pid", "-eo pid", "o pid", "-opid". */
static const char *list_of(const char *args)
{
    const char *s = args + (*args == '-');
    size_t n = strspn(s, "eAax");

    return s[n] == 'o' ? s + n + 1 : NULL;
}

static bool has_pid(const struct top_columns *c)
{
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(columns[c->list[i]].title, "PID") == 0)
            return true;
    return false;
}

int top_columns_parse(struct top_columns *c, const char *ps_args, struct hf_error *err)
{
    static const char *const full[] = {"", "-ef", "-f", "ef", "-Af", "-fe"};
    static const char *const aux[] = {"aux", "-aux", "au", "u", "axu"};
    const char *args = ps_args != NULL ? ps_args : "", *list = NULL;

    *c = (struct top_columns){0};
    for (size_t i = 0; i < sizeof full / sizeof *full; i++)
        list = strcmp(args, full[i]) == 0 ? FULL : list;
    for (size_t i = 0; i < sizeof aux / sizeof *aux; i++)
        list = strcmp(args, aux[i]) == 0 ? AUX : list;
    if (list == NULL)
        list = list_of(args);
    if (list == NULL)
        return hf_fail(err, HF_E_bad_value,
                       "ps: '%.100s' is not supported; use -ef, aux or -o with columns", args);
    if (add_columns(c, list, err) < 0)
        return -1;
    if (!has_pid(c))
        return hf_fail(err, HF_E_bad_value, "Couldn't find PID field in ps output");
    return 0;
}

const char *top_title(const struct top_columns *c, size_t i)
{
    return columns[c->list[i]].title;
}

void top_cell(const struct top_columns *c, size_t i, const struct top_row *r, struct buf *out)
{
    const struct column *column = &columns[c->list[i]];

    if (column->cell != NULL)
        column->cell(r, out);
    else
        buf_printf(out, "%" PRId64, *(const int64_t *)((const char *)r + column->offset));
}

/* --- /proc/PID/stat ---------------------------------------------------------------------- */

/* Fields of the line after the name, numbered as in proc(5), where the name is the second. */
enum {
    STAT_PPID = 4,
    STAT_PGID = 5,
    STAT_SID = 6,
    STAT_TTY = 7,
    STAT_UTIME = 14,
    STAT_STIME = 15,
    STAT_NICE = 19,
    STAT_THREADS = 20,
    STAT_START = 22,
    STAT_VSZ = 23,
    STAT_RSS = 24,
    STAT_WORDS
};

/* All numbers from the fourth field on; false: there are fewer. */
static bool stat_numbers(const char *text, int64_t *out)
{
    for (int i = STAT_PPID; i < STAT_WORDS; i++) {
        char *end;

        out[i] = strtoll(text, &end, 10);
        if (end == text || (*end != ' ' && *end != '\n' && *end != '\0'))
            return false;
        text = end;
    }
    return true;
}

static uint64_t no_less_than_0(int64_t n)
{
    return n > 0 ? (uint64_t)n : 0;
}

static uint64_t ticks_to_ms(int64_t n, long ticks)
{
    return no_less_than_0(n) / (uint64_t)ticks * 1000 +
           no_less_than_0(n) % (uint64_t)ticks * 1000 / (uint64_t)ticks;
}

static void stat_name(struct top_row *r, const char *name, size_t len)
{
    len = len < sizeof r->comm - 1 ? len : sizeof r->comm - 1;
    memcpy(r->comm, name, len);
    r->comm[len] = '\0';
}

bool top_parse_stat(struct top_row *r, const char *text, long ticks, uint64_t uptime_ms)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    int64_t n[STAT_WORDS];
    uint64_t start_ms;

    if (open == NULL || close == NULL || close < open || ticks <= 0 || close[1] != ' ' ||
        close[2] == '\0' || !stat_numbers(close + 3, n))
        return false;
    stat_name(r, open + 1, (size_t)(close - open - 1));
    r->pid = strtol(text, NULL, 10);
    r->state = close[2];
    r->ppid = n[STAT_PPID];
    r->pgid = n[STAT_PGID];
    r->sid = n[STAT_SID];
    r->tty = (unsigned)n[STAT_TTY];
    r->nice = n[STAT_NICE];
    r->threads = n[STAT_THREADS];
    r->cpu_ms = ticks_to_ms(n[STAT_UTIME], ticks) + ticks_to_ms(n[STAT_STIME], ticks);
    start_ms = ticks_to_ms(n[STAT_START], ticks);
    r->age_ms = uptime_ms > start_ms ? uptime_ms - start_ms : 0;
    r->start_wall_ms = clock_wall_ms() - (int64_t)r->age_ms;
    r->vsz_kib = n[STAT_VSZ] > 0 ? n[STAT_VSZ] / 1024 : 0;
    r->rss_kib = (int64_t)(no_less_than_0(n[STAT_RSS]) * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024));
    return true;
}
