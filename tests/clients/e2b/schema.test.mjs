// SPDX-License-Identifier: Apache-2.0
// Every JSON message of envd's services is one of the schemas in npm e2b, with no field that they do not have; each error has one of Connect's codes.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { fromJson, toJson } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { withDaemon } from '../../lib/daemon.mjs';
import { envelope, envelopes, filesystemService, processService } from '../../lib/e2b.mjs';
import { it } from '../../lib/test.mjs';

const CODES = Object.values(Code).filter((c) => typeof c === 'string').map((c) => c.replace(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase());

withDaemon('e2b: schemas', {}, (d) => {
    const made = new Set();

    /** Decodes strictly, and finds that one field more would not have been accepted. */
    const check = (schema, json, what) => {
        const message = fromJson(schema, json, { ignoreUnknownFields: false });
        assert.deepEqual(fromJson(schema, toJson(schema, message)), message, what);
        assert.throws(() => fromJson(schema, { ...json, holdfastInvented: 1 }, { ignoreUnknownFields: false }), what);
        return json;
    };
    const checkError = (json, code, what) => {
        assert.ok(CODES.includes(json.code), `${what}: ${JSON.stringify(json)}`);
        assert.equal(json.code, code, JSON.stringify(json));
        assert.deepEqual(Object.keys(json).filter((k) => !['code', 'message', 'details'].includes(k)), []);
        assert.ok(json.message.length > 0);
    };
    const caller = (service) => async (name, body, code) => {
        const method = service.methods.find((m) => m.name === name);
        made.add(method);
        const isStream = method.methodKind !== 'unary';
        const what = `${name} ${JSON.stringify(body)}`;
        const a = await d.request('POST', `/dialects/e2b/${service.typeName}/${name}`, {
            body: isStream ? envelope(body) : JSON.stringify(body),
            headers: { 'Content-Type': isStream ? 'application/connect+json' : 'application/json' },
        });
        if (!isStream) {
            assert.equal(a.status === 200, !code, `${what}: ${a.text}`);
            return code ? checkError(a.json, code, what) : check(method.output, a.json, what);
        }
        const all = envelopes(a.body);
        const end = JSON.parse(all.pop().body);
        if (code) checkError(end.error, code, what);
        else assert.deepEqual(end, {});
        return all.map((e) => check(method.output, JSON.parse(e.body), what));
    };

    it('processes', async () => {
        const ask = caller(processService());
        const sh = (line, more = {}) => ({ process: { cmd: '/bin/sh', args: ['-c', line], envs: { A: '1' }, cwd: '/' }, ...more });
        const events = await ask('Start', sh('echo out; echo err >&2; exit 3'));
        assert.deepEqual(events.map((e) => Object.keys(e.event)[0]).sort(), ['data', 'data', 'end', 'start']);
        await ask('Start', sh('echo out; kill -9 $$', { pty: { size: { cols: 90, rows: 30 } } }));
        await ask('Start', { process: { cmd: '/nothing/like/this' } }, 'invalid_argument');
        const p = await d.spawn({ command: 'sh', args: ['-c', 'read x; echo $x; exit 4'], pty: true, tag: 'schema' });
        const process = { pid: p.pid };
        const list = await ask('List', {});
        assert.ok(list.processes.some((x) => x.pid === p.pid));
        await ask('Update', { process, pty: { size: { cols: 91, rows: 31 } } });
        await ask('SendInput', { process, input: { pty: Buffer.from('word\n').toString('base64') } });
        assert.ok((await ask('Connect', { process })).length > 0);
        const cat = await d.spawn({ command: 'cat', stdin: 'pipe' });
        await ask('CloseStdin', { process: { pid: cat.pid } });
        await d.exitOf(cat.id);
        const sleep = await d.spawn({ command: 'sleep', args: ['1000'] });
        await ask('SendSignal', { process: { pid: sleep.pid }, signal: 'SIGNAL_SIGTERM' });
        const nobody = { process: { pid: 4194304 } };
        for (const [name, more] of [['Update', {}], ['SendInput', { input: { stdin: 'eA==' } }], ['SendSignal', { signal: 'SIGNAL_SIGKILL' }], ['CloseStdin', {}], ['Connect', {}]]) {
            await ask(name, { ...nobody, ...more }, 'not_found');
        }
    });

    it('files and watchers', async () => {
        const ask = caller(filesystemService());
        const dir = path.join(d.dir, 'files');
        const at = (name) => path.join(dir, name);
        await ask('MakeDir', { path: dir });
        await ask('MakeDir', { path: dir }, 'already_exists');
        fs.writeFileSync(at('one'), 'text');
        fs.symlinkSync('one', at('link'));
        for (const name of ['one', '.', 'link']) await ask('Stat', { path: at(name) });
        await ask('ListDir', { path: dir, depth: 1 });
        const { watcherId } = await ask('CreateWatcher', { path: dir });
        await ask('Move', { source: at('one'), destination: at('two') });
        for (let events = []; events.length === 0; ) ({ events = [] } = await ask('GetWatcherEvents', { watcherId }));
        await ask('RemoveWatcher', { watcherId });
        for (const name of ['GetWatcherEvents', 'RemoveWatcher']) await ask(name, { watcherId }, 'not_found');
        await ask('Remove', { path: dir });
        for (const name of ['Stat', 'ListDir']) await ask(name, { path: dir }, 'not_found');
        await ask('Move', { source: at('one'), destination: at('two') }, 'not_found');
        await ask('WatchDir', { path: dir }, 'not_found');
    });

    it('no call is left out, but the one whose request is a stream', () => {
        const all = [processService(), filesystemService()].flatMap((s) => s.methods);
        const names = new Set([...made].map((m) => m.name));
        assert.deepEqual(all.map((m) => m.name).filter((n) => !names.has(n)), ['StreamInput']);
    });
});
