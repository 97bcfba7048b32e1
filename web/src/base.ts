// SPDX-License-Identifier: Apache-2.0
//
// base.ts - reads the page's address: the daemon's base URL (behind a gateway, with its path prefix) and the selected process
//
// The daemon serves the page at "/", so everything before the last slash of the page's path is the prefix.

export const base = location.origin + location.pathname.replace(/\/[^/]*$/, '');

/** The process id in the fragment; '' if it cannot be decoded. */
export function fromHash(): string {
    try {
        return decodeURIComponent(location.hash.slice(1));
    } catch {
        return '';
    }
}

/** The message for each kind of secret that the daemon can refuse. */
const REFUSED: Record<string, string> = {
    ticket: "This link has expired or was already used. Enter the daemon's token, or run “holdfast open” for a fresh link.",
    link: "This link has expired, was revoked or has no uses left. Ask for a new one, or enter the daemon's token.",
};

/**
 * Why the link that opened this page was refused; '' if none was. A valid link redirects to an address without
 * the secret, so a secret that is still in the address was refused. It is removed, so that a reload does not send it again.
 */
export function takeRefusal(): string {
    const key = Object.keys(REFUSED).find((k) => new URLSearchParams(location.search).has(k));
    if (key) history.replaceState(null, '', location.pathname + location.hash);
    return key ? REFUSED[key]! : '';
}
