/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/tar.h"

/* --- archives ---------------------------------------------------------------------------- */

struct head {
    const char *name, *prefix;
    char type;
    unsigned mode;
    unsigned long size;
};

static void seal(char *block)
{
    unsigned sum = 0;

    memset(block + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++)
        sum += (unsigned char)block[i];
    snprintf(block + 148, 8, "%06o", sum);
}

static void put_head(struct buf *b, const struct head *h)
{
    char block[TAR_BLOCK] = {0};

    snprintf(block, 100, "%s", h->name);
    snprintf(block + 100, 8, "%07o", h->mode);
    snprintf(block + 124, 12, "%011lo", h->size);
    block[156] = h->type;
    memcpy(block + 257, "ustar\00000", 8);
    if (h->prefix != NULL)
        snprintf(block + 345, 155, "%s", h->prefix);
    seal(block);
    buf_put(b, block, sizeof block);
}

static void put_body(struct buf *b, const char *bytes, size_t len)
{
    static const char zeros[TAR_BLOCK];

    buf_put(b, bytes, len);
    buf_put(b, zeros, (TAR_BLOCK - len % TAR_BLOCK) % TAR_BLOCK);
}

static void put_file(struct buf *b, const char *name, const char *text)
{
    put_head(b, &(struct head){name, NULL, '0', 0644, strlen(text)});
    put_body(b, text, strlen(text));
}

static void put_pax(struct buf *b, const char *records)
{
    put_head(b, &(struct head){"PaxHeader", NULL, 'x', 0644, strlen(records)});
    put_body(b, records, strlen(records));
}

static void put_end(struct buf *b)
{
    static const char zeros[2 * TAR_BLOCK];

    buf_put(b, zeros, sizeof zeros);
}

/* What it says in one line: "path:mode=data;" or "path/;", then END, CUT or what is wrong. */
static const char *said(const struct buf *b, size_t piece)
{
    static struct buf out;
    static struct tar_in t;
    size_t at = 0, used;
    enum tar_event e = TAR_MORE;

    buf_fini(&out);
    tar_init(&t);
    while (at < b->len && e != TAR_ERROR && e != TAR_DONE) {
        size_t n = b->len - at < piece ? b->len - at : piece;

        e = tar_feed(&t, buf_data(b) + at, n, &used);
        at += used;
        if (e == TAR_ENTRY && t.kind == TAR_DIR)
            buf_printf(&out, "%s/;", t.path);
        else if (e == TAR_ENTRY && (t.kind == TAR_SYMLINK || t.kind == TAR_HARDLINK))
            buf_printf(&out, "%s%s%s;", t.path, t.kind == TAR_SYMLINK ? "->" : "==", t.link);
        else if (e == TAR_ENTRY && t.kind == TAR_SPECIAL)
            buf_printf(&out, "%s?;", t.path);
        else if (e == TAR_ENTRY)
            buf_printf(&out, "%s:%o=", t.path, t.mode);
        else if (e == TAR_DATA)
            buf_put(&out, t.data, t.data_len);
        else if (e == TAR_END)
            buf_putc(&out, ';');
    }
    buf_puts(&out, e == TAR_DONE ? "END" : e == TAR_ERROR ? t.wrong : "CUT");
    return buf_cstr(&out);
}

/* However it is cut, it says the same. */
#define EXPECT_SAID(b, want)                                                                       \
    do {                                                                                           \
        EXPECT_STR(said(b, SIZE_MAX), want);                                                       \
        EXPECT_STR(said(b, 1), want);                                                              \
        EXPECT_STR(said(b, 511), want);                                                            \
        buf_fini(b);                                                                               \
    } while (0)

/* --- what it reads ------------------------------------------------------------------------ */

TEST(files_and_directories_come_in_order)
{
    struct buf b = {0};

    put_head(&b, &(struct head){"dir/", NULL, '5', 0755, 0});
    put_file(&b, "dir/a.txt", "hello");
    put_file(&b, "empty", "");
    put_head(&b, &(struct head){"run", NULL, '\0', 04755, 2});
    put_body(&b, "#!", 2);
    put_end(&b);
    EXPECT_SAID(&b, "dir/;dir/a.txt:644=hello;empty:644=;run:4755=#!;END");
}

TEST(a_name_may_lie_in_the_prefix_or_in_a_pax_header)
{
    struct buf b = {0};

    put_head(&b, &(struct head){"b", "some/where", '0', 0600, 0});
    put_pax(&b, "16 path=l\xc3\xb6ng/n\n11 mtime=1\n");
    put_file(&b, "ignored", "x");
    put_file(&b, "plain", "y");
    put_end(&b);
    EXPECT_SAID(&b, "some/where/b:600=;l\xc3\xb6ng/n:644=x;plain:644=y;END");
}

