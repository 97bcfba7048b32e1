/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_op_command.c - `holdfast file-op`: one file operation, for the daemon
 *
 * See dialects/common/file_op.h for who calls it, and files/files.h for the operations. Layer: cli.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/builtin_commands.h"
#include "files/files.h"

/* Prints why a process could not be started, for platforms whose clients expect it as output. */
static int op_fail(char **args)
{
    int64_t status = 1;

    fprintf(stderr, "%s\n", args[0]);
    return text_to_i64(args[1], 0, 255, &status) ? (int)status : 1;
}

/* `args` come first, of which the first `paths` are made absolute; options may follow. */
static const struct {
    const char *name;
    int args, paths;
    int (*run)(char **args);
} ops[] = {
    {"stat", 1, 1, files_stat},
    {"list", 2, 1, files_list},
    {"read", 1, 1, files_read},
    {"write", 1, 1, files_write},
    {"mkdir", 1, 1, files_mkdir},
    {"move", 2, 2, files_move},
    {"copy", 2, 2, files_copy},
    {"remove", 1, 1, files_remove},
    {"permissions", 1, 1, files_permissions},
    {"pack", 1, 1, files_pack},
    {"unpack", 1, 1, files_unpack},
    {"search", 1, 1, files_search},
    {"find", 2, 1, files_find},
    {"replace", 3, 1, files_replace},
    {"compose", 2, 1, files_compose},
    {"fail", 2, 0, op_fail},
    {"watch", 2, 1, file_op_watch},
};

/* A directory tree takes a descriptor for each level. */
static void raise_files(void)
{
    struct rlimit r;

    if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
        r.rlim_cur = r.rlim_max < 4096 ? r.rlim_max : 4096;
        setrlimit(RLIMIT_NOFILE, &r);
    }
}

static int carry_out(size_t op, char **args)
{
    static char paths[2][PATH_MAX];

    for (int i = 0; i < ops[op].paths; i++) {
        int rc = files_absolute(args[i], paths[i], sizeof paths[i]);

        if (rc < 0)
            return files_fail(-rc, args[i]);
        args[i] = paths[i];
    }
    if (!files_settings(args + ops[op].args))
        return files_fail(EINVAL, args[0]);
    return ops[op].run(args);
}

int file_op_main(int argc, char **argv)
{
    umask(022);
    raise_files();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (argc >= 3 && strcmp(ops[i].name, argv[2]) == 0 && argc >= 3 + ops[i].args)
            return carry_out(i, argv + 3);
    fprintf(stderr, "EINVAL this command is for internal use by the daemon\n");
    return 2;
}
