/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_regex.c - the first line is a pattern, the rest is what it is run over
 *
 * Chunk borders and questions in between must not change the answer, and a
 * match must be told as soon as the byte after its end is there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto.h"
#include "engine/match/regex.h"

#define BASE 1000
#define PATTERN_MAX 256 /* the states grow with it, and the time with the states */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct answer {
    enum regex_result result;
    struct regex_match match;
};

static void check(int ok)
{
    if (!ok)
        abort();
}

static int same(struct answer a, struct answer b)
{
    return a.result == b.result && (a.result == REGEX_MORE ||
                                    (a.match.start == b.match.start && a.match.end == b.match.end));
}

/* Chunk sizes come from `seed`; 0 feeds all at once. */
static struct answer run(const struct regex *re, const uint8_t *text, size_t len, uint64_t seed)
{
    struct regex_run *r = regex_run_new(re, BASE);
    struct answer a = {REGEX_MORE, {0, 0}};

    check(r != NULL);
    for (size_t i = 0, n; i < len && a.result == REGEX_MORE; i += n) {
        seed = seed * 6364136223846793005u + (seed != 0);
        n = seed == 0 ? len : 1 + (seed >> 40) % 7;
        n = n < len - i ? n : len - i;
        a.result = regex_run_feed(r, text + i, n, &a.match);
    }
    regex_run_free(r);
    return a;
}

/* Asks for the end after every byte; an answer then may come early, but never late. */
static struct answer run_asking(const struct regex *re, const uint8_t *text, size_t len)
{
    struct regex_run *r = regex_run_new(re, BASE);
    struct answer a = {REGEX_MORE, {0, 0}}, end;

    check(r != NULL);
    for (size_t i = 0; i < len && a.result == REGEX_MORE; i++) {
        a.result = regex_run_feed(r, text + i, 1, &a.match);
        if (a.result == REGEX_MORE && regex_run_finish(r, &end.match) == REGEX_MATCH) {
            check(end.match.start <= end.match.end && end.match.end == BASE + i + 1);
            a.result = REGEX_MATCH;
            a.match = end.match;
        }
    }
    regex_run_free(r);
    return a;
}

static void check_run(const struct regex *re, const uint8_t *text, size_t len)
{
    struct answer whole = run(re, text, len, 0), asked;

    check(same(whole, run(re, text, len, crypto_hash(text, len) | 1)));
    asked = run_asking(re, text, len);
    if (whole.result == REGEX_MORE)
        return;
    check(whole.match.start >= BASE && whole.match.start <= whole.match.end);
    check(whole.match.end <= BASE + len);
    check(asked.result == REGEX_MATCH && asked.match.end <= whole.match.end);
    if (whole.match.end < BASE + len)
        check(same(whole, run(re, text, whole.match.end - BASE + 1, 0)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *line = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t len = line != NULL ? (size_t)(line - data) : size;
    struct hf_error err = {0};
    struct regex *re;

    if (len > PATTERN_MAX)
        return 0;
    re = regex_new((const char *)data, len, &err);
    check((re == NULL) == (err.code == HF_E_bad_regex));
    if (re != NULL && line != NULL)
        check_run(re, line + 1, size - len - 1);
    regex_free(re);
    return 0;
}
