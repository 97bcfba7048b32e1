/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oc_mime.c - the media type of a file, by the end of its name. Layer: dialects.
 */
#include <string.h>
#include <strings.h>

#include "dialects/opencode/opencode.h"

static const struct {
    const char *end, *type;
} rows[] = {
    {"7z", "application/x-7z-compressed"},
    {"avif", "image/avif"},
    {"bmp", "image/bmp"},
    {"bz2", "application/x-bzip2"},
    {"c", "text/x-c"},
    {"cjs", "application/node"},
    {"css", "text/css"},
    {"csv", "text/csv"},
    {"doc", "application/msword"},
    {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    {"gif", "image/gif"},
    {"gz", "application/gzip"},
    {"h", "text/x-c"},
    {"htm", "text/html"},
    {"html", "text/html"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ini", "text/plain"},
    {"jar", "application/java-archive"},
    {"java", "text/x-java-source"},
    {"jpeg", "image/jpeg"},
    {"jpg", "image/jpeg"},
    {"js", "text/javascript"},
    {"json", "application/json"},
    {"jsx", "text/jsx"},
    {"log", "text/plain"},
    {"markdown", "text/markdown"},
    {"md", "text/markdown"},
    {"mdx", "text/mdx"},
    {"mjs", "text/javascript"},
    {"mp3", "audio/mpeg"},
    {"mp4", "video/mp4"},
    {"ogg", "audio/ogg"},
    {"otf", "font/otf"},
    {"pdf", "application/pdf"},
    {"png", "image/png"},
    {"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    {"sh", "application/x-sh"},
    {"sql", "application/x-sql"},
    {"svg", "image/svg+xml"},
    {"tar", "application/x-tar"},
    {"tgz", "application/gzip"},
    {"tif", "image/tiff"},
    {"tiff", "image/tiff"},
    {"toml", "application/toml"},
    {"ts", "video/mp2t"},
    {"ttf", "font/ttf"},
    {"txt", "text/plain"},
    {"wasm", "application/wasm"},
    {"wav", "audio/wav"},
    {"webm", "video/webm"},
    {"webp", "image/webp"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"xls", "application/vnd.ms-excel"},
    {"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    {"xml", "text/xml"},
    {"yaml", "text/yaml"},
    {"yml", "text/yaml"},
    {"zip", "application/zip"},
};

const char *oc_mime(const char *path)
{
    const char *base, *end;

    if (path == NULL)
        path = "";
    base = strrchr(path, '/');
    end = strrchr(base != NULL ? base + 1 : path, '.');
    for (size_t i = 0; end != NULL && i < sizeof rows / sizeof *rows; i++)
        if (strcasecmp(end + 1, rows[i].end) == 0)
            return rows[i].type;
    return "application/octet-stream";
}
