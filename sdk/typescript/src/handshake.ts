// SPDX-License-Identifier: Apache-2.0
//
// handshake.ts - finds out why a handshake was refused, which a WebSocket does not report

import { encode } from './bytes.js';
import { InvalidRequestError } from './errors.js';

/**
 * The path of a plain request that fails for the same reason as the handshake. To check `since`, it requests an empty
 * range of the output. (A plain request for the WebSocket path itself always gets 426, whatever its query.)
 */
export function probePath(process: string, since = 'screen'): string {
    if (/^(screen|now|-\d+)$/.test(since)) return process;
    const at = encodeURIComponent(since);
    return `${process}/output?since=${at}${/^\d+$/.test(since) ? `&until=${at}` : ''}`;
}

const SIZE_MAX = 4096;
const isSize = (n: number) => Number.isInteger(n) && n >= 1 && n <= SIZE_MAX;

function refusal(field: string, message: string, code = 'bad_query'): InvalidRequestError {
    return new InvalidRequestError(`${message} (${code})`, { code, status: 400, problem: { code, field, detail: message, status: 400 } });
}

/** Checks the parameters that no plain request has, so that the probe cannot detect an invalid one. */
export function refusalOf(query: Record<string, string>): InvalidRequestError | null {
    if (!/^[!-~]{1,128}$/.test(query.client ?? '-')) {
        return refusal('client', '"client" must be 1 to 128 visible ASCII characters, without spaces');
    }
    const { name = '-' } = query;
    if (name === '' || encode(name).length > 128 || /[\0-\x1f\x7f]/.test(name)) {
        return refusal('name', '"name" must be 1 to 128 bytes of text without control characters');
    }
    if (query.terminal === '0' && query.since === 'screen') return refusal('since', '"since" must not be "screen" with "verbatim", which excludes snapshots');
    return query.rows === undefined ? null : refusalOfSize(Number(query.rows), Number(query.cols));
}

export function refusalOfSize(rows: number, cols: number): InvalidRequestError | null {
    if (isSize(rows) && isSize(cols)) return null;
    return refusal(isSize(rows) ? 'cols' : 'rows', `rows and cols must be from 1 to ${SIZE_MAX}`, 'bad_size');
}
