// SPDX-License-Identifier: Apache-2.0
//
// base.ts - what the address of the page says: where the daemon is, behind a gateway below a prefix, and which process is meant
//
// The page is at "/" of its daemon, so what precedes the last slash of its own address is the prefix.

export const base = location.origin + location.pathname.replace(/\/[^/]*$/, '');

/** The process that the address points at; what cannot be decoded points at none. */
export function fromHash(): string {
    try {
        return decodeURIComponent(location.hash.slice(1));
    } catch {
        return '';
    }
}
