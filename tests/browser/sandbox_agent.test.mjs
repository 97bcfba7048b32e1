// SPDX-License-Identifier: Apache-2.0
//
// The published React component of sandbox-agent, ProcessTerminal, in real Chromium at a terminal of ours
//
// The component is bundled as an application would do it; nothing of it is changed. Its terminal draws on a
// canvas, so the page keeps a reference to it to be able to tell what it shows.

import assert from 'node:assert/strict';
import http from 'node:http';
import { createRequire } from 'node:module';
import path from 'node:path';
import { SandboxAgent } from 'sandbox-agent';
import { withBrowser } from '../lib/browser.mjs';
import { root } from '../lib/daemon.mjs';
import { it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const PAGE = `
import { createElement, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { ProcessTerminal } from '@sandbox-agent/react';
import { SandboxAgent } from 'sandbox-agent';
import { Terminal } from 'ghostty-web';
const { open } = Terminal.prototype;
window.terminals = 0;
Terminal.prototype.open = function (...args) {
    window.terminal = this;
    window.terminals++;
    return open.apply(this, args);
};
window.shown = () => {
    const b = window.terminal.buffer.active;
    return Array.from({ length: b.length }, (_, y) => b.getLine(y)?.translateToString(true) ?? '').join('\\n');
};
window.exits = [];
const onExit = (f) => window.exits.push(f.exitCode);
function App({ client, id }) {
    const [inline, setInline] = useState(0);
    window.again = () => setInline((n) => n + 1);
    // A function made anew at each render makes the component attach anew.
    return createElement(ProcessTerminal, { client, processId: id, height: 400, onExit: inline ? (f) => onExit(f) : onExit });
}
const q = new URLSearchParams(location.hash.slice(1));
const client = await SandboxAgent.connect({ baseUrl: q.get('base'), token: q.get('token') });
createRoot(document.getElementById('app')).render(createElement(App, { client, id: q.get('id') }));
`;

/** The page in one file, by the bundler of our own page. */
async function bundle() {
    const esbuild = createRequire(path.join(root, 'web/package.json'))('esbuild');
    const out = await esbuild.build({
        stdin: { contents: PAGE, resolveDir: path.join(root, 'tests') },
        bundle: true,
        write: false,
        format: 'esm',
        platform: 'browser',
        define: { 'process.env.NODE_ENV': '"production"' },
        logLevel: 'error',
    });
    return out.outputFiles[0].text;
}

const script = await bundle();
const files = http.createServer((rq, rs) => {
    const isScript = rq.url === '/page.js';
    rs.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html');
    rs.end(isScript ? script : '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><div id="app"></div><script type="module" src="/page.js"></script>');
});
const port = await new Promise((done) => files.listen(0, '127.0.0.1', () => done(files.address().port)));
files.unref();
const origin = `http://127.0.0.1:${port}`;

withBrowser("sandbox-agent's ProcessTerminal", { args: ['--cors-origin', origin] }, (d, visit, browser) => {
    it('shows, types, fits, has its history after a reload and a new render, and tells the exit', async () => {
        const baseUrl = `${d.url}/dialects/sandbox-agent`;
        const c = await SandboxAgent.connect({ baseUrl, token: d.token });
        const p = await c.createProcess({ command: 'sh', tty: true, interactive: true, env: { PS1: '> ' } });
        const context = await browser().newContext({ viewport: { width: 1000, height: 600 } });
        const page = await context.newPage();
        const wrong = [];
        page.on('pageerror', (e) => wrong.push(e.stack ?? e.message));
        const shows = (text) =>
            waitUntil(() => page.evaluate((t) => window.shown().includes(t), text), `${text} on the screen`, 20000).catch(async (err) => {
                throw new Error(`${err.message}\n${await page.evaluate(() => window.shown?.())}\n${wrong.join('\n')}`);
            });
        const status = (text) => page.getByText(text).waitFor({ timeout: 20000 });
        await page.goto(`${origin}/#${new URLSearchParams({ base: baseUrl, token: d.token, id: p.id })}`);
        await status('Connected');
        const size = await page.evaluate(() => [window.terminal.rows, window.terminal.cols]);
        await waitUntil(async () => JSON.stringify([(await d.get(p.id)).rows, (await d.get(p.id)).cols]) === JSON.stringify(size), 'the component\'s size');
        assert.notDeepEqual(size, [24, 80], 'which is not the one that a terminal begins with');
        await page.keyboard.type('stty size; printf "wide \\346\\274\\242 %s\\n" $((40 + 2))\n');
        await shows(`${size[0]} ${size[1]}`);
        await shows('wide 漢 42');

        await page.reload();
        await status('Connected');
        await shows('wide 漢 42'); // the original stays blank until something new is written
        await page.evaluate(() => window.again());
        await waitUntil(() => page.evaluate(() => window.terminals >= 2), 'the new attach');
        await status('Connected');
        await shows('wide 漢 42');
        await page.keyboard.type('exit 7\n');
        await status('Process exited with code 7.');
        assert.deepEqual(await page.evaluate(() => window.exits), [7]);
        assert.deepEqual(wrong, []);
        await context.close();
        assert.equal((await c.getProcess(p.id)).exitCode, 7);
        await c.deleteProcess(p.id);
        files.closeAllConnections();
        files.close();
    });
});
