/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cf_mime.c - kinds of files. Layer: dialects.
 */
#include "dialects/cloudflare/cf_mime.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

static const struct {
    const char *ending, *type;
} types[] = {
    {"txt", "text/plain"},
    {"log", "text/plain"},
    {"md", "text/markdown"},
    {"html", "text/html"},
    {"htm", "text/html"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"js", "text/javascript"},
    {"mjs", "text/javascript"},
    {"cjs", "text/javascript"},
    {"jsx", "text/javascript"},
    {"ts", "text/javascript"},
    {"tsx", "text/javascript"},
    {"py", "text/x-python"},
    {"c", "text/x-c"},
    {"h", "text/x-c"},
    {"yaml", "text/yaml"},
    {"yml", "text/yaml"},
    {"json", "application/json"},
    {"map", "application/json"},
    {"toml", "application/toml"},
    {"sh", "application/x-sh"},
    {"sql", "application/sql"},
    {"xml", "application/xml"},
    {"rtf", "application/rtf"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"ico", "image/x-icon"},
    {"pdf", "application/pdf"},
    {"zip", "application/zip"},
    {"gz", "application/gzip"},
    {"tgz", "application/gzip"},
    {"tar", "application/x-tar"},
    {"wasm", "application/wasm"},
    {"mp3", "audio/mpeg"},
    {"wav", "audio/wav"},
    {"ogg", "audio/ogg"},
    {"mp4", "video/mp4"},
    {"webm", "video/webm"},
    {"ttf", "font/ttf"},
    {"otf", "font/otf"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
};

static bool is_utf8(const char *bytes, size_t len)
{
    struct utf8_check c = {0};

    return utf8_check_feed(&c, bytes, len) && (len == 0 || memchr(bytes, '\0', len) == NULL);
}

const char *cf_mime_type(const char *path, const char *bytes, size_t len)
{
    const char *name = strrchr(path, '/'), *dot;

    name = name != NULL ? name + 1 : path;
    dot = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && dot != name && i < sizeof types / sizeof *types; i++)
        if (strcasecmp(dot + 1, types[i].ending) == 0)
            return types[i].type;
    if (len == 0)
        return "inode/x-empty";
    return is_utf8(bytes, len) ? "text/plain" : "application/octet-stream";
}

static bool is_text_type(const char *type)
{
    static const char *const texts[] = {"application/json", "application/toml", "application/x-sh",
                                        "application/sql",  "application/xml",  "application/rtf",
                                        "image/svg+xml",    "inode/x-empty"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(type, texts[i]) == 0)
            return true;
    return strncmp(type, "text/", 5) == 0;
}

bool cf_mime_is_text(const char *type, const char *bytes, size_t len)
{
    struct utf8_check c = {0};

    return is_text_type(type) && utf8_check_feed(&c, bytes, len);
}
