/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - the programs that the matrix's daemon runs: what they write follows from what they read
 *
 *   program terminal CODE       raw terminal; "ready", then an answer to each line of input; "quit" ends it
 *   program pipe CODE LINES     numbered lines to both streams, then the input's echo with its count, up to its end
 *   program flood CODE LINES    numbered lines as fast as they are taken
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static void terminal(void)
{
    struct termios raw;
    struct winsize size;
    char line[4096];

    if (tcgetattr(0, &raw) < 0)
        exit(99);
    cfmakeraw(&raw);
    if (tcsetattr(0, TCSANOW, &raw) < 0)
        exit(98);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    printf("ready\n");
    for (unsigned n = 0; fgets(line, sizeof line, stdin) != NULL && strcmp(line, "quit\n") != 0;
         n++) {
        if (strcmp(line, "size\n") == 0 && ioctl(0, TIOCGWINSZ, &size) == 0)
            printf("%u size %ux%u\n", n, size.ws_row, size.ws_col);
        else
            printf("%u got %s", n, line);
    }
}

static void numbers(const char *name, FILE *to, long from, long count)
{
    for (long i = from; i < from + count; i++)
        fprintf(to, "%s %ld of a known text\n", name, i);
    fflush(to);
}

static void lines(long count)
{
    char line[4096];
    long n = 0;

    for (long i = 0; i < count; i += 10) {
        numbers("out", stdout, i, 10);
        numbers("err", stderr, i, 10);
    }
    while (fgets(line, sizeof line, stdin) != NULL)
        printf("%ld %s", n++, line);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 97;
    if (strcmp(argv[1], "terminal") == 0)
        terminal();
    else if (strcmp(argv[1], "pipe") == 0)
        lines(atol(argv[3]));
    else
        numbers("flood", stdout, 0, atol(argv[3]));
    fflush(stdout);
    if (atoi(argv[2]) == 9)
        raise(SIGKILL);
    return atoi(argv[2]);
}
