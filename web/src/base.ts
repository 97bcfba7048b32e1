// SPDX-License-Identifier: Apache-2.0
//
// base.ts - where the daemon is, seen from the page: behind a gateway it stands below a prefix
//
// The page is at "/" of its daemon, so what precedes the last slash of its own address is the prefix.

export const base = location.origin + location.pathname.replace(/\/[^/]*$/, '');
