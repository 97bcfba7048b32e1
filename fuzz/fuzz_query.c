/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_query.c - a request target is cut at its first '?' and both parts are decoded
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "transport/url_query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

/* Every segment is there, NUL-terminated, and none can lead elsewhere. */
static void check_path(const char *raw)
{
    struct hf_error err = {0};
    struct path p = {0};
    int rc = path_parse(&p, raw, &err);
    size_t slashes = 0;
    const char *s = p.mem;

    if (rc != 0) {
        check(rc == -EINVAL && err.code == HF_E_bad_path && err.detail[0] != '\0');
        path_fini(&p);
        return;
    }
    for (const char *c = raw; *c != '\0'; c++)
        slashes += *c == '/';
    check(p.count == slashes);
    for (size_t i = 0; i < p.count; i++, s += strlen(s) + 1) {
        check(strcmp(s, ".") != 0 && strcmp(s, "..") != 0);
        for (const char *c = s; *c != '\0'; c++)
            check((unsigned char)*c >= 0x20 && *c != 0x7F);
    }
    path_fini(&p);
}

static void check_query(const char *raw)
{
    struct hf_error err = {0};
    struct url_query q = {0};
    int rc = query_parse(&q, raw, &err);

    if (rc != 0) {
        check(rc == -EINVAL && err.code == HF_E_bad_query && q.count == 0);
        query_fini(&q);
        return;
    }
    check(q.count <= QUERY_PAIRS_MAX);
    for (size_t i = 0; i < q.count; i++) {
        check(strlen(q.list[i].name) + strlen(q.list[i].value) <= strlen(raw));
        check(query_get(&q, q.list[i].name) != NULL);
    }
    if (query_check(&q, "since rows cols mode", &err) == 0)
        check(q.count <= 4);
    else
        check(err.code == HF_E_bad_query);
    if (q.count > 0)
        check(query_check(&q, NULL, &err) != 0);
    query_fini(&q);
}

/* In place and beside must agree, and nothing grows. */
static void check_decode(const char *raw, size_t len, bool plus)
{
    char *beside = hf_xalloc(len + 1), *place = hf_xstrndup(raw, len);
    ssize_t n = url_percent_decode(raw, len, plus, beside);

    check(url_percent_decode(place, len, plus, place) == n);
    check(n == -EINVAL || (n >= 0 && (size_t)n <= len));
    if (n >= 0)
        check(memcmp(beside, place, (size_t)n + 1) == 0 && strlen(beside) == (size_t)n);
    free(beside);
    free(place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *target = hf_xstrndup((const char *)data, size);
    char *query = strchr(target, '?');

    check_decode((const char *)data, size, true);
    check_decode((const char *)data, size, false);
    if (query != NULL)
        *query++ = '\0';
    if (target[0] == '/')
        check_path(target);
    check_query(query != NULL ? query : target);
    free(target);
    return 0;
}
