/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/upgrade.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/text.h"

#define ANSWER_MAX_BYTES 65536

static const char usage[] =
    "usage: holdfast upgrade [--url URL] [--token-file FILE]\n\n"
    "Lets a running daemon put the binary at its own path in place, without ending\n"
    "a process or refusing a connection. SIGHUP does the same.\n\n"
    "  --url URL          http://ADDRESS:PORT or unix:PATH (HOLDFAST_URL, http://127.0.0.1:7070)\n"
    "  --token-file FILE  the token (HOLDFAST_TOKEN)\n";

static int dial_unix(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        io_close(&fd);
    return fd;
}

/* "127.0.0.1:7070" or "[::1]:7070" or "localhost:7070": addresses only, no look-up. */
static int dial_tcp(const char *host_port)
{
    char host[64];
    const char *colon = strrchr(host_port, ':');
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    uint64_t port;
    int fd;

    if (colon == NULL || (size_t)(colon - host_port) >= sizeof host ||
        !text_to_u64(colon + 1, 65535, &port))
        return -1;
    memcpy(host, host_port, (size_t)(colon - host_port));
    host[colon - host_port] = '\0';
    v4.sin_port = v6.sin6_port = htons((uint16_t)port);
    if (host[0] == '[') {
        host[strcspn(host, "]")] = '\0';
        if (inet_pton(AF_INET6, host + 1, &v6.sin6_addr) != 1)
            return -1;
        fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, (struct sockaddr *)&v6, sizeof v6) < 0)
            io_close(&fd);
        return fd;
    }
    if (inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, &v4.sin_addr) != 1)
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&v4, sizeof v4) < 0)
        io_close(&fd);
    return fd;
}

static int dial(const char *url)
{
    char address[160];

    if (strncmp(url, "unix:", 5) == 0)
        return dial_unix(url + 5);
    if (strncmp(url, "http://", 7) != 0)
        return -1;
    snprintf(address, sizeof address, "%s", url + 7);
    address[strcspn(address, "/")] = '\0';
    return dial_tcp(address);
}

/* The status of the answer, or 0. */
static int ask(int fd, const char *token)
{
    struct buf text = {0};
    char answer[256];
    int64_t code;
    ssize_t n;
    int status = 0;

    buf_puts(
        &text,
        "POST /v1/upgrade HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n");
    if (token != NULL)
        buf_printf(&text, "Authorization: Bearer %s\r\n", token);
    buf_puts(&text, "\r\n");
    n = send(fd, buf_data(&text), text.len, MSG_NOSIGNAL);
    buf_wipe(&text);
    if (n > 0 && recv(fd, answer, sizeof answer, 0) > 12) {
        answer[12] = '\0';
        status = text_to_i64(answer + 9, 100, 999, &code) ? (int)code : 0;
    }
    return status;
}

/* The first token of the file that is for everything. */
static char *read_token(const char *file)
{
    struct buf text = {0};
    char *line, *save = NULL, *found = NULL, *all;

    if (file == NULL)
        return hf_xstrdup(getenv("HOLDFAST_TOKEN"));
    if (io_read_file(file, ANSWER_MAX_BYTES, &text) < 0)
        return NULL;
    all = hf_xstrdup(buf_cstr(&text));
    for (line = strtok_r(all, "\n", &save); line != NULL && found == NULL;
         line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "own ", 4) == 0)
            found = hf_xstrdup(line + 4);
        else if (line[0] != '#' && line[0] != '\0' && strchr(line, ' ') == NULL)
            found = hf_xstrdup(line);
    }
    free(all);
    buf_wipe(&text);
    return found;
}

int upgrade_main(int argc, char **argv)
{
    const char *url = getenv("HOLDFAST_URL"), *file = NULL;
    char *token;
    int i, fd, status;

    for (i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--url") == 0 && i + 1 < argc) {
            url = argv[++i];
        } else if (strcmp(argv[i], "--token-file") == 0 && i + 1 < argc) {
            file = argv[++i];
        } else {
            fputs(usage, strcmp(argv[i], "--help") == 0 ? stdout : stderr);
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
    }
    if (url == NULL)
        url = "http://127.0.0.1:7070";
    fd = dial(url);
    if (fd < 0) {
        fprintf(stderr, "holdfast upgrade: no daemon answers at %s; give --url\n", url);
        return 1;
    }
    token = read_token(file);
    status = ask(fd, token);
    free(token);
    close(fd);
    if (status / 100 == 2)
        return 0;
    fprintf(stderr,
            status == 401 ? "holdfast upgrade: the token is not accepted; give --token-file\n"
                          : "holdfast upgrade: the daemon answered %d\n",
            status);
    return 1;
}
