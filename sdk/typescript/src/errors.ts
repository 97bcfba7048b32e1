// SPDX-License-Identifier: Apache-2.0
//
// errors.ts - the error classes, with the daemon's error codes
//
// `code` is stable and meant for programs; `message` is meant for people. The class
// gives the kind of error, so that callers need no list of codes.

/** The daemon's problem document, as received. */
export interface ProblemBody {
    code?: string;
    detail?: string;
    title?: string;
    status?: number;
    field?: string;
    limit?: string;
    errno?: string;
    path?: string;
    accepted_bytes?: number;
    [key: string]: unknown;
}

export interface ErrorDetails {
    code: string;
    status?: number;
    problem?: ProblemBody;
    cause?: unknown;
}

export class HoldfastError extends Error {
    /** Stable, such as `no_such_process`. */
    readonly code: string;
    /** The HTTP status, if the daemon replied. */
    readonly status?: number;
    /** The whole problem document, with `field`, `limit`, `errno` and `path` where they apply. */
    readonly problem?: ProblemBody;

    constructor(message: string, details: ErrorDetails) {
        super(message, details.cause === undefined ? undefined : { cause: details.cause });
        this.name = new.target.name;
        this.code = details.code;
        this.status = details.status;
        this.problem = details.problem;
    }

    /** Whether the same call may succeed later, unchanged. */
    get retryable(): boolean {
        return this.status === undefined || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
    }
}

/** 400 and other 4xx without a class of their own: the request is invalid. */
export class InvalidRequestError extends HoldfastError {}
/** 401, 403: the token is missing or wrong, or its role does not allow the call. */
export class AuthError extends HoldfastError {}
/** 404, 410: no such process, session or link, or the output is no longer available. */
export class NotFoundError extends HoldfastError {}
/** 409: the process is not in a state that allows the call. */
export class ConflictError extends HoldfastError {}
/** 422: the command could not be started; `problem.errno` and `problem.path` give the reason. */
export class SpawnError extends HoldfastError {}
/** 429: a limit was reached; `problem.limit` names it. */
export class LimitError extends HoldfastError {}
/** 501: this daemon does not support the call. */
export class UnsupportedError extends HoldfastError {}
/** Other 5xx: the daemon is shutting down, or has failed. */
export class UnavailableError extends HoldfastError {}
/** No reply: the connection was refused or lost, or the daemon is unreachable. */
export class ConnectionError extends HoldfastError {}
/** The peer violated the protocol. */
export class ProtocolError extends HoldfastError {}
/** A wait timed out; the process keeps running. */
export class WaitTimeoutError extends HoldfastError {}

function classOf(status: number): typeof HoldfastError {
    if (status === 401 || status === 403) return AuthError;
    if (status === 404 || status === 410) return NotFoundError;
    if (status === 409) return ConflictError;
    if (status === 422) return SpawnError;
    if (status === 429) return LimitError;
    if (status === 501) return UnsupportedError;
    return status >= 500 ? UnavailableError : InvalidRequestError;
}

/** The error for an unsuccessful reply. */
export function errorOfAnswer(status: number, text: string): HoldfastError {
    let problem: ProblemBody | undefined;
    try {
        problem = JSON.parse(text) as ProblemBody;
    } catch {
        problem = undefined;
    }
    const code = typeof problem?.code === 'string' ? problem.code : `http_${status}`;
    const message = problem?.detail ?? problem?.title ?? `the daemon replied with status ${status}`;
    return new (classOf(status))(`${message} (${code})`, { code, status, problem });
}

/** The error for a WebSocket close code that is final; null if a reconnect may succeed. */
export function errorOfClose(code: number, reason: string): HoldfastError | null {
    const suffix = reason ? `: ${reason}` : '';
    switch (code) {
        case 4401: return new AuthError(`the token was replaced${suffix}`, { code: 'token_ended', status: 401 });
        case 4404: return new NotFoundError(`no such process${suffix}`, { code: 'no_such_process', status: 404 });
        case 4410: return new NotFoundError(`the link was revoked or has expired${suffix}`, { code: 'link_ended', status: 410 });
        case 1008: return new AuthError(`not allowed${suffix}`, { code: 'replaced', status: 403 });
        case 1002:
        case 1003:
        case 1007:
        case 1009: return new ProtocolError(`the daemon rejected a frame (${code})${suffix}`, { code: 'protocol' });
        default: return null;
    }
}
