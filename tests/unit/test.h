/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test.h - the whole harness of the unit tests, with main()
 *
 * Each test_x.c includes this once and becomes a program. Every TEST runs in a
 * child of its own, so that one crash does not hide the rest; a test that
 * leaves a descriptor open, leaks memory (the sanitizer looks at exit), dies or
 * takes longer than TEST_SECONDS has failed. The program ends with the line
 * "N passed, N failed". With arguments only the tests of these names run.
 */
#ifndef HF_TEST_H
#define HF_TEST_H

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SECONDS 30

struct test_case {
    const char *name;
    void (*fn)(void);
    struct test_case *next;
};

static struct test_case *test_first, **test_end = &test_first;
static const char *test_now;
static int test_failures;

static inline void test_register(struct test_case *t)
{
    *test_end = t;
    test_end = &t->next;
}

#define TEST(title)                                                                                \
    static void test_##title(void);                                                                \
    __attribute__((constructor)) static void test_register_##title(void)                           \
    {                                                                                              \
        static struct test_case t = {#title, test_##title, NULL};                                  \
                                                                                                   \
        test_register(&t);                                                                         \
    }                                                                                              \
    static void test_##title(void)

static inline void test_fail_at(const char *file, int line)
{
    test_failures++;
    fprintf(stderr, "%s:%d: %s: ", file, line, test_now);
}

static inline bool test_check(bool ok, const char *file, int line, const char *what)
{
    if (!ok) {
        test_fail_at(file, line);
        fprintf(stderr, "not so: %s\n", what);
    }
    return ok;
}

static inline void test_int(int64_t got, int64_t want, const char *file, int line, const char *what)
{
    if (got != want) {
        test_fail_at(file, line);
        fprintf(stderr, "%s is %" PRId64 ", not %" PRId64 "\n", what, got, want);
    }
}

static inline void test_u64(uint64_t got, uint64_t want, const char *file, int line,
                            const char *what)
{
    if (got != want) {
        test_fail_at(file, line);
        fprintf(stderr, "%s is %" PRIu64 ", not %" PRIu64 "\n", what, got, want);
    }
}

/* Bytes as a C string would show them, at most 512 of them. */
static inline void test_print_bytes(const void *bytes, size_t len)
{
    const unsigned char *p = (const unsigned char *)bytes;

    fprintf(stderr, "(%zu) \"", len);
    for (size_t i = 0; i < len && i < 512; i++) {
        if (p[i] == '"' || p[i] == '\\')
            fprintf(stderr, "\\%c", p[i]);
        else if (p[i] >= 0x20 && p[i] < 0x7f)
            fputc(p[i], stderr);
        else
            fprintf(stderr, "\\x%02x", p[i]);
    }
    fprintf(stderr, len > 512 ? "\"...\n" : "\"\n");
}

static inline void test_bytes(const void *got, size_t got_len, const void *want, size_t want_len,
                              const char *file, int line, const char *what)
{
    if (got_len == want_len && (want_len == 0 || memcmp(got, want, want_len) == 0))
        return;
    test_fail_at(file, line);
    fprintf(stderr, "%s is\n  ", what);
    test_print_bytes(got, got_len);
    fprintf(stderr, "  not\n  ");
    test_print_bytes(want, want_len);
}

static inline void test_str(const char *got, const char *want, const char *file, int line,
                            const char *what)
{
    if (got == NULL || want == NULL) {
        if (got != want) {
            test_fail_at(file, line);
            fprintf(stderr, "%s is %s, not %s\n", what, got == NULL ? "NULL" : got,
                    want == NULL ? "NULL" : want);
        }
        return;
    }
    test_bytes(got, strlen(got), want, strlen(want), file, line, what);
}

#define EXPECT(cond) ((void)test_check((cond), __FILE__, __LINE__, #cond))
#define EXPECT_INT(got, want) test_int((got), (want), __FILE__, __LINE__, #got)
#define EXPECT_U64(got, want) test_u64((got), (want), __FILE__, __LINE__, #got)
#define EXPECT_STR(got, want) test_str((got), (want), __FILE__, __LINE__, #got)
/* `literal` is a string literal; its NUL does not count. */
#define EXPECT_BYTES(got, len, literal)                                                            \
    test_bytes((got), (len), (literal), sizeof(literal) - 1, __FILE__, __LINE__, #got)
/* The same for bytes that are not a literal. */
#define EXPECT_MEM(got, got_len, want, want_len)                                                   \
    test_bytes((got), (got_len), (want), (want_len), __FILE__, __LINE__, #got)
/* For what the rest of the test cannot do without. */
#define REQUIRE(cond)                                                                              \
    do {                                                                                           \
        if (!test_check((cond), __FILE__, __LINE__, #cond))                                        \
            _exit(1);                                                                              \
    } while (0)

static inline int test_count_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;

    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

static inline void test_run_child(const struct test_case *t)
{
    int fds = test_count_fds(), left;

    test_now = t->name;
    alarm(TEST_SECONDS);
    t->fn();
    left = test_count_fds() - fds;
    if (left != 0) {
        test_failures++;
        fprintf(stderr, "%s: %d descriptors left open\n", t->name, left);
    }
    exit(test_failures > 0);
}

static inline bool test_run(const struct test_case *t)
{
    int status = 0;
    pid_t pid;

    fflush(NULL);
    pid = fork();
    if (pid == 0)
        test_run_child(t);
    if (pid < 0 || waitpid(pid, &status, 0) < 0) {
        perror("test.h: fork");
        return false;
    }
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: died of signal %d (%s)\n", t->name, WTERMSIG(status),
                WTERMSIG(status) == SIGALRM ? "took too long" : strsignal(WTERMSIG(status)));
    if (status != 0)
        fprintf(stderr, "FAILED %s\n", t->name);
    return status == 0;
}

static inline bool test_is_wanted(const struct test_case *t, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], t->name) == 0)
            return true;
    }
    return argc < 2;
}

/* malloc() of an absurd size fails as it does outside of the sanitizer. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;

    for (const struct test_case *t = test_first; t != NULL; t = t->next) {
        if (!test_is_wanted(t, argc, argv))
            continue;
        if (test_run(t))
            passed++;
        else
            failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}

#endif
