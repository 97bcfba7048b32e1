// SPDX-License-Identifier: Apache-2.0
// A secret that the daemon was given is found nowhere that a child or a log reader can look.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from '../lib/test.mjs';
import { Viewer, refusedHandshake } from '../lib/client.mjs';
import { Daemon } from '../lib/daemon.mjs';
import * as proc from '../lib/proc.mjs';
import { RawConn, requestBytes } from '../lib/raw.mjs';

const ENV_TOKEN = 'env-secret-3f9a1c77d2e84b5098aa';
const WRONG = 'wrong-secret-71b0c2d3e4f5a6b7c8d9';

for (const how of ['--token-file', 'HOLDFAST_TOKEN']) {
    test(`tokens by ${how} appear nowhere`, async () => {
        const byEnv = how === 'HOLDFAST_TOKEN';
        const d = new Daemon({
            auth: byEnv ? false : undefined,
            env: byEnv ? { HOLDFAST_TOKEN: ENV_TOKEN } : {},
            args: ['--log-level', 'debug'],
        });
        d.prepare();
        if (byEnv) {
            d.authHeaders = (role = 'own') =>
                role === null ? {} : { Authorization: `Bearer ${role === 'own' ? ENV_TOKEN : role}` };
        }
        await d.start();
        try {
            const secrets = byEnv ? [ENV_TOKEN] : Object.values(d.tokens);
            const p = await d.sh('env; cat /proc/$PPID/environ | tr "\\0" "\\n"; cat /proc/$PPID/cmdline; sleep 30', {
                pty: true,
            });
            const v = await Viewer.attach(d, p.id, {
                role: null,
                protocols: ['holdfast.v1', `holdfast.bearer.${Buffer.from(secrets[0]).toString('base64url')}`],
            });
            v.cut();
            const made = (await d.api('POST', '/v1/tickets', { json: {} })).json;
            const page = await d.request('GET', `/?ticket=${made.ticket}`, { role: null });
            const cookie = (page.headers['set-cookie'] ?? [''])[0].split(';')[0].replace('holdfast=', '');
            await d.request('GET', '/v1/processes', { role: null, headers: { Cookie: `holdfast=${cookie}` } });
            const link = (await d.api('POST', `/v1/processes/${p.id}/links`, { json: { role: 'watch' } })).json.token;
            const opened = await d.request('GET', `/?link=${link}`, { role: null });
            const linkCookie = (opened.headers['set-cookie'] ?? [''])[0].split(';')[0].split('=')[1];
            await d.request('GET', `/v1/processes/${p.id}`, { role: link });
            // Wrong ones and misplaced ones are secrets of somebody too.
            await d.request('GET', '/v1/info', { role: WRONG });
            await d.request('GET', `/v1/info?token=${WRONG}`);
            await refusedHandshake(d, p.id, {
                role: null,
                protocols: [`holdfast.bearer.${Buffer.from(WRONG).toString('base64url')}`],
            });
            const c = await RawConn.connect(d);
            c.send(
                requestBytes(d, `GET /v1/info`, {
                    role: null,
                    headers: { Authorization: `Bearer ${WRONG}`, Bad: '\x01' },
                }),
            );
            await c.response();
            c.destroy();

            const all = [...secrets, made.ticket, cookie, link, linkCookie, WRONG, Buffer.from(secrets[0]).toString('base64url')];
            const hunt = (where, text) => {
                for (const s of all) assert.ok(!text.includes(s), `${where} holds the secret ${s.slice(0, 12)}…`);
            };
            const worker = d.workerPid();
            for (const pid of [d.pid, worker, p.pid]) {
                hunt(`cmdline of ${pid}`, proc.cmdline(pid).join(' '));
                hunt(`environ of ${pid}`, (proc.environ(pid) ?? []).join('\n'));
            }
            hunt('output of the child', (await d.output(p.id)).toString('latin1'));
            const own = (await d.api('POST', '/v1/processes/run', { json: { command: 'env' }, expect: 200 })).json
                .stdout;
            assert.ok(!own.includes('HOLDFAST_TOKEN'), 'not even the name is handed on');
            hunt('the log', d.stderr + d.stdout);
            for (const path of ['/metrics', '/v1/info', '/v1/activity', '/v1/processes', '/openapi.json']) {
                hunt(path, (await d.request('GET', path)).text);
            }
            for (const f of fs.readdirSync(d.dir)) {
                const at = `${d.dir}/${f}`;
                if (at !== d.tokenFile && fs.statSync(at).isFile()) hunt(at, fs.readFileSync(at, 'latin1'));
            }
            await d.remove(p.id);
        } finally {
            await d.stop();
        }
        for (const s of byEnv ? [ENV_TOKEN] : Object.values(d.tokens))
            assert.ok(!d.stderr.includes(s), 'the log at the end');
    });
}
