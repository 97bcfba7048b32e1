/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_redis.c - replies of Redis, in two pieces
 */
#include <stdint.h>
#include <stdlib.h>

#include "gateway/redis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct redis_reader *r = redis_reader_new();
    struct redis_reply *reply;
    size_t cut = size > 0 ? data[0] % size : 0;
    int rc = redis_reader_feed(r, (const char *)data, cut);

    for (int turn = 0; turn < 2 && rc == 0; turn++) {
        while ((rc = redis_reader_next(r, &reply)) == 1)
            redis_reply_free(reply);
        if (rc == 0 && turn == 0)
            rc = redis_reader_feed(r, (const char *)data + cut, size - cut);
    }
    redis_reader_free(r);
    return 0;
}
