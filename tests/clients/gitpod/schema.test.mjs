// SPDX-License-Identifier: Apache-2.0
// Every message is one of npm @gitpod/supervisor-api-grpc, byte for byte: its code drops what it does not know, and
// what it writes again must be the same. The JSON gateway has the fields of the same messages.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { withDaemon } from '../../lib/daemon.mjs';
import { it } from '../../lib/test.mjs';
import { OPTIONS, clientsOf, pb, portOf } from './client.mjs';

const { TerminalServiceService: SERVICE } = createRequire(import.meta.url)('@gitpod/supervisor-api-grpc/lib/terminal_grpc_pb.js');
/** Field 100 of any message, as a number. */
const UNKNOWN = Buffer.from([0xa0, 0x06, 0x01]);

withDaemon('gitpod: schemas', OPTIONS, (d) => {
    const client = clientsOf(d);
    const checked = new Set();

    const check = (name, bytes) => {
        const type = SERVICE[name].responseType;
        const again = (b) => Buffer.from(type.deserializeBinary(b).serializeBinary());
        assert.deepEqual(again(bytes), bytes, name);
        assert.deepEqual(again(Buffer.concat([bytes, UNKNOWN])), bytes, `${name}: a field more would not be noticed`);
        checked.add(name);
        return type.deserializeBinary(bytes);
    };
    /** A message with these fields: {alias: 'x'} calls setAlias('x'). */
    const message = (Type, fields) => {
        const m = new Type();
        for (const [k, v] of Object.entries(fields)) m[`set${k[0].toUpperCase()}${k.slice(1)}`](v);
        return m;
    };
    const unary = (c, name, fields) =>
        new Promise((done, fail) =>
            c.raw.makeUnaryRequest(SERVICE[name].path, SERVICE[name].requestSerialize, (b) => b, message(SERVICE[name].requestType, fields), c.metadata, {}, (err, bytes) =>
                err ? fail(new Error(`${name}: ${err.message}`)) : done(check(name, bytes)),
            ),
        );
    const stream = (c, name, fields) =>
        new Promise((done, fail) => {
            const all = [];
            const s = c.raw.makeServerStreamRequest(SERVICE[name].path, SERVICE[name].requestSerialize, (b) => b, message(SERVICE[name].requestType, fields), c.metadata, {});
            s.on('data', (b) => all.push(check(name, b)));
            s.on('error', fail);
            s.on('end', () => done(all));
        });

    it('all nine methods, and the gateway', async () => {
        const c = client();
        const size = message(pb.TerminalSize, { rows: 30, cols: 100 });
        const opened = await unary(c, 'open', { shell: 'sh', shellArgsList: ['-c', 'read x; echo got $x; exit 4'], workdir: '/', size });
        const alias = opened.getTerminal().getAlias();
        const pid = opened.getTerminal().getPid();
        assert.ok(pid > 0);
        await unary(c, 'list', {});
        await unary(c, 'get', { alias });
        await unary(c, 'setTitle', { alias, title: 'mine' });
        await unary(c, 'setSize', { alias, token: opened.getStarterToken(), size });
        await unary(c, 'updateAnnotations', { alias });
        const listening = stream(c, 'listen', { alias });

        const json = async (where) => {
            const a = await fetch(`http://127.0.0.1:${portOf(d)}${where}`, { headers: { 'x-gitpod-owner-token': d.token, connection: 'close' } });
            return { status: a.status, body: await a.json() };
        };
        const fields = Object.keys(new pb.Terminal().toObject()).map((k) => k.replace(/(Map|List)$/, '')).sort();
        const one = (await json(`/_supervisor/v1/terminal/get/${alias}`)).body;
        assert.deepEqual(Object.keys(one).sort(), fields);
        assert.equal(one.pid, String(pid));
        const list = (await json('/_supervisor/v1/terminal/list')).body;
        assert.deepEqual(Object.keys(list), ['terminals']);
        for (const t of list.terminals) assert.deepEqual(Object.keys(t).sort(), fields);
        const none = await json('/_supervisor/v1/terminal/get/none');
        assert.deepEqual([none.status, Object.keys(none.body).sort()], [404, ['code', 'details', 'message']]);

        await unary(c, 'write', { alias, stdin: Buffer.from('word\n') });
        const seen = await listening;
        assert.equal(seen.at(-1).getExitCode(), 4);
        const other = await unary(c, 'open', { shell: 'cat' });
        await unary(c, 'shutdown', { alias: other.getTerminal().getAlias() });
        assert.deepEqual(Object.keys(SERVICE).filter((name) => !checked.has(name)), []);
    });
});
