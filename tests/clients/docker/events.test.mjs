// SPDX-License-Identifier: Apache-2.0
// docker events, restart and images: containers that start, die and are destroyed; a name as an image.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import readline from 'node:readline';
import { withDaemon } from '../../lib/daemon.mjs';
import { limit } from '../../lib/limits.mjs';
import { afterEach, it } from '../../lib/test.mjs';
import { waitUntil } from '../../lib/wait.mjs';
import { BASE, Cli, dockerode, withClis } from './client.mjs';

const LIMIT = limit('LIMIT_DOCKER_EVENTS');
const KEPT_PART = limit('LIMIT_WAITS_KEPT_PART');
const now = () => (Date.now() / 1000).toFixed(3);

withDaemon('docker: events', {}, (d) => {
    afterEach(() => http.globalAgent.destroy());
    const docker = () => dockerode(d);
    const brief = (events) => events.map((e) => [e.Action, e.Actor.Attributes.name]);
    /** A stream and what it has told so far. */
    const listen = async (options) => {
        const stream = await docker().getEvents(options);
        const seen = { events: [], ended: false, failed: null, close: () => stream.destroy() };
        stream.once('end', () => (seen.ended = true));
        stream.on('error', (err) => (seen.failed = err));
        readline.createInterface({ input: stream }).on('line', (l) => seen.events.push(JSON.parse(l))).on('error', () => {});
        return seen;
    };

    withClis((cli) => {
        const own = () => new Cli(cli, d);
        const events = async (...args) => (await own().ok('events', '--since', '1', '--until', now(), '--format', '{{json .}}', ...args)).trim().split('\n').filter(Boolean).map(JSON.parse);

        const named = (name) => `${name}-${cli.version}`;

        it('what has happened, by container, event, label, image and type', async () => {
            assert.equal((await own().run(['run', '--name', named('past'), '--label', 'a=b', 'some/image', 'sh', '-c', 'exit 3'])).code, 3);
            const id = (await own().ok('inspect', '-f', '{{.Id}}', named('past'))).trim();
            await own().ok('rm', named('past'));
            /* The reply to `rm` may be here before the event. */
            const all = await waitUntil(async () => {
                const seen = await events('--filter', `container=${named('past')}`);
                return seen.length === 3 && seen;
            }, 'three events');
            assert.deepEqual(brief(all), ['start', 'die', 'destroy'].map((a) => [a, named('past')]));
            for (const e of all) {
                assert.deepEqual([e.Type, e.scope, e.status, e.id, e.from, e.Actor.ID], ['container', 'local', e.Action, id, 'some/image', id]);
                assert.ok(Math.abs(e.time - Date.now() / 1000) < 600 && Math.floor(e.timeNano / 1e9) === e.time);
            }
            assert.deepEqual(all[0].Actor.Attributes, { a: 'b', image: 'some/image', name: named('past') });
            assert.deepEqual({ ...all[1].Actor.Attributes, execDuration: '' }, { a: 'b', image: 'some/image', name: named('past'), exitCode: '3', execDuration: '' });
            const actions = async (...filters) => (await events('--filter', `container=${id.slice(0, 12)}`, ...filters.flatMap((f) => ['--filter', f]))).map((e) => e.Action);
            assert.deepEqual(await actions('event=die'), ['die']);
            assert.deepEqual(await actions('event=die', 'event=start', 'label=a=b'), ['start', 'die']);
            assert.deepEqual(await actions('image=some/image', 'type=container'), ['start', 'die', 'destroy']);
            for (const none of ['label=a=c', 'image=other', 'type=network', 'network=x', 'event=create']) assert.deepEqual(await actions(none), [], none);
            assert.match((await own().run(['events', '--until', now(), '--filter', 'nosuch=1'])).stderr, /invalid filter 'nosuch'/);
        });

        it('what happens, as it does, whoever started it', async () => {
            const watch = own().start(['events', '--filter', 'container=native', '--format', '{{.Action}} {{.Actor.Attributes.exitCode}}']);
            /* Until it listens, an event is missed, so that there is one each time. */
            await waitUntil(async () => {
                const p = await d.spawn({ command: 'true', tag: 'native' });
                await d.exitOf(p.id);
                return watch.stdout().includes('die 0');
            }, 'an event');
            watch.child.kill('SIGINT');
            await watch.over;
        });

        it('an image is its name: inspect, images, and the image of a container', async () => {
            await own().ok('run', '-d', '--name', 'imaged', 'reg.example:5000/team/app:1', 'sleep', '971');
            const [image] = JSON.parse(await own().ok('image', 'inspect', 'reg.example:5000/team/app:1'));
            assert.deepEqual([image.RepoTags, image.Size, image.Os], [['reg.example:5000/team/app:1'], 0, 'linux']);
            assert.match(image.Comment, /a name only/);
            assert.equal(await own().ok('inspect', '-f', '{{.Image}}', 'imaged'), `${image.Id}\n`);
            assert.equal(JSON.parse(await own().ok('image', 'inspect', image.Id))[0].Id, image.Id);
            assert.match(await own().ok('images', '--format', '{{.Repository}} {{.Tag}}'), /^reg\.example:5000\/team\/app 1$/m);
            assert.equal(await own().ok('images', '-q', '--no-trunc', 'reg.example:5000/team/app'), `${image.Id}\n`);
            assert.equal(await own().ok('images', '-q', 'other'), '');
            assert.match(await own().ok('pull', 'reg.example:5000/team/other'), /an image is a name only/);
            assert.match((await own().run(['image', 'inspect', 'unused'])).stderr, /No such image/);
            assert.match((await own().run(['image', 'inspect', `sha256:${'0'.repeat(64)}`])).stderr, /No such image/);
            await own().ok('rm', '-f', 'imaged');
        });

        it('restart runs the command again, under the same id', async () => {
            await own().ok('run', '-d', '--name', 'again', '-e', 'HF_X=from run', '-w', '/tmp', 'x', 'sh', '-c', 'echo $$ $HF_X $PWD; exec sleep 972');
            const id = (await own().ok('inspect', '-f', '{{.Id}}', 'again')).trim();
            const said = () => waitUntil(async () => /^(\d+) from run \/tmp\n$/.exec(await own().ok('logs', 'again'))?.[1], 'its output');
            const pid = await said();
            assert.equal(await own().ok('restart', '-t', '5', 'again'), 'again\n');
            assert.equal((await own().ok('inspect', '-f', '{{.Id}} {{.State.Status}}', 'again')).trim(), `${id} running`);
            assert.notEqual(await said(), pid);
            assert.deepEqual((await d.list()).filter((p) => p.tag === 'again').map((p) => p.status), ['running']);
            await own().ok('kill', 'again');
            assert.match((await own().run(['restart', 'again'])).stderr, /cannot be restarted/);
            await own().ok('rm', 'again');
        });
    });

    it('a stream has each event of a filter once', async () => {
        const a = await listen({ since: now(), filters: { event: ['start', 'destroy'], label: ['run=1'] } });
        const c = await docker().createContainer({ Image: 'x', Cmd: ['sleep', '973'], name: 'streamed', Labels: { run: '1' } });
        await c.start();
        await c.remove({ force: true });
        const other = await d.spawn({ command: 'true', tag: 'unlabelled' });
        await d.exitOf(other.id);
        await waitUntil(() => a.events.length === 2, 'two events');
        assert.deepEqual(brief(a.events), [['start', 'streamed'], ['destroy', 'streamed']]);
        assert.equal(a.events[1].id, c.id);
        a.close();
    });

    it('a stream ends at its time, and not before', async () => {
        const until = (Date.now() / 1000 + 1.5).toFixed(3);
        const a = await listen({ until });
        await waitUntil(() => a.ended, 'the end', 15000);
        assert.ok(Date.now() / 1000 >= Number(until));
        assert.equal(a.failed, null);
    });

    it('a restart is a die and a start of one container', async () => {
        const c = await docker().createContainer({ Image: 'x', Cmd: ['sleep', '974'], name: 'twice', HostConfig: { AutoRemove: false } });
        await c.start();
        const a = await listen({ filters: { container: ['twice'] } });
        await c.restart({ t: 1 });
        await waitUntil(() => a.events.length === 3, 'the events');
        assert.deepEqual(brief(a.events).map(([x]) => x), ['die', 'destroy', 'start']);
        assert.deepEqual([...new Set(a.events.map((e) => e.id))], [c.id]);
        a.close();
        await c.remove({ force: true });
    });

    // Both ended it, and both started its next run; or the second was told that its variables were not kept.
    it('a restart that meets another is refused, and says why', async () => {
        const go = `${d.dir}/restart-go`;
        const c = await docker().createContainer({ Image: 'x', Cmd: ['sh', '-c', 'trap \'echo ends; until [ -e "$GO" ]; do sleep 0.02; done; exit 0\' TERM; echo ready; while :; do sleep 0.02; done'], Env: [`GO=${go}`], name: 'met' });
        await c.start();
        const { id } = (await d.list()).find((p) => p.tag === 'met');
        await d.outputHas(id, 'ready');
        const first = c.restart({ t: 60 });
        await d.outputHas(id, 'ends');
        await assert.rejects(c.restart({ t: 60 }), (err) => err.statusCode === 409 && /is already being restarted or started/.test(err.message));
        fs.writeFileSync(go, '');
        await first;
        assert.deepEqual((await d.list()).filter((p) => p.tag === 'met').map((p) => p.status), ['running']);
        await c.remove({ force: true });
    });

    it('refusals: times, filters, too many, too little rights; rename and update are not there', async () => {
        for (const options of [{ since: 'x' }, { until: '-' }, { filters: { dangling: ['1'] } }]) await assert.rejects(docker().getEvents(options), { statusCode: 400 });
        for (const [query, message] of [['since=x', 'invalid since: x'], ['since=20&until=10', '`since` time cannot be after `until` time'], ['filters={"x":["1"]}', "invalid filter 'x'"]]) {
            const a = await d.request('GET', `${BASE}/events?${encodeURI(query)}`);
            assert.deepEqual([a.status, JSON.parse(a.text)], [400, { message }]);
        }
        const many = [];
        for (let i = 0; i < LIMIT; i++) many.push(await listen({}));
        await assert.rejects(docker().getEvents({}), { statusCode: 429 });
        many.forEach((m) => m.close());
        await waitUntil(() => docker().getEvents({}).then((s) => (s.destroy(), true), () => false), 'room again');
        await assert.rejects(dockerode(d, { token: d.tokens.watch }).getContainer('sandbox').restart(), { statusCode: 403 });
        await assert.rejects(docker().getContainer('sandbox').restart(), { statusCode: 409 });
        await assert.rejects(docker().getContainer('sandbox').rename({ name: 'other' }), { statusCode: 501 });
        await assert.rejects(docker().getContainer('sandbox').update({}), { statusCode: 501 });
        await assert.rejects(docker().getImage('-bad').inspect(), { statusCode: 400 });
        await assert.rejects(docker().getImage('abcdef012345').inspect(), { statusCode: 404 });
        await assert.rejects(docker().listImages({ filters: { nosuch: ['1'] } }), { statusCode: 400 });
    });

    // The tag was ignored: `alpine` and `tag=3.19` was alpine:latest.
    it('pull has the tag or digest of its parameter', async () => {
        const pull = (query) => d.request('POST', `${BASE}/images/create?${query}`);
        const digest = `sha256:${'0a'.repeat(32)}`;
        for (const [query, id] of [
            ['fromImage=alpine&tag=3.19', 'alpine:3.19'], ['fromImage=alpine&tag=', 'alpine:latest'], ['fromImage=reg.example:5000/a/b:1&tag=2', 'reg.example:5000/a/b:2'],
            [`fromImage=alpine&tag=${digest}`, `alpine@${digest}`], [`fromImage=alpine@${digest}`, `alpine@${digest}`], [`fromImage=alpine&tag=${'x'.repeat(128)}`, `alpine:${'x'.repeat(128)}`],
        ]) assert.equal((await pull(query)).json?.id, id, query);
        for (const query of ['fromImage=alpine&tag=a/b', 'fromImage=alpine&tag=.x', 'fromImage=alpine&tag=-x', 'fromImage=alpine&tag=a%20b', 'fromImage=alpine&tag=sha256:00', `fromImage=alpine&tag=${'x'.repeat(129)}`, 'tag=1', 'fromImage=&tag=1', 'fromImage=:1&tag=1', `fromImage=${'x'.repeat(250)}&tag=123456`]) {
            const a = await pull(query);
            assert.deepEqual([a.status, a.json], [400, { message: 'invalid reference format' }], query);
        }
    });

    // A token that only watches could use all streams, and the owner's request was refused.
    it('watchers leave streams for the owner', async () => {
        const watcher = dockerode(d, { token: d.tokens.watch });
        const many = [];
        for (let i = 0; i < LIMIT - LIMIT / KEPT_PART; i++) many.push(await watcher.getEvents({}));
        await assert.rejects(watcher.getEvents({}), new RegExp(` ${many.length} requests for events are already in progress; try again later`));
        for (let i = many.length; i < LIMIT; i++) many.push(await docker().getEvents({}));
        await assert.rejects(docker().getEvents({}), { statusCode: 429 });
        many.forEach((m) => m.destroy());
        await waitUntil(() => watcher.getEvents({}).then((s) => (s.destroy(), true), () => false), 'room again');
    });

    it('a worker that dies cuts the stream, and the next one knows what was', async () => {
        const a = await listen({});
        const p = await d.spawn({ command: 'true', tag: 'before' });
        await waitUntil(() => a.events.some((e) => e.Action === 'die' && e.Actor.Attributes.name === 'before'), 'the event');
        process.kill(d.workerPid(), 'SIGKILL');
        await waitUntil(() => a.ended || a.failed, 'the cut');
        const b = await waitUntil(() => listen({ since: '1', until: now(), filters: { container: ['before'] } }).catch(() => null), 'the next worker', 15000);
        await waitUntil(() => b.ended, 'the end');
        assert.deepEqual(brief(b.events), [['start', 'before'], ['die', 'before']]);
        await d.exitOf(p.id);
    });
});
