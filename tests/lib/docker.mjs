// SPDX-License-Identifier: Apache-2.0
//
// docker.mjs - a Docker engine of our own: its data, socket and containerd in a temporary directory
//
// It has no bridge and touches no firewall, so it runs beside another engine and needs nothing but root.

import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { waitUntil, within } from './wait.mjs';

const run = promisify(execFile);
const have = (name) => process.env.PATH.split(':').some((d) => fs.existsSync(path.join(d, name)));
const running = new Set();
process.on('exit', () => running.forEach((e) => e.child.kill('SIGTERM')));

/** Why there can be no engine here; false: there can. */
export const noEngine = () =>
    (process.getuid() !== 0 && 'needs root') || (!(have('dockerd') && have('docker')) && 'needs docker.io') || false;

export class Engine {
    async start() {
        this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-docker-'));
        this.socket = path.join(this.dir, 'docker.sock');
        this.log = path.join(this.dir, 'log');
        const log = fs.openSync(this.log, 'w');
        const at = (name) => path.join(this.dir, name);
        const args = ['--storage-driver=vfs', '--iptables=false', '--ip6tables=false', '--bridge=none'];
        args.push('--data-root', at('data'), '--exec-root', at('exec'), '--pidfile', at('pid'), '--host', `unix://${this.socket}`);
        this.child = spawn('dockerd', args, { stdio: ['ignore', log, log] });
        fs.closeSync(log);
        running.add(this);
        this.exit = new Promise((done) => this.child.once('close', done));
        this.exit.then(() => (this.exited = true));
        await waitUntil(
            async () => {
                if (this.exited) throw Object.assign(new Error(`dockerd ended: ${this.tail()}`), { fatal: true });
                await this.docker('version');
                return true;
            },
            'the engine',
            60000,
            100,
        ).catch((err) => {
            err.message += `\n${this.tail()}`;
            throw err;
        });
        return this;
    }

    tail() {
        return fs.readFileSync(this.log, 'utf8').slice(-1500);
    }

    /** The engine's own command line client. */
    async docker(...args) {
        const { stdout } = await run('docker', ['--host', `unix://${this.socket}`, ...args], { maxBuffer: 1 << 24 });
        return stdout.trim();
    }

    /** An image that holds these files and nothing else: { '/holdfast': '/where/it/is' }. */
    async image(name, files) {
        const from = path.join(this.dir, 'image');
        for (const [to, file] of Object.entries(files)) {
            fs.mkdirSync(path.dirname(path.join(from, to)), { recursive: true });
            fs.copyFileSync(file, path.join(from, to));
        }
        fs.mkdirSync(path.join(from, 'tmp'), { recursive: true, mode: 0o1777 });
        const tar = path.join(this.dir, 'image.tar');
        await run('tar', ['-C', from, '-cf', tar, '.']);
        await this.docker('import', tar, name);
    }

    async stop() {
        running.delete(this);
        const ids = (await this.docker('ps', '-aq')).split('\n').filter(Boolean);
        if (ids.length) await this.docker('rm', '-f', ...ids);
        this.child.kill('SIGTERM');
        await within(this.exit, 30000, 'the engine to end');
        /* It leaves the host's network namespace mounted. */
        spawnSync('umount', [path.join(this.dir, 'exec/netns/default')]);
        fs.rmSync(this.dir, { recursive: true, force: true });
        assert.ok(!fs.existsSync(this.dir));
    }
}
