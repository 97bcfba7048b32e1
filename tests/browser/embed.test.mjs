// SPDX-License-Identifier: Apache-2.0
// examples/embed.html from another origin: one terminal in a bare file, by the SDK's addon and a token.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { it } from '../lib/test.mjs';
import { withBrowser } from '../lib/browser.mjs';
import { root } from '../lib/daemon.mjs';
import { waitUntil } from '../lib/wait.mjs';

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css' };
const server = http.createServer((request, response) => {
    const file = path.join(root, path.normalize(new URL(request.url, 'http://x').pathname));
    if (!fs.existsSync(file) || !fs.statSync(file).isFile()) return response.writeHead(404).end();
    return response.setHeader('Content-Type', TYPES[path.extname(file)] ?? 'application/octet-stream').end(fs.readFileSync(file));
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));
const origin = `http://127.0.0.1:${server.address().port}`;
server.unref();

withBrowser('a page of another origin', { args: ['--cors-origin', origin] }, (d, visit, browser) => {
    it('embeds one terminal', async () => {
        const context = await browser().newContext();
        const page = await context.newPage();
        await page.goto(`${origin}/examples/embed.html#url=${d.url}&token=${d.token}`);
        await waitUntil(async () => (await page.title()) === 'connected', 'the terminal');
        await page.locator('#terminal').click();
        await page.keyboard.type('echo embedded $((6 * 7))\n');
        await page.locator('.xterm-rows', { hasText: 'embedded 42' }).waitFor();
        await context.close();
        assert.equal((await d.list('?status=running')).length, 1, 'the shell outlives the page');
        server.closeAllConnections();
        server.close();
    });
});
