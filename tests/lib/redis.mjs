// SPDX-License-Identifier: Apache-2.0
//
// redis.mjs - a real Redis server with a password, and with `tls` ({ certFile, keyFile, caFile }) by TLS only
//
// Also the registration key of its gateways and, made here by what docs/GATEWAY.md says, what follows from it.

import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
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

const running = new Set();
process.on('exit', () => running.forEach((r) => r.child.kill('SIGKILL')));

const hmac = (key, text) => crypto.createHmac('sha256', key).update(text).digest();

export class Redis {
    /** `acl`: { file, user, password } instead of a password for everybody. */
    constructor({ tls: with_, acl } = {}) {
        Object.assign(this, { tls: with_, acl, operatorKey: crypto.randomBytes(32).toString('hex') });
    }

    #file(name, text) {
        const file = path.join(this.dir, name);
        fs.writeFileSync(file, text, { mode: 0o600 });
        return file;
    }

    /** Arguments of a gateway that believes signed entries. */
    get trust() {
        return ['--register-key-file', this.#file('register.key', this.operatorKey)];
    }

    key(id) {
        return hmac(this.operatorKey, `holdfast-sandbox-key-1\n${id}`);
    }

    token(id) {
        return hmac(this.key(id), 'holdfast-daemon-token-1\n').toString('hex');
    }

    /** An entry for `id`, signed with `key`. */
    entry(id, entry, key = this.key(id)) {
        const json = JSON.stringify({ expires_ms: Date.now() + 60000, ...entry });
        return `hf1 ${hmac(key, `holdfast-registration-1\n${id}\n${json}`).toString('hex')} ${json}`;
    }

    /** What a daemon registers by, with a key of its own. */
    register(id, more = '') {
        return `${this.url}&id=${id}&key_file=${this.#file(`${id}.key`, `${this.key(id).toString('hex')}\n`)}${more}`;
    }

    async start() {
        this.port ??= await freePort();
        this.dir ??= fs.mkdtempSync(path.join(os.tmpdir(), 'hf-redis-'));
        const t = this.tls;
        const door = t
            ? ['--port', '0', '--tls-port', String(this.port), '--tls-cert-file', t.certFile, '--tls-key-file', t.keyFile, '--tls-ca-cert-file', t.caFile, '--tls-auth-clients', 'no']
            : ['--port', String(this.port)];
        this.child = spawn('redis-server', [...door, '--bind', '127.0.0.1', '--save', '', '--dir', this.dir, ...(this.acl ? ['--aclfile', this.acl.file] : ['--requirepass', 'pw'])], { stdio: 'ignore' });
        this.child.unref(); // one that a failed test left behind does not keep the file from ending
        running.add(this);
        this.exit = new Promise((done) => this.child.once('exit', done));
        await waitUntil(() => this.ask('PING').then((text) => /PONG|NOPERM/.test(text), () => false), 'redis');
        return this;
    }

    /** One command in its inline form, the raw reply. */
    ask(command, { user, password } = this.acl ?? { user: '', password: 'pw' }) {
        return new Promise((resolve, reject) => {
            const to = { port: this.port, host: '127.0.0.1' };
            const s = this.tls ? tls.connect({ ...to, rejectUnauthorized: false }) : net.connect(to);
            let text = '';
            s.on('error', reject);
            s.on('data', (d) => (text += d));
            s.on('close', () => resolve(text));
            s.write(`AUTH ${user} ${password}\r\n${command}\r\nQUIT\r\n`);
        });
    }

    /** The reply to SET, whatever the value has in it. */
    set(id, value, ttl = 60000) {
        return this.ask(`SET holdfast:sandbox:${id} "${value.replace(/["\\]/g, (c) => `\\${c}`)}" PX ${ttl}`);
    }

    /** Ends it; start() brings it back, empty, at the same port. */
    async end(signal = 'SIGTERM') {
        running.delete(this);
        this.child.ref();
        this.child.kill(signal);
        await this.exit;
    }

    async stop() {
        await this.end();
        fs.rmSync(this.dir, { recursive: true, force: true });
    }

    get url() {
        return `redis${this.tls ? 's' : ''}://127.0.0.1:${this.port}?password_file=${this.#file('password', 'pw\n')}`;
    }
}
