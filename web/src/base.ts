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

/** In words, by the secret that the daemon has refused. */
const REFUSED: Record<string, string> = {
    ticket: "This link has expired or was already used. Enter the daemon's token, or run “holdfast open” for a fresh link.",
    link: "This link has expired, was revoked or is used up. Ask for a new one, or enter the daemon's token.",
};

/**
 * Why the link that led here does not let anybody in; '' if nothing is wrong. A good one leads on to an address
 * without it, so what is still there was refused. It is taken away, so that a reload asks without it.
 */
export function takeRefusal(): string {
    const key = Object.keys(REFUSED).find((k) => new URLSearchParams(location.search).has(k));
    if (key) history.replaceState(null, '', location.pathname + location.hash);
    return key ? REFUSED[key]! : '';
}
