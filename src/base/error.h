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
    X(not_found, 404, ENOENT, "No such resource")                                                  \
    X(no_such_sandbox, 404, ENOENT, "No such sandbox")                                             \
    X(no_such_process, 404, ESRCH, "No such process")                                              \
    X(no_such_link, 404, ENOENT, "No such link")                                                   \
    X(no_such_session, 404, ESRCH, "No such session")                                              \
    X(method_not_allowed, 405, EINVAL, "Method not allowed")                                       \
    X(not_acceptable, 406, EINVAL, "Not acceptable")                                               \
    X(request_timeout, 408, ETIMEDOUT, "Request took too long")                                    \
    X(tag_in_use, 409, EEXIST, "Tag is in use")                                                    \
    X(session_exists, 409, EEXIST, "Session exists")                                               \
    X(not_a_terminal, 409, ENOTTY, "Process has no terminal")                                      \
    X(not_running, 409, ESRCH, "Process has exited")                                               \
    X(stdin_closed, 409, EPIPE, "Process does not accept input")                                   \
    X(lease_held, 409, EBUSY, "Another viewer holds the lease")                                    \
    X(idempotency_conflict, 409, EEXIST, "Idempotency key was used for another request")           \
    X(offset_gone, 410, ERANGE, "Offset is no longer available")                                   \
    X(length_required, 411, EINVAL, "Length required")                                             \
    X(body_too_large, 413, EMSGSIZE, "Body too large")                                             \
    X(uri_too_long, 414, EMSGSIZE, "Request target too long")                                      \
    X(unsupported_media_type, 415, EINVAL, "Unsupported media type")                               \
    X(range_not_satisfiable, 416, ERANGE, "Offset beyond the output")                              \
    X(expectation_failed, 417, EINVAL, "Expectation failed")                                       \
    X(spawn_failed, 422, EINVAL, "Command could not be started")                                   \
    X(user_unknown, 422, ENOENT, "Unknown user")                                                   \
    X(upgrade_required, 426, EPROTO, "Upgrade required")                                           \
    X(too_many_processes, 429, EAGAIN, "Limit of processes reached")                               \
    X(too_many_viewers, 429, EAGAIN, "Limit of viewers reached")                                   \
    X(too_many_connections, 429, EAGAIN, "Limit of connections reached")                           \
    X(too_many_waits, 429, EAGAIN, "Limit of waiting requests reached")                            \
    X(too_many_tickets, 429, EAGAIN, "Limit of open tickets reached")                              \
    X(too_many_links, 429, EAGAIN, "Limit of links reached")                                       \
    X(too_many_sessions, 429, EAGAIN, "Limit of sessions reached")                                 \
    X(too_many_commands, 429, EAGAIN, "Limit of queued session commands reached")                  \
    X(journal_memory_full, 429, ENOMEM, "Limit of journal memory reached")                         \
    X(too_many_requests, 429, EAGAIN, "Limit of requests reached")                                 \
    X(history_full, 429, ENOSPC, "Limit of history on disk reached")                               \
    X(headers_too_large, 431, EMSGSIZE, "Request headers too large")                               \
    X(internal, 500, EIO, "Internal error")                                                        \
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
    X(http_version_not_supported, 505, EPROTO, "HTTP version not supported")

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
