// SPDX-License-Identifier: Apache-2.0
// Every reply is what Docker's own API document says it is; it is part of the Go module github.com/docker/docker.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { withDaemon } from '../../lib/daemon.mjs';
import { goModule } from '../../lib/languages.mjs';
import { Replies } from '../../lib/replies.mjs';
import { Swagger } from '../../lib/swagger.mjs';
import { it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE } from './client.mjs';

const ANY = { swagger: 'swagger.yaml' };

withDaemon('docker: schemas', {}, (d) => {
    it('containers, execs, the engine, and errors', async () => {
        const r = new Replies(d, BASE);
        const json = (body) => ({ json: body });
        await r.call('GET', '/version', 200, ANY);
        await r.call('GET', '/info', 200, ANY);

        const { Id } = await r.call('POST', '/containers/create?name=box', 201, ANY, json({ Image: 'local', Cmd: ['sh', '-c', 'read x'], OpenStdin: true, Tty: true, Env: ['A=1'], Labels: { a: 'b' }, WorkingDir: '/' }));
        await r.call('GET', `/containers/${Id}/json`, 200, ANY);
        await r.call('POST', `/containers/${Id}/start`, 204);
        await r.call('POST', `/containers/${Id}/start`, 304);
        await r.call('GET', `/containers/${Id}/json`, 200, ANY);
        await r.call('GET', '/containers/sandbox/json', 200, ANY);
        await r.call('GET', '/images/json', 200, ANY);
        await r.call('GET', '/images/local/json', 200, ANY);
        for (const [version, has] of [['v1.43', true], ['v1.44', false]]) {
            const [list, one] = await Promise.all(['/images/json', '/images/local/json'].map((p) => d.request('GET', `${BASE}/${version}${p}`)));
            assert.deepEqual([list.json[0], one.json].map((image) => 'VirtualSize' in image), [has, has], version);
        }
        await r.call('GET', '/containers/json?all=1', 200, ANY);
        await r.call('GET', '/containers/json?all=1&size=1', 200, ANY);
        await r.call('GET', `/containers/${Id}/top`, 200, ANY);
        await r.call('GET', `/containers/${Id}/stats?stream=0`, 200, ANY);
        await r.call('GET', '/containers/sandbox/stats?stream=0', 200, ANY);
        await r.call('POST', `/containers/${Id}/resize?h=30&w=100`, 200);
        await r.call('POST', `/containers/${Id}/rename?name=other`, 501, ANY);
        await r.call('POST', `/containers/${Id}/pause`, 501, ANY);
        await r.call('POST', `/containers/${Id}/unpause`, 501, ANY);
        await r.call('POST', `/containers/${Id}/update`, 501, ANY, json({}));
        await r.call('GET', `/containers/${Id}/changes`, 501, ANY);
        await r.call('GET', `/containers/${Id}/export`, 501, ANY);

        const made = await r.call('POST', '/containers/sandbox/exec', 201, ANY, json({ Cmd: ['sh', '-c', 'exit 3'], AttachStdout: true, Tty: true }));
        await r.call('GET', `/exec/${made.Id}/json`, 200, ANY);
        await r.call('POST', `/exec/${made.Id}/start`, 200, null, json({ Detach: true }));
        await waitUntil(async () => (await r.call('GET', `/exec/${made.Id}/json`, 200, ANY)).ExitCode === 3, 'the exit of the exec');
        const tty = await r.call('POST', '/containers/sandbox/exec', 201, ANY, json({ Cmd: ['cat'], Tty: true }));
        await r.call('POST', `/exec/${tty.Id}/start`, 200, null, json({ Detach: true, Tty: true }));
        await r.call('POST', `/exec/${tty.Id}/resize?h=30&w=100`, 200);

        await r.call('POST', `/containers/${Id}/restart?t=1`, 204);
        await r.call('POST', `/containers/${Id}/kill`, 204);
        await r.call('POST', `/containers/${Id}/wait`, 200, ANY);
        await r.call('POST', `/containers/${Id}/stop`, 304);
        await r.call('GET', `/containers/${Id}/json`, 200, ANY);
        await r.call('POST', `/containers/${Id}/kill`, 409, ANY);
        await r.call('DELETE', `/containers/${Id}`, 204);
        await r.call('POST', '/containers/prune', 501, ANY);

        for (const [method, where] of [
            ['GET', '/containers/none/json'], ['GET', '/containers/none/top'], ['GET', '/containers/none/logs'], ['POST', '/containers/none/start'],
            ['POST', '/containers/none/wait'], ['POST', '/containers/none/stop'], ['DELETE', '/containers/none'], ['GET', '/exec/none/json'],
            ['POST', '/containers/none/attach'], ['GET', '/containers/none/archive?path=/'],
        ]) await r.call(method, where, 404, ANY);
        await r.call('POST', '/containers/none/exec', 404, ANY, json({ Cmd: ['true'] }));
        await r.call('POST', '/exec/none/start', 404, ANY, json({}));
        await r.call('POST', '/containers/create', 400, ANY, json({ Cmd: null, Image: 'x' }));
        await r.call('GET', '/containers/json?limit=x', 400, ANY);
        await r.call('GET', '/containers/json', 401, ANY, { role: 'wrong-wrong-wrong-wrong' });
        await r.call('POST', '/containers/create', 403, ANY, { role: 'watch', json: { Cmd: ['true'] } });

        const doc = parse(fs.readFileSync(path.join(await goModule('github.com/docker/docker'), 'api/swagger.yaml'), 'utf8'));
        doc.paths['/exec/{id}/json'].get.responses[200].schema.properties.ExitCode['x-nullable'] = true; // so it is in Docker's own replies while it runs
        new Swagger(doc).check(r.of('swagger'), 'GET /containers/{id}/json 404');
        r.checkRoutes('docker', {
            'GET /_ping': 'text',
            'GET /containers/{id}/attach/ws': 'a WebSocket',
            'PUT /containers/{id}/archive': 'an archive',
            'GET /events': 'a stream without end',
            'POST /images/create': 'a stream of JSON, without a schema',
        }, { same: /^\/\{version\}/ });
    });
});
