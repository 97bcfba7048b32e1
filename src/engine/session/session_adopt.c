/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_adopt.c - restores sessions in a new worker, from the shells the last one left. Layer:
 * engine.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/session/session_own.h"

static char *take_string(const json_t *o, const char *key)
{
    return hf_xstrdup(json_string_value(json_object_get(o, key)));
}

static void adopt_env(struct session *s, json_t *env)
{
    struct spec_env *vars = hf_xalloc((json_object_size(env) + 1) * sizeof *vars);
    size_t n = 0;
    const char *name;
    json_t *v;

    json_object_foreach (env, name, v)
        vars[n++] = (struct spec_env){name, json_string_value(v)};
    session_set_env(s, vars, n);
    free(vars);
}

static struct session *adopt_new(struct engine *e, const json_t *o, const char *id)
{
    struct session *s = session_new(e, id);

    s->listed = true;
    s->spec.cwd = take_string(o, "cwd");
    s->spec.shell = take_string(o, "shell");
    s->spec.metadata = take_string(o, "metadata");
    s->shell_name = take_string(o, "name");
    s->spec.history_bytes = json_integer_value(json_object_get(o, "history_bytes"));
    s->created_wall_ms = json_integer_value(json_object_get(o, "created_ms"));
    adopt_env(s, json_object_get(o, "env"));
    return s;
}

/* A later shell replaces an earlier one, as it was about to when the worker died. */
static void adopt_shell(struct engine *e, struct process *p)
{
    json_auto_t *o = json_parse_own(p->meta.session_json, strlen(p->meta.session_json));
    const char *id = json_string_value(json_object_get(o, "id"));
    uint32_t number = (uint32_t)json_integer_value(json_object_get(o, "number"));
    struct session *s;

    if (id == NULL || p->rec.extra == NULL || p->rec.head->deleting == DELETING_SESSION)
        return;
    s = session_lookup(e, id);
    if (s == NULL)
        s = adopt_new(e, o, id);
    if (s->shell != NULL && s->shell_number > number)
        return;
    s->shell_number = number;
    s->script = (int)json_integer_value(json_object_get(o, "script"));
    shell_attach(s, p);
}

static int by_age(const void *a, const void *b)
{
    const struct session *x = *(struct session *const *)a, *y = *(struct session *const *)b;

    return (x->created_wall_ms > y->created_wall_ms) - (x->created_wall_ms < y->created_wall_ms);
}

/* The list is newest first, and its pages must keep the same order as before. */
static void adopt_order(struct engine *e)
{
    struct session *all[LIMIT_SESSIONS] = {NULL};
    size_t n = 0;
    struct list *it, *tmp;

    list_for_each (it, tmp, &e->sessions)
        if (n < LIMIT_SESSIONS)
            all[n++] = list_entry(it, struct session, link);
    qsort(all, n, sizeof *all, by_age);
    for (size_t i = 0; i < n; i++) {
        list_remove(&all[i]->link);
        list_prepend(&e->sessions, &all[i]->link);
    }
}

static void adopt_command(struct session *s)
{
    struct session_command c;

    s->shell_lost = !shell_is_alive(s);
    if (!session_log_last(shell_log(s->shell), &c))
        return;
    if (!c.ended) {
        s->shell_lost = false;
        run_resume(s, &c);
        return;
    }
    s->cwd = c.cwd.len > 0 ? hf_xstrndup(c.cwd.bytes, c.cwd.len) : NULL;
    if (c.end.shell_replaced)
        s->shell_lost = false;
}

void sessions_adopt(struct engine *e)
{
    struct list *it, *tmp;

    list_for_each (it, tmp, &e->processes) {
        struct process *p = list_entry(it, struct process, link);
        if (p->meta.session_json != NULL)
            adopt_shell(e, p);
    }
    adopt_order(e);
    list_for_each (it, tmp, &e->sessions)
        adopt_command(list_entry(it, struct session, link));
}
