/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_file_gather.c - the memory of files that are held for JSON
 */
#include "dialects/common/file_gather.h"
#include "test.h"

#include <errno.h>

#include "base/limits.h"
#include "base/loop.h"

TEST(the_files_of_one_dialect_share_their_memory)
{
    struct loop *loop = loop_new();
    struct dialect_base b = {0};
    struct http_options options;
    struct http_server *server;
    struct hf_error err = {0};
    size_t first = 0, second = 0;

    http_options_default(&options);
    b.host.server = server = http_server_new(loop, &options);
    EXPECT_INT(file_gather_hold(&b, &first, LIMIT_GATHER_BYTES - 2 * GATHER_SMALL_BYTES, &err), 0);
    EXPECT_INT(file_gather_hold(&b, &second, 2 * GATHER_SMALL_BYTES + 1, &err), -EAGAIN);
    EXPECT_INT(err.code, HF_E_overloaded);
    EXPECT_INT(second, 0);
    EXPECT_INT(file_gather_hold(&b, &second, GATHER_SMALL_BYTES, &err), 0);
    EXPECT_INT(file_gather_hold(&b, &first, LIMIT_GATHER_BYTES - GATHER_SMALL_BYTES + 1, &err),
               -EAGAIN);
    EXPECT_INT(file_gather_hold(&b, &second, 0, NULL), 0);
    EXPECT_INT(file_gather_hold(&b, &first, LIMIT_GATHER_BYTES, &err), 0);
    EXPECT_INT(file_gather_hold(&b, &first, 0, NULL), 0);
    EXPECT_INT(b.gathered, 0);
    http_server_free(server);
    loop_free(loop);
}