TEST(a_size_may_lie_in_a_pax_header)
{
    struct buf b = {0};

    put_pax(&b, "9 size=3\n");
    put_head(&b, &(struct head){"f", NULL, '0', 0644, 0});
    put_body(&b, "abc", 3);
    put_end(&b);
    EXPECT_SAID(&b, "f:644=abc;END");
}

TEST(a_global_header_is_passed_over)
{
    struct buf b = {0};

    put_head(&b, &(struct head){"g", NULL, 'g', 0644, 11});
    put_body(&b, "11 a=12345\n", 11);
    put_file(&b, "f", "x");
    put_end(&b);
    EXPECT_SAID(&b, "f:644=x;END");
}

TEST(links_say_what_they_lead_to_and_special_files_are_named)
{
    struct buf b = {0};

    put_head(&b, &(struct head){"l", NULL, '2', 0777, 0});
    memcpy(buf_data(&b) + 157, "../to", 5);
    seal(buf_data(&b));
    put_pax(&b, "17 linkpath=over\n");
    put_head(&b, &(struct head){"h", NULL, '1', 0644, 0});
    put_head(&b, &(struct head){"fifo", NULL, '6', 0644, 0});
    put_head(&b, &(struct head){"odd", NULL, 'S', 0644, 3});
    put_body(&b, "abc", 3);
    put_file(&b, "f", "x");
    put_end(&b);
    EXPECT_SAID(&b, "l->../to;h==over;fifo?;odd?;f:644=x;END");
}

TEST(names_and_sizes_may_be_in_the_way_of_gnu)
{
    struct buf b = {0};
    size_t at;

    put_head(&b, &(struct head){"././@LongLink", NULL, 'L', 0644, 7});
    put_body(&b, "lo/ng/", 7);
    put_head(&b, &(struct head){"././@LongLink", NULL, 'K', 0644, 4});
    put_body(&b, "far", 4);
    put_head(&b, &(struct head){"short", NULL, '2', 0777, 0});
    at = b.len;
    put_file(&b, "f", "xyz");
    memcpy(buf_data(&b) + at + 124, "\x80\0\0\0\0\0\0\0\0\0\0\3", 12);
    seal(buf_data(&b) + at);
    put_end(&b);
    EXPECT_SAID(&b, "lo/ng->far;f:644=xyz;END");
}

TEST(paths_are_made_plain_and_relative)
{
    struct buf b = {0};

    put_file(&b, "/etc//./passwd", "x");
    put_head(&b, &(struct head){"./", NULL, '5', 0755, 0});
    put_file(&b, "..a/b..", "y");
    put_end(&b);
    EXPECT_SAID(&b, "etc/passwd:644=x;/;..a/b..:644=y;END");
}

/* --- what it refuses ------------------------------------------------------------------------ */

#define OUT "a path in the archive leads outside the target directory or is too long"
#define PAX "an extended archive header is damaged or leads outside the target directory"

TEST(no_path_leads_out)
{
    static const char *const names[] = {"..", "../x", "a/../../x", "a/..", "/../x"};
    struct buf b = {0};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        put_file(&b, names[i], "x");
        put_end(&b);
        EXPECT_SAID(&b, OUT);
    }
    put_pax(&b, "13 path=a/..\n");
    put_file(&b, "f", "x");
    EXPECT_SAID(&b, PAX);
}

TEST(damage_in_an_extended_name_is_told)
{
    struct buf b = {0};

    put_head(&b, &(struct head){"LongLink", NULL, 'L', 0644, 5});
    put_body(&b, "a/../", 5);
    put_file(&b, "f", "x");
    EXPECT_SAID(&b, PAX);
    put_pax(&b, "19 path=a/\0b/../../c\n");
    put_file(&b, "f", "x");
    EXPECT_SAID(&b, PAX);
}

TEST(damage_is_told)
{
    struct buf b = {0};

    put_file(&b, "f", "x");
    buf_data(&b)[3] = 'z';
    EXPECT_SAID(&b, "an archive header is damaged");
    put_pax(&b, "99 path=a\n");
    EXPECT_SAID(&b, PAX);
    put_pax(&b, "path=a\n");
    EXPECT_SAID(&b, PAX);
    put_pax(&b, "9 size=x\n");
    EXPECT_SAID(&b, PAX);
    put_head(&b, &(struct head){"x", NULL, 'x', 0644, TAR_PAX_BYTES + 1});
    EXPECT_SAID(&b, "an extended archive header is too large");
    put_head(&b, &(struct head){"f", NULL, '0', 0644, 077777777777});
    b.len = TAR_BLOCK;
    EXPECT_SAID(&b, "f:644=CUT");
    put_file(&b, "", "x");
    EXPECT_SAID(&b, "a file in the archive has no name");
}

TEST(one_that_is_cut_short_does_not_look_complete)
{
    struct buf b = {0};

    put_file(&b, "f", "hello");
    EXPECT_SAID(&b, "f:644=hello;CUT");
    put_file(&b, "f", "hello");
    b.len = TAR_BLOCK + 2;
    EXPECT_SAID(&b, "f:644=heCUT");
}
