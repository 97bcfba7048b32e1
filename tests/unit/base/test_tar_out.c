/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/tar_out.h"

/* What tar.c reads from what tar_out.c wrote: "path|kind|mode|size|link;". */
static const char *read_back(const struct buf *b)
{
    static struct buf out;
    static struct tar_in t;
    size_t at = 0, used;
    enum tar_event e = TAR_MORE;

    buf_fini(&out);
    tar_init(&t);
    while (at < b->len && e != TAR_ERROR && e != TAR_DONE) {
        e = tar_feed(&t, buf_data(b) + at, b->len - at, &used);
        at += used;
        if (e == TAR_ENTRY)
            buf_printf(&out, "%s|%d|%o|%llu|%s;", t.path, (int)t.kind, t.mode,
                       (unsigned long long)t.size, t.link);
    }
    buf_puts(&out, e == TAR_DONE ? "END" : e == TAR_ERROR ? t.wrong : "CUT");
    return buf_cstr(&out);
}

TEST(what_is_written_is_read_again)
{
    struct buf b = {0}, want = {0};
    char path[300], link[200];

    memset(path, 'p', sizeof path);
    path[sizeof path - 1] = '\0';
    memset(link, 'l', sizeof link);
    link[sizeof link - 1] = '\0';
    tar_out_header(&b, &(struct tar_out_entry){.path = "dir", .kind = TAR_DIR, .mode = 0755});
    tar_out_header(
        &b, &(struct tar_out_entry){.path = path, .link = link, .kind = TAR_SYMLINK, .mode = 0777});
    tar_out_header(&b, &(struct tar_out_entry){.path = path, .kind = TAR_FILE, .mode = 0640});
    tar_out_end(&b);
    buf_printf(&want, "dir|1|755|0|;%s|2|777|0|%s;%s|0|640|0|;END", path, link, path);
    EXPECT_STR(read_back(&b), buf_cstr(&want));
    buf_fini(&b);
    buf_fini(&want);
}

/* In the header itself, as far as it has digits for them, and else in a record of their own. */
TEST(owners_and_all_the_bits_of_a_mode_are_read_again)
{
    static const uint32_t ids[] = {0, 65534, 2097151, 2097152, 4294967294};
    static struct tar_in t;
    size_t used, at;

    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        struct tar_out_entry e = {.path = "f", .kind = TAR_FILE, .mode = 06755};
        struct buf b = {0};

        e.uid = ids[i];
        e.gid = ids[sizeof ids / sizeof *ids - 1 - i];
        tar_out_header(&b, &e);
        tar_init(&t);
        for (at = 0; at < b.len; at += used)
            if (tar_feed(&t, buf_data(&b) + at, b.len - at, &used) == TAR_ENTRY)
                break;
        EXPECT_INT(t.uid, e.uid);
        EXPECT_INT(t.gid, e.gid);
        EXPECT_INT(t.mode, 06755);
        buf_fini(&b);
    }
}

TEST(a_name_of_exactly_the_field_needs_no_extended_header)
{
    struct buf b = {0};
    char path[102] = {0};

    memset(path, 'n', 100);
    tar_out_header(&b, &(struct tar_out_entry){.path = path, .kind = TAR_FILE});
    EXPECT_INT(b.len, TAR_BLOCK);
    path[100] = 'n';
    tar_out_header(&b, &(struct tar_out_entry){.path = path, .kind = TAR_FILE});
    EXPECT_INT(b.len, 4 * TAR_BLOCK);
    buf_fini(&b);
}

TEST(a_size_above_eight_gigabytes_is_kept)
{
    struct buf b = {0};

    tar_out_header(&b, &(struct tar_out_entry){
                           .path = "f", .kind = TAR_FILE, .mode = 0600, .size = 9ULL << 30});
    EXPECT_STR(read_back(&b), "f|0|600|9663676416|;CUT");
    buf_fini(&b);
}

TEST(padding_fills_the_block)
{
    EXPECT_INT(tar_out_padding(0), 0);
    EXPECT_INT(tar_out_padding(1), 511);
    EXPECT_INT(tar_out_padding(512), 0);
    EXPECT_INT(tar_out_padding(513), 511);
}
