// SPDX-License-Identifier: Apache-2.0
//
// redis.mjs - a real Redis server with a password, and with `tls` ({ certFile, keyFile, caFile }) by TLS only

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { waitUntil } from './wait.mjs';

const have = (name) => process.env.PATH.split(':').some((d) => fs.existsSync(path.join(d, name)));
export const noRedis = !have('redis-server') && 'no redis-server';

const freePort = () =>
    new Promise((done) => {
        const s = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = s.address();
            s.close(() => done(port));
        });
    });

export class Redis {
    constructor({ tls: with_ } = {}) {
        this.tls = with_;
    }

    async start() {
        this.port ??= await freePort();
        this.dir ??= fs.mkdtempSync(path.join(os.tmpdir(), 'hf-redis-'));
        const t = this.tls;
        const door = t
            ? ['--port', '0', '--tls-port', String(this.port), '--tls-cert-file', t.certFile, '--tls-key-file', t.keyFile, '--tls-ca-cert-file', t.caFile, '--tls-auth-clients', 'no']
            : ['--port', String(this.port)];
        this.child = spawn('redis-server', [...door, '--bind', '127.0.0.1', '--save', '', '--dir', this.dir, '--requirepass', 'pw'], { stdio: 'ignore' });
        this.exit = new Promise((done) => this.child.once('exit', done));
        await waitUntil(() => this.ask('PING').then((text) => text.includes('PONG'), () => false), 'redis');
        return this;
    }

    /** One command in its inline form, the raw reply. */
    ask(command) {
        return new Promise((resolve, reject) => {
            const to = { port: this.port, host: '127.0.0.1' };
            const s = this.tls ? tls.connect({ ...to, rejectUnauthorized: false }) : net.connect(to);
            let text = '';
            s.on('error', reject);
            s.on('data', (d) => (text += d));
            s.on('close', () => resolve(text));
            s.write(`AUTH pw\r\n${command}\r\nQUIT\r\n`);
        });
    }

    /** Ends it; start() brings it back, empty, at the same port. */
    async end(signal = 'SIGTERM') {
        this.child.kill(signal);
        await this.exit;
    }

    async stop() {
        await this.end();
        fs.rmSync(this.dir, { recursive: true, force: true });
    }

    get url() {
        return `redis${this.tls ? 's' : ''}://:pw@127.0.0.1:${this.port}`;
    }
}
