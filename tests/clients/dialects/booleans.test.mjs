// SPDX-License-Identifier: Apache-2.0
// Booleans in a query as Python (True), Go (1, t), forms (on) and people (yes) write them.

import assert from 'node:assert/strict';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';

const YES = ['true', 'True', 'TRUE', 't', '1', 'yes', 'on'];
const NO = ['false', 'False', '0', 'no', 'off'];

withDaemon('booleans in queries', {}, (d) => {
    const get = (path) => d.request('GET', path);

    it('native: each of them follows, or does not; another word is refused', async () => {
        const p = await d.spawn({ command: 'sh', args: ['-c', 'echo out; read line; echo $line'], stdin: 'pipe' });
        await d.outputHas(p.id, 'out');
        for (const no of NO) {
            const r = await get(`/v1/processes/${p.id}/output?since=0&follow=${no}`);
            assert.deepEqual([r.status, r.text], [200, 'out\n'], no);
        }
        const followers = YES.map((yes) => get(`/v1/processes/${p.id}/output?since=0&follow=${yes}`));
        assert.equal((await get(`/v1/processes/${p.id}/output?follow=perhaps`)).status, 400);
        await d.request('POST', `/v1/processes/${p.id}/input`, { body: 'typed\n', headers: { 'Content-Type': 'application/octet-stream' } });
        for (const r of await Promise.all(followers)) assert.equal(r.text, 'out\ntyped\n');
    });

    it('sandbox-agent: logs follow as events', async () => {
        const { id } = await d.spawn({ command: 'echo', args: ['once'] });
        await d.exitOf(id);
        const logs = (follow) => get(`/dialects/sandbox-agent/v1/processes/${id}/logs?follow=${follow}`);
        for (const yes of YES) assert.match((await logs(yes)).type, /event-stream/, yes);
        for (const no of NO) assert.match((await logs(no)).type, /json/, no);
        assert.equal((await logs('perhaps')).status, 400);
    });

    it('OpenSandbox: the list of what runs', async () => {
        const url = '/dialects/opensandbox/command?running=';
        for (const word of [...YES, ...NO]) assert.equal((await get(url + word)).status, 200, word);
        assert.equal((await get(`${url}perhaps`)).status, 400);
        const endpoint = (yes) => get(`/dialects/opensandbox/v1/sandboxes/any/endpoints/8080?use_server_proxy=${yes}`);
        for (const yes of YES) assert.match((await endpoint(yes)).text, /proxy\/8080/, yes);
        for (const no of NO) assert.doesNotMatch((await endpoint(no)).text, /proxy\/8080/, no);
    });

    it('Vercel: waits for the end of a command', async () => {
        const api = '/dialects/vercel/api/v2/sandboxes';
        const { session } = (await d.request('GET', `${api}/local`)).json;
        const url = `${api}/sessions/${session.id}/cmd`;
        const json = { command: 'sh', args: ['-c', 'read line; exit 3'], attachStdin: true };
        const id = (await d.request('POST', url, { json })).json.command.id;
        const state = async (wait) => JSON.parse((await get(`${url}/${id}?wait=${wait}`)).text.split('\n')[0]).command;
        for (const no of NO) assert.equal((await state(no)).exitCode, null, no);
        const waiting = YES.map((yes) => get(`${url}/${id}?wait=${yes}`));
        await d.request('POST', `/v1/processes/${id}/input`, { body: '\n', headers: { 'Content-Type': 'application/octet-stream' } });
        for (const r of await Promise.all(waiting)) assert.match(r.text, /"exitCode": ?3/);
    });
});
