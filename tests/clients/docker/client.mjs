// SPDX-License-Identifier: Apache-2.0
// What the tests of this directory share: Docker's command line clients that are there, and dockerode.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import Docker from 'dockerode';
import { describe } from '../../lib/test.mjs';
import { openConnections } from '../../lib/raw.mjs';
import { Pty } from '../../lib/pty.mjs';
import { within } from '../../lib/wait.mjs';

export const BASE = '/dialects/docker';

/** Debian's client (package docker.io) first, then others along PATH: [{path, version}]. */
export const clis = [...new Set(
    ['/usr/bin', ...process.env.PATH.split(':')]
        .map((dir) => path.join(dir, 'docker'))
        .filter((f) => fs.existsSync(f))
        .map((f) => fs.realpathSync(f)),
)].map((file) => ({ path: file, version: /version ([\d.]+)/.exec(spawnSync(file, ['--version'], { encoding: 'utf8' }).stdout)?.[1] }));

export const noCli = clis.length === 0 && 'needs docker.io';

/** The same tests with every client there is; `body` gets what runs it. */
export function withClis(body) {
    for (const cli of clis) describe(`docker ${cli.version}`, () => body(cli));
    if (noCli) describe('docker', { skip: noCli }, () => {});
}

const DONE_MS = 60000; // for what hangs

/** A client with a configuration of its own, at one place of a daemon. */
export class Cli {
    constructor(cli, d, { host, token = d.token, env = {} } = {}) {
        this.file = cli.path;
        this.config = fs.mkdtempSync(path.join(d.dir, 'config-'));
        const headers = token ? { HttpHeaders: { Authorization: `Bearer ${token}` } } : {};
        fs.writeFileSync(path.join(this.config, 'config.json'), JSON.stringify(headers));
        this.env = {
            PATH: process.env.PATH,
            HOME: this.config,
            TERM: 'xterm',
            DOCKER_CONFIG: this.config,
            DOCKER_HOST: host ?? `tcp://127.0.0.1:${d.port}${BASE}`,
            ...env,
        };
    }

    /** Runs it to its end: {code, stdout, stderr}; `input` is its standard input, null: none. */
    start(args, { input = null, encoding = 'utf8' } = {}) {
        const child = spawn(this.file, args, { env: this.env, stdio: [input === null ? 'ignore' : 'pipe', 'pipe', 'pipe'] });
        const out = [];
        const err = [];
        child.stdout.on('data', (b) => out.push(b));
        child.stderr.on('data', (b) => err.push(b));
        child.stdin?.on('error', () => {});
        if (input !== null && input !== undefined) child.stdin.end(input);
        const whole = new Promise((done) => child.once('close', (code, signal) => done({ code, signal })));
        const over = whole.then((end) => ({
            ...end,
            stdout: encoding ? Buffer.concat(out).toString(encoding) : Buffer.concat(out),
            stderr: Buffer.concat(err).toString(),
        }));
        const kill = { destroy: () => child.kill('SIGKILL') };
        openConnections.add(kill);
        over.then(() => openConnections.delete(kill));
        return { child, over: within(over, DONE_MS, `docker ${args.join(' ')}`), stdout: () => Buffer.concat(out).toString(), stderr: () => Buffer.concat(err).toString() };
    }

    run(args, options) {
        return this.start(args, options).over;
    }

    /** It must succeed; what it printed. */
    async ok(...args) {
        const r = await this.run(args);
        assert.equal(r.code, 0, `docker ${args.join(' ')}: ${r.stdout}${r.stderr}`);
        return r.stdout;
    }

    /** On a terminal. */
    pty(args, size) {
        return new Pty(this.file, args, { env: this.env, ...size });
    }
}

/** dockerode at a daemon's mount. */
export const dockerode = (d, { token = d.token, version = BASE.slice(1) } = {}) =>
    new Docker({
        host: '127.0.0.1',
        port: d.port,
        protocol: 'http',
        headers: token ? { Authorization: `Bearer ${token}` } : {},
        version,
    });

/** All of a stream, until it ends. */
export const readAll = (stream) =>
    within(
        new Promise((done, fail) => {
            const parts = [];
            stream.on('data', (b) => parts.push(b));
            stream.on('end', () => done(Buffer.concat(parts)));
            stream.on('error', fail);
        }),
        DONE_MS,
        'the end of a stream',
    );

/** The two streams of one in frames; it must be made of whole ones. */
export function demux(bytes) {
    const out = { 1: [], 2: [], 3: [] };
    let at = 0;
    while (at < bytes.length) {
        assert.deepEqual([...bytes.subarray(at + 1, at + 4)], [0, 0, 0], 'a frame begins here');
        const len = bytes.readUInt32BE(at + 4);
        assert.ok(at + 8 + len <= bytes.length, 'the frame is whole');
        out[bytes[at]].push(bytes.subarray(at + 8, at + 8 + len));
        at += 8 + len;
    }
    return { stdout: Buffer.concat(out[1]).toString(), stderr: Buffer.concat(out[2]).toString(), system: Buffer.concat(out[3]).toString() };
}
