// SPDX-License-Identifier: Apache-2.0
//
// player.mjs - asciinema-player without a browser
//
// The package runs its core (parser and clock) in a web worker. That worker's
// file needs two globals only, so it runs here as it was published.

import path from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const events = [];
const waiting = new Map();
let last = 0;

globalThis.onmessage = null;
globalThis.postMessage = (m) => {
    if (m.method === 'onEvent') events.push([m.params.name, m.params.event]);
    else if (m.error) waiting.get(m.id).reject(new Error(JSON.stringify(m.error)));
    else waiting.get(m.id).resolve(m.result);
};
const css = createRequire(import.meta.url).resolve('asciinema-player/dist/bundle/asciinema-player.css');
await import(pathToFileURL(path.join(path.dirname(css), '../worker.js')).href);

const call = (method, params) =>
    new Promise((resolve, reject) => {
        waiting.set(++last, { resolve, reject });
        globalThis.onmessage({ data: { id: last, method, params } });
    });

/** Loads a recording and jumps to its end: what the player made of it, as [name, event] pairs. */
export async function playToEnd(text) {
    const url = `data:application/x-asciicast;base64,${Buffer.from(text).toString('base64')}`;
    events.length = 0;
    await call('new', [{ driver: 'recording', parser: 'asciicast', url }, { logger: false, speed: 1, preload: true }]);
    for (const name of ['metadata', 'output', 'resize', 'marker', 'error', 'seeked']) {
        await call('addEventListener', [name]);
    }
    const init = call('init');
    await call('terminalReady');
    await init;
    await call('seek', '100%');
    await call('pause');
    return events.slice();
}
