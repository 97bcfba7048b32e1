/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - one reason for a failure: status, stable code and a sentence
 *
 * Filled in where the reason is known, and converted to a platform's format only in its dialect.
 * HF_CODES below lists every code that a client can receive: the documentation and the tests are
 * checked against it. Layer: base.
 */
#ifndef HF_BASE_ERROR_H
#define HF_BASE_ERROR_H

/* name, HTTP status, internal errno, title */
#define HF_CODES(X)                                                                                \
    X(bad_request, 400, EINVAL, "Bad request")                                                     \
    X(bad_json, 400, EINVAL, "Body is not valid JSON")                                             \
    X(bad_type, 400, EINVAL, "Field has the wrong type")                                           \
    X(bad_value, 400, EINVAL, "Field has a value that is not allowed")                             \
    X(missing_field, 400, EINVAL, "Required field is missing")                                     \
    X(unknown_field, 400, EINVAL, "Unknown field")                                                 \
    X(bad_query, 400, EINVAL, "Query parameter is not allowed")                                    \
    X(bad_path, 400, EINVAL, "Path is not valid")                                                  \
    X(bad_signal, 400, EINVAL, "Unknown signal")                                                   \
    X(bad_size, 400, EINVAL, "Terminal size out of range")                                         \
    X(bad_regex, 400, EINVAL, "Regular expression is not valid")                                   \
    X(unauthorized, 401, EACCES, "Not authenticated")                                              \
    X(forbidden, 403, EPERM, "Not allowed for this role")                                          \
    X(origin_refused, 403, EPERM, "Origin is not allowed")                                         \
    X(host_refused, 403, EPERM, "Host is not allowed")                                             \
    X(port_not_allowed, 403, EPERM, "Port is not allowed")                                         \
    X(file_access_denied, 403, EACCES, "File access denied")                                       \
    X(read_only_file_system, 403, EROFS, "File system is read-only")                               \
    X(not_found, 404, ENOENT, "No such resource")                                                  \
    X(no_such_sandbox, 404, ENOENT, "No such sandbox")                                             \
    X(no_such_process, 404, ESRCH, "No such process")                                              \
    X(no_such_link, 404, ENOENT, "No such link")                                                   \
    X(no_such_session, 404, ESRCH, "No such session")                                              \
    X(no_such_file, 404, ENOENT, "No such file")                                                   \
    X(method_not_allowed, 405, EINVAL, "Method not allowed")                                       \
    X(not_acceptable, 406, EINVAL, "Not acceptable")                                               \
    X(request_timeout, 408, ETIMEDOUT, "Request took too long")                                    \
    X(tag_in_use, 409, EEXIST, "Tag is in use")                                                    \
    X(session_exists, 409, EEXIST, "Session exists")                                               \
    X(file_exists, 409, EEXIST, "File exists")                                                     \
    X(not_a_directory, 409, ENOTDIR, "Not a directory")                                            \
    X(is_a_directory, 409, EISDIR, "Is a directory")                                               \
    X(directory_not_empty, 409, ENOTEMPTY, "Directory is not empty")                               \
    X(file_busy, 409, EBUSY, "File is busy")                                                       \
    X(not_a_terminal, 409, ENOTTY, "Process has no terminal")                                      \
    X(not_running, 409, ESRCH, "Process has exited")                                               \
    X(stdin_closed, 409, EPIPE, "Process does not accept input")                                   \
    X(lease_held, 409, EBUSY, "Another viewer holds the lease")                                    \
    X(idempotency_conflict, 409, EEXIST, "Idempotency key was used with another request")          \
    X(offset_gone, 410, ERANGE, "Offset is no longer available")                                   \
    X(length_required, 411, EINVAL, "Length required")                                             \
    X(precondition_failed, 412, ESTALE, "Precondition failed")                                     \
    X(body_too_large, 413, EMSGSIZE, "Body too large")                                             \
    X(file_too_large, 413, EFBIG, "File is too large")                                             \
    X(too_many_files, 413, E2BIG, "Too many files")                                                \
    X(uri_too_long, 414, EMSGSIZE, "Request target too long")                                      \
    X(unsupported_media_type, 415, EINVAL, "Unsupported media type")                               \
    X(range_not_satisfiable, 416, ERANGE, "Offset beyond the output")                              \
    X(expectation_failed, 417, EINVAL, "Expectation failed")                                       \
    X(spawn_failed, 422, EINVAL, "Command could not be started")                                   \
    X(watch_failed, 422, EINVAL, "Directory cannot be watched")                                    \
    X(not_a_file, 422, ENOTSUP, "Not a regular file")                                              \
    X(bad_archive, 422, EBADMSG, "Archive is not valid")                                           \
    X(user_unknown, 422, ENOENT, "Unknown user")                                                   \
    X(upgrade_required, 426, EPROTO, "Upgrade required")                                           \
    X(too_many_processes, 429, EAGAIN, "Process limit reached")                                    \
    X(too_many_viewers, 429, EAGAIN, "Viewer limit reached")                                       \
    X(too_many_connections, 429, EAGAIN, "Connection limit reached")                               \
    X(too_many_waits, 429, EAGAIN, "Limit on waiting requests reached")                            \
    X(too_many_watches, 429, EAGAIN, "Limit on watched directories reached")                       \
    X(too_many_tickets, 429, EAGAIN, "Limit on open tickets reached")                              \
    X(too_many_links, 429, EAGAIN, "Link limit reached")                                           \
    X(too_many_sessions, 429, EAGAIN, "Session limit reached")                                     \
    X(too_many_commands, 429, EAGAIN, "Limit on queued session commands reached")                  \
    X(journal_memory_full, 429, ENOMEM, "Journal memory limit reached")                            \
    X(too_many_requests, 429, EAGAIN, "Request limit reached")                                     \
    X(too_many_transfers, 429, EAGAIN, "Limit on file operations reached")                         \
    X(history_full, 429, ENOSPC, "Limit on history disk space reached")                            \
    X(headers_too_large, 431, EMSGSIZE, "Request headers too large")                               \
    X(internal, 500, EIO, "Internal error")                                                        \
    X(file_failed, 500, EIO, "File operation failed")                                              \
    X(not_implemented, 501, ENOSYS, "Not implemented")                                             \
    X(upstream_unreachable, 502, EHOSTUNREACH, "Sandbox is unreachable")                           \
    X(upstream_failed, 502, EPROTO, "Sandbox sent an invalid or incomplete response")              \
    X(auth_unavailable, 503, EAGAIN, "Authorization is unavailable")                               \
    X(resolver_unavailable, 503, EAGAIN, "Sandbox resolver is unavailable")                        \
    X(upstream_timeout, 504, ETIMEDOUT, "Sandbox took too long")                                   \
    X(shutting_down, 503, ESHUTDOWN, "Daemon is shutting down")                                    \
    X(overloaded, 503, EAGAIN, "Too many unfinished requests")                                     \
    X(no_memory, 503, ENOMEM, "Out of memory")                                                     \
    X(history_unavailable, 503, EIO, "History file is unavailable")                                \
    X(no_pty, 503, ENODEV, "No terminal available")                                                \
    X(http_version_not_supported, 505, EPROTO, "HTTP version not supported")                       \
    X(disk_full, 507, ENOSPC, "Disk is full")                                                      \
    X(quota_exceeded, 507, EDQUOT, "Disk quota exceeded")

/* clang-format off */
enum hf_code {
    HF_OK = 0,
#define X(name, status, err, title) HF_E_##name,
    HF_CODES(X)
#undef X
    HF_CODE_COUNT
};
/* clang-format on */

struct hf_error {
    enum hf_code code;
    char detail[320];       /* a sentence that says what to do */
    char field[64];         /* offending request field, or "" */
    const char *limit;      /* static name of the limit that was hit, or NULL */
    const char *errno_name; /* static, "ENOENT"; or NULL */
    char path[256];         /* path that the system call failed for, or "" */
    const char *allow;      /* static, for 405; or NULL */
};

const char *hf_code_name(enum hf_code code); /* "unknown_field" */
const char *hf_code_title(enum hf_code code);
int hf_code_status(enum hf_code code); /* HTTP status */

/* Fills *err (which may be NULL) and returns the code's negative errno. */
int hf_fail(struct hf_error *err, enum hf_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* The same, with the name of the offending request field. */
int hf_fail_field(struct hf_error *err, enum hf_code code, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

const char *hf_errno_name(int errnum); /* "ENOENT"; "E?" when unknown */

#endif
