/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/ease.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "keeper/core.h"

bool ease_parse(const char *text, int *nice)
{
    const char *at = strstr(text, " nice ");
    char *end;
    long value;

    if (strncmp(text, "/autogroup-", strlen("/autogroup-")) != 0 || at == NULL)
        return false;
    at += strlen(" nice ");
    value = strtol(at, &end, 10);
    if (end == at || value < -20 || value > 19)
        return false;
    *nice = (int)value;
    return true;
}

static bool ease_read(int fd, int *nice)
{
    char text[64];
    ssize_t n = hf_read(fd, text, sizeof text - 1);

    if (n <= 0)
        return false;
    text[n] = '\0';
    return ease_parse(text, nice);
}

/* From one value to the other; false: it had neither, or there are no autogroups. */
static bool ease_change(pid_t pid, int from, int to)
{
    hf_autoclose int fd = -1;
    char text[32];
    int nice;

    snprintf(text, sizeof text, "/proc/%d/autogroup", (int)pid);
    fd = open(text, O_RDWR | O_CLOEXEC);
    if (fd < 0 || !ease_read(fd, &nice) || nice != from)
        return false;
    snprintf(text, sizeof text, "%d", to);
    return hf_write(fd, text, strlen(text)) > 0;
}

void ease_set(struct entry *e, bool on)
{
    if (e->eased == on || e->pub.exited)
        return;
    if (on)
        e->eased = ease_change(e->pub.pid, 0, EASE_NICE);
    else
        e->eased = !ease_change(e->pub.pid, EASE_NICE, 0);
}

void ease_end(struct keeper *k)
{
    for (struct entry *e = table_first(&k->table); e != NULL; e = table_next(&k->table, e))
        ease_set(e, false);
}
