// SPDX-License-Identifier: Apache-2.0
// What the tests of this directory share: the published clients, pointed at a daemon by their own means.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
/** The clients' HTTP library does not load on older ones. */
export const skip = (major < 20 || (major === 20 && minor < 19)) && `@vercel/sandbox needs Node.js 20.19, this is ${process.versions.node}`;

export const { Sandbox, APIError, StreamError } = skip ? {} : await import('vercel-sandbox');
export const first = skip ? {} : await import('@vercel/sandbox'); // 1.10.2

process.env.VERCEL_SANDBOX_TELEMETRY_DISABLED = '1';

/** The root of the dialect's own listener. */
export const ownListener = (d) => /vercel listening on (\S+)/.exec(d.stdout + d.stderr)[1];

/** Options of every static method: a token, and a fetch that goes to the daemon. `log`: what was asked; `answers`: what has begun to be answered. */
export function at(d, { base, role = 'own', log, answers, ...more } = {}) {
    const root = base ?? `${d.url}/dialects/vercel`;
    return {
        token: d.tokens?.[role] ?? role,
        teamId: 'team_1',
        projectId: 'prj_1',
        fetch: async (url, init) => {
            const { pathname, searchParams } = new URL(url);
            log?.push(`${init.method} ${pathname}${searchParams.has('resume') ? `?resume=${searchParams.get('resume')}` : ''}`);
            const answer = await fetch(String(url).replace('https://vercel.com', root), { ...init, headers: { ...init.headers, connection: 'close' } });
            answers?.push(`${init.method} ${pathname} ${answer.status}`);
            return answer;
        },
        ...more,
    };
}

/** An APIError with this status; `text` is part of the message, `code` the body's. */
export const refused = (promise, status, { text, code } = {}) =>
    assert.rejects(promise, (err) => {
        assert.ok(err instanceof APIError || err instanceof first.APIError, String(err));
        assert.equal(err.response.status, status, err.message);
        assert.equal(typeof err.json?.error?.message, 'string', JSON.stringify(err.json));
        if (code) assert.equal(err.json.error.code, code);
        if (text) assert.ok(err.message.includes(text), err.message);
        return true;
    });

export const collect = async (lines) => {
    const all = [];
    for await (const l of lines) all.push(l);
    return all;
};
export const textOf = (lines, stream) => lines.filter((l) => l.stream === stream).map((l) => l.data).join('');

// --- the command line ---

const cli = fileURLToPath(new URL('../../node_modules/vercel-sandbox-cli/bin/sandbox.mjs', import.meta.url));

/** A module that the command line's Node.js loads first: its fetch goes to the daemon. */
function preload(d) {
    const file = path.join(d.dir, 'preload.mjs');
    const root = JSON.stringify(`${d.url}/dialects/vercel`);
    fs.writeFileSync(
        file,
        `const plain = globalThis.fetch;
globalThis.fetch = (url, init) => plain(String(url).replace('https://vercel.com', ${root}).replace(/^https:\\/\\/127\\.0\\.0\\.1\\/health/, ${root} + '/health'), init);
`,
    );
    return file;
}

/** Program, arguments and environment of \`sandbox ARGS\`. */
export function command(d, args) {
    const scope = ['--token', d.token, '--scope', 'team_1', '--project', 'prj_1'];
    const dashes = args.indexOf('--');
    const all = dashes < 0 ? [...args, ...scope] : [...args.slice(0, dashes), ...scope, ...args.slice(dashes)];
    const env = {
        PATH: process.env.PATH,
        HOME: d.dir,
        NODE_OPTIONS: `--import ${preload(d)}`,
        VERCEL_SANDBOX_TELEMETRY_DISABLED: '1',
        NO_UPDATE_NOTIFIER: '1',
        NO_COLOR: '1',
    };
    return { file: process.execPath, args: [cli, ...all], env };
}

/** Runs it to its end. */
export function run(d, ...args) {
    const c = command(d, args);
    const child = spawn(c.file, c.args, { env: c.env, stdio: ['ignore', 'pipe', 'pipe'] });
    const out = { stdout: '', stderr: '' };
    child.stdout.on('data', (b) => (out.stdout += b));
    child.stderr.on('data', (b) => (out.stderr += b));
    return new Promise((done) => child.once('close', (code, signal) => done({ code, signal, ...out })));
}
