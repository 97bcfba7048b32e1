// SPDX-License-Identifier: Apache-2.0
//
// pty.mjs - a program on a real terminal (ptybox.c), as seen and typed by a test

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { compile } from './compile.mjs';
import { openConnections } from './raw.mjs';
import { waitUntil, within } from './wait.mjs';

const source = fileURLToPath(new URL('ptybox.c', import.meta.url));
const box = () => compile('ptybox', [source], ['-O1', '-lutil']);

/** As a shell leaves it to programs. */
export const COOKED = 'icanon=1 echo=1 isig=1 opost=1 icrnl=1';

export class Pty {
    constructor(command, args, { rows = 24, cols = 80, env } = {}) {
        this.text = '';
        this.seen = 0;
        this.replies = [];
        this.child = spawn(box(), [String(rows), String(cols), command, ...args], {
            env: env ?? process.env,
            stdio: ['pipe', 'pipe', 'inherit', 'pipe', 'pipe'],
        });
        this.child.stdout.setEncoding('latin1').on('data', (d) => (this.text += d));
        for (const i of [0, 3]) this.child.stdio[i].on('error', () => {});
        let line = '';
        this.child.stdio[4].setEncoding('latin1').on('data', (d) => {
            line += d;
            const lines = line.split('\n');
            line = lines.pop();
            this.replies.push(...lines);
        });
        openConnections.add(this);
        this.gone = new Promise((done) => this.child.once('close', done));
    }

    async pid() {
        const r = await waitUntil(() => this.replies.find((l) => l.startsWith('pid ')), 'the pid');
        return Number(r.slice(4));
    }

    type(text) {
        this.child.stdin.write(Buffer.from(text, 'latin1'));
    }

    tell(line) {
        this.child.stdio[3].write(`${line}\n`);
    }

    resize(rows, cols) {
        this.tell(`size ${rows} ${cols}`);
    }

    signal(n) {
        this.tell(`signal ${n}`);
    }

    /** Until the text has been shown, behind what was waited for before. */
    async shows(text, ms = 20000) {
        const find = () =>
            text instanceof RegExp ? text.exec(this.text.slice(this.seen)) : this.text.indexOf(text, this.seen) >= 0;
        const found = await waitUntil(find, `the terminal to show ${text}`, ms).catch((err) => {
            throw new Error(`${err.message}; it shows ${JSON.stringify(this.text.slice(this.seen).slice(-2000))}`);
        });
        this.seen =
            text instanceof RegExp
                ? this.seen + found.index + found[0].length
                : this.text.indexOf(text, this.seen) + text.length;
        return found;
    }

    /** The terminal's modes now: COOKED, or with zeros. */
    async modes() {
        const n = this.replies.length;
        this.tell('modes');
        const r = await waitUntil(() => this.replies.slice(n).find((l) => l.startsWith('modes ')), 'the modes');
        return r.slice(6);
    }

    async raw() {
        await waitUntil(async () => (await this.modes()).includes('icanon=0'), 'raw mode');
    }

    /** "exit N" or "signal N" of the program, once all it wrote has been shown. */
    async exit(ms = 30000) {
        return waitUntil(() => this.replies.find((l) => /^(exit|signal) /.test(l)), 'the end of the program', ms).catch(
            (err) => {
                throw new Error(`${err.message}; it shows ${JSON.stringify(this.text.slice(-2000))}`);
            },
        );
    }

    /** It ended so, and the terminal is as it was. */
    async endsWith(verdict, ms) {
        assert.equal(await this.exit(ms), verdict, JSON.stringify(this.text.slice(-2000)));
        assert.equal(await this.modes(), COOKED);
    }

    async close() {
        this.child.stdin.end();
        await within(this.gone, 10000, 'ptybox to end');
        openConnections.delete(this);
    }

    destroy() {
        openConnections.delete(this);
        this.child.stdin.destroy();
        this.child.kill('SIGKILL');
    }
}
