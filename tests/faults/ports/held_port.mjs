// SPDX-License-Identifier: Apache-2.0
//
// held_port.mjs - in a network of its own: starts daemons with port 0 while the port of a held daemon is free
//
// Usage: unshare -n node held_port.mjs BINARY. Prints what each of them picked up.

import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';

const RANGE = '/proc/sys/net/ipv4/ip_local_port_range';
const bin = process.argv[2];
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-port-'));
const env = { ...process.env, HOME: dir, TMPDIR: dir };

/** {child, port, text}: a daemon that listens. */
async function serve(listen, ...more) {
    const child = spawn(bin, ['serve', '--listen', listen, ...more, '--no-auth'], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const d = { child, text: '', ended: new Promise((done) => child.once('exit', done)) };
    for (const s of [child.stdout, child.stderr]) s.on('data', (b) => (d.text += b));
    while (!/listening on \S+:\d+\n/.test(d.text) && child.exitCode === null) await new Promise((done) => setTimeout(done, 5));
    d.port = Number(/listening on \S+:(\d+)\n/.exec(d.text)?.[1]);
    return d;
}

execFileSync('ip', ['link', 'set', 'lo', 'up']);
const held = await serve('127.0.0.1:0', '--listen', `unix:${dir}/socket`);
// By the unix socket: a connection that was closed a moment ago would keep the port from being chosen.
await new Promise((done) => {
    const options = { socketPath: `${dir}/socket`, method: 'POST', path: '/v1/processes', headers: { 'content-type': 'application/json' } };
    http.request(options, (res) => res.resume().on('end', done)).end('{"command":"sleep","args":["1000"]}');
});
execFileSync(bin, ['stop', '--keep', '--listen', `127.0.0.1:${held.port}`], { env, stdio: 'ignore' });
await held.ended;
const usual = fs.readFileSync(RANGE, 'utf8');
fs.writeFileSync(RANGE, `${held.port - 1} ${held.port}`); // the kernel takes odd distances from the first one first
for (let i = 0; i < 8; i++) {
    const other = await serve('127.0.0.1:0');
    console.log(`other: ${other.port === held.port ? 'the same port' : 'another port'} ${/picked up \d+/.exec(other.text)?.[0] ?? 'nothing'}`);
    other.child.kill('SIGTERM');
    await other.ended;
}
fs.writeFileSync(RANGE, usual);
const again = await serve(`127.0.0.1:${held.port}`);
await new Promise((done) => setTimeout(done, 300));
console.log(`again: ${/picked up \d+ process/.exec(again.text)?.[0] ?? again.text}`);
again.child.kill('SIGTERM');
await again.ended;
fs.rmSync(dir, { recursive: true, force: true });
