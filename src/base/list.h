/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - doubly linked lists through a member of the element
 *
 * A head is a struct list initialised by list_init(). Layer: base.
 */
#ifndef HF_BASE_LIST_H
#define HF_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}
static inline bool list_is_empty(const struct list *l)
{
    return l->next == l;
}
static inline void list_insert(struct list *at, struct list *e)
{
    e->prev = at->prev;
    e->next = at;
    at->prev->next = e;
    at->prev = e;
}
static inline void list_append(struct list *head, struct list *e)
{
    list_insert(head, e);
}
static inline void list_prepend(struct list *head, struct list *e)
{
    list_insert(head->next, e);
}
/* Safe to call twice: a removed element points at itself. */
static inline void list_remove(struct list *e)
{
    e->prev->next = e->next;
    e->next->prev = e->prev;
    list_init(e);
}

#define list_entry(ptr, type, member) ((type *)(((char *)(ptr)) - offsetof(type, member)))
/* The element may be removed (not its neighbour) inside the body. */
#define list_for_each(it, tmp, head)                                                               \
    for ((it) = (head)->next, (tmp) = (it)->next; (it) != (head); (it) = (tmp), (tmp) = (it)->next)

#endif
