// SPDX-License-Identifier: Apache-2.0
//
// errors.ts - every way a call can fail, as a class with the daemon's own code
//
// `code` is stable and is what programs look at; `message` is for people. The
// class says which kind it is without a list of codes.

/** The body of a refusal, as the daemon sent it. */
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
    /** HTTP status, if there was an answer. */
    readonly status?: number;
    /** The whole refusal: `field`, `limit`, `errno`, `path` where the daemon knows them. */
    readonly problem?: ProblemBody;

    constructor(message: string, details: ErrorDetails) {
        super(message, details.cause === undefined ? undefined : { cause: details.cause });
        this.name = new.target.name;
        this.code = details.code;
        this.status = details.status;
        this.problem = details.problem;
    }

    /** Whether the same call may succeed later without a change. */
    get retryable(): boolean {
        return this.status === undefined || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504;
    }
}

/** 400 and its relatives: the request itself is wrong. */
export class InvalidRequestError extends HoldfastError {}
/** 401, 403: no token, a wrong one, or a role that may not. */
export class AuthError extends HoldfastError {}
/** 404, 410: no such process, session or link, or output that is gone. */
export class NotFoundError extends HoldfastError {}
/** 409: the process is not in the state for this. */
export class ConflictError extends HoldfastError {}
/** 422: the command could not be started; `problem.errno` and `problem.path` say why. */
export class SpawnError extends HoldfastError {}
/** 429: a limit was reached; `problem.limit` names it. */
export class LimitError extends HoldfastError {}
/** 501: this daemon does not serve the call. */
export class UnsupportedError extends HoldfastError {}
/** 5xx: the daemon is going, or at fault. */
export class UnavailableError extends HoldfastError {}
/** No answer: refused, cut, or not reachable. */
export class ConnectionError extends HoldfastError {}
/** The peer does not speak the protocol. */
export class ProtocolError extends HoldfastError {}
/** A wait ran out of time; the process goes on. */
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

/** The error for an answer that is not a success. */
export function errorOfAnswer(status: number, text: string): HoldfastError {
    let problem: ProblemBody | undefined;
    try {
        problem = JSON.parse(text) as ProblemBody;
    } catch {
        problem = undefined;
    }
    const code = typeof problem?.code === 'string' ? problem.code : `http_${status}`;
    const message = problem?.detail ?? problem?.title ?? `the daemon answered ${status}`;
    return new (classOf(status))(`${message} (${code})`, { code, status, problem });
}

/** The error for a WebSocket that was closed for good; null if it may be opened again. */
export function errorOfClose(code: number, reason: string): HoldfastError | null {
    const say = reason ? `: ${reason}` : '';
    switch (code) {
        case 4401: return new AuthError(`the token was replaced${say}`, { code: 'token_ended', status: 401 });
        case 4404: return new NotFoundError(`no such process${say}`, { code: 'no_such_process', status: 404 });
        case 4410: return new NotFoundError(`the link was revoked or has ended${say}`, { code: 'link_ended', status: 410 });
        case 1008: return new AuthError(`not allowed${say}`, { code: 'replaced', status: 403 });
        case 1002:
        case 1003:
        case 1007:
        case 1009: return new ProtocolError(`the daemon refused our frames (${code})${say}`, { code: 'protocol' });
        default: return null;
    }
}
