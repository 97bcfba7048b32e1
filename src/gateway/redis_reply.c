/* SPDX-License-Identifier: Apache-2.0 */
/*
 * redis_reply.c - parses Redis replies
 *
 * Layer: gateway.
 */
#include "gateway/redis_reply.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LIST_MAX 1024

struct redis_reader {
    redisReader *hiredis;
    size_t fed; /* since the last complete reply */
};

/* NULL for the types of RESP3, which we never request: the reader then fails, as hiredis 0 does. */
static struct redis_reply *reply_new(const redisReadTask *task, enum redis_type type)
{
    struct redis_reply *r, *parent;

    /* The nil of RESP2 is a string or a list of length -1. */
    if (task->type > REDIS_REPLY_ERROR || task->type == REDIS_REPLY_NIL)
        return NULL;
    r = hf_xalloc(sizeof *r);
    r->type = type;
    if (task->parent != NULL) {
        parent = task->parent->obj;
        parent->items[task->idx] = r;
    }
    return r;
}

static enum redis_type text_type(int type)
{
    return type == REDIS_REPLY_ERROR    ? REDIS_FAILURE
           : type == REDIS_REPLY_STATUS ? REDIS_STATUS
                                        : REDIS_TEXT;
}

static void *make_text(const redisReadTask *task, char *text, size_t len)
{
    struct redis_reply *r = reply_new(task, text_type(task->type));

    if (r == NULL)
        return NULL;
    r->text = hf_xstrndup(text, len);
    r->len = len;
    return r;
}

#if HIREDIS_MAJOR >= 1
typedef size_t list_count;
#else
typedef int list_count;
#endif

static void *make_list(const redisReadTask *task, list_count count)
{
    struct redis_reply *r;

    if ((size_t)count > LIST_MAX)
        return NULL; /* the reader fails */
    r = reply_new(task, REDIS_LIST);
    if (r == NULL)
        return NULL;
    r->count = (size_t)count;
    r->items = count > 0 ? hf_xalloc(r->count * sizeof(struct redis_reply *)) : NULL;
    return r;
}

static void *make_number(const redisReadTask *task, long long value)
{
    struct redis_reply *r = reply_new(task, REDIS_NUMBER);

    if (r != NULL)
        r->number = value;
    return r;
}

#if HIREDIS_MAJOR >= 1
/* Without these two functions, the reader would return the number of the type as the reply. */
static void *make_double(const redisReadTask *task, double value, char *text, size_t len)
{
    (void)task, (void)value, (void)text, (void)len;
    return NULL;
}

static void *make_bool(const redisReadTask *task, int value)
{
    (void)task, (void)value;
    return NULL;
}
#endif

static void *make_nil(const redisReadTask *task)
{
    return reply_new(task, REDIS_NIL);
}

static void free_object(void *object)
{
    redis_reply_free(object);
}

static redisReplyObjectFunctions functions = {
    .createString = make_text,
    .createArray = make_list,
    .createInteger = make_number,
    .createNil = make_nil,
#if HIREDIS_MAJOR >= 1
    .createDouble = make_double,
    .createBool = make_bool,
#endif
    .freeObject = free_object,
};

void redis_reply_free(struct redis_reply *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->count; i++)
        redis_reply_free(r->items[i]);
    free(r->items);
    free(r->text);
    free(r);
}

struct redis_reader *redis_reader_new(void)
{
    struct redis_reader *r = hf_xalloc(sizeof *r);

    r->hiredis = redisReaderCreateWithFunctions(&functions);
    if (r->hiredis == NULL)
        abort();
    return r;
}

void redis_reader_free(struct redis_reader *r)
{
    if (r == NULL)
        return;
    redisReaderFree(r->hiredis);
    free(r);
}

int redis_reader_feed(struct redis_reader *r, const char *bytes, size_t len)
{
    r->fed += len;
    if (r->fed > REDIS_REPLY_MAX_BYTES)
        return -EPROTO;
    return redisReaderFeed(r->hiredis, bytes, len) == REDIS_OK ? 0 : -EPROTO;
}

int redis_reader_next(struct redis_reader *r, struct redis_reply **out)
{
    void *object = NULL;

    if (redisReaderGetReply(r->hiredis, &object) != REDIS_OK)
        return -EPROTO;
    if (object == NULL)
        return 0;
    r->fed = 0;
    *out = object;
    return 1;
}
