// SPDX-License-Identifier: Apache-2.0
// As whom things are done when the daemon is root and its worker is not: as the one who was named,
// also if that is the worker's own user.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { withDaemon } from '../../lib/daemon.mjs';
import { create } from '../../lib/e2b.mjs';
import { after, before, it } from '../../lib/test.mjs';

const skip = process.getuid() !== 0 && 'needs root';

withDaemon('e2b: the worker has a user whom a client may name', { skip, args: ['--worker-user', 'nobody'] }, (d) => {
    let dir;
    let s;
    before(async () => {
        dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-e2b-'));
        fs.chmodSync(dir, 0o777);
        fs.writeFileSync(`${dir}/secret`, 'x', { mode: 0o600 });
        s = await create(d);
    });
    after(() => fs.rmSync(dir, { recursive: true }));
    const whom = async (user) => (await s.commands.run('id -un', { user })).stdout.trim();

    it('a command of that user is not one of root', async () => {
        assert.equal(await whom('nobody'), 'nobody');
        assert.equal(await whom(String(fs.statSync(`/proc/${d.workerPid()}`).uid)), 'nobody');
        assert.equal(await whom('daemon'), 'daemon');
        assert.equal(await whom('root'), 'root');
        assert.equal(await whom(undefined), 'root');
    });

    // As with envd: a path in a directory of root was permission_denied here.
    it('files are written by root, and belong to the user, as do the directories on the way', async () => {
        fs.mkdirSync(`${dir}/closed`, { mode: 0o700 });
        const user = { user: 'nobody' };
        const owner = (name) => fs.statSync(`${dir}/closed/${name}`).uid;
        const { uid } = fs.statSync(`/proc/${d.workerPid()}`);
        await s.files.write(`${dir}/closed/a/b/file`, 'x', user);
        await s.files.makeDir(`${dir}/closed/c/d`, user);
        await s.files.rename(`${dir}/closed/a/b/file`, `${dir}/closed/e/moved`, user);
        for (const name of ['a', 'a/b', 'c', 'c/d', 'e', 'e/moved']) assert.equal(owner(name), uid, name);
        fs.writeFileSync(`${dir}/closed/roots`, 'old', { mode: 0o600 });
        await s.files.write(`${dir}/closed/roots`, 'new', user);
        assert.equal(owner('roots'), uid, 'what is overwritten belongs to the user, too');
        assert.equal(owner('.'), 0, 'what was there before does not');
        await s.files.write(`${dir}/closed/own`, 'x');
        assert.equal(owner('own'), 0);
        assert.equal((await s.files.getInfo(`${dir}/closed/e/moved`, user)).owner, 'nobody');
        assert.equal(await s.files.read(`${dir}/secret`, user), 'x');
        assert.equal((await s.files.list(`${dir}/closed`, user)).length, 5);
        await s.files.remove(`${dir}/closed`, user);
        assert.equal(fs.existsSync(`${dir}/closed`), false);
    });
});

withDaemon('e2b: files of a daemon that may not run processes as everybody', { skip, args: ['--allow-users', 'root,nobody'] }, (d) => {
    it('are accessed with the rights of the user', async () => {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-e2b-'));
        fs.chmodSync(dir, 0o777);
        fs.writeFileSync(`${dir}/secret`, 'x', { mode: 0o600 });
        const s = await create(d);
        await assert.rejects(s.files.read(`${dir}/secret`, { user: 'nobody' }), /ermission denied/);
        await s.files.write(`${dir}/mine`, 'x', { user: 'nobody' });
        assert.equal((await s.files.getInfo(`${dir}/mine`, { user: 'nobody' })).owner, 'nobody');
        assert.equal(await s.files.read(`${dir}/secret`), 'x');
        fs.rmSync(dir, { recursive: true });
    });
});

const limited = ['--allow-users', 'root,nobody', '--e2b-user', 'nobody'];

withDaemon('e2b: links that are signed for the default user', { skip, args: limited }, (d) => {
    it('give nobody another user’s rights', async () => {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-e2b-'));
        fs.chmodSync(dir, 0o777);
        fs.writeFileSync(`${dir}/secret`, 'x', { mode: 0o600 });
        fs.writeFileSync(`${dir}/open`, 'y', { mode: 0o644 });
        await create(d);
        const get = (name, user, more = {}) => {
            const text = `${dir}/${name}:read:${user}:${d.tokens.own}`;
            const signature = `v1_${crypto.createHash('sha256').update(text).digest('base64').replace(/=+$/, '')}`;
            const query = new URLSearchParams({ path: `${dir}/${name}`, signature, ...(user && { username: user }) });
            return d.request('GET', `/dialects/e2b/files?${query}`, { role: null, ...more });
        };
        const root = { headers: { Authorization: `Basic ${Buffer.from('root:').toString('base64')}` } };
        assert.deepEqual([(await get('open', '')).status, (await get('open', '', root)).status], [200, 200]);
        assert.equal((await get('secret', 'root')).text, 'x');
        assert.equal((await get('secret', '')).status, 403);
        assert.equal((await get('secret', '', root)).status, 403);
        fs.rmSync(dir, { recursive: true });
    });
});

withDaemon('e2b: an own user for those who name none', { skip, args: ['--e2b-user', 'daemon'] }, (d) => {
    it('commands and files are that user’s, until init names another', async () => {
        const s = await create(d);
        const whom = async (more) => (await s.commands.run('id -un; echo $HOME', more)).stdout.split('\n');
        const passwd = fs.readFileSync('/etc/passwd', 'utf8');
        const [, home] = /^daemon:(?:[^:]*:){4}([^:]*)/m.exec(passwd);
        assert.deepEqual((await whom()).slice(0, 2), ['daemon', home]);
        assert.equal((await whom({ user: 'root' }))[0], 'root');
        const init = (json) => d.request('POST', '/dialects/e2b/init', { json });
        assert.equal((await init({ defaultUser: 'nobody' })).status, 204);
        assert.equal((await whom())[0], 'nobody');
        // Clients before 2.0 name E2B's own user in every call; few machines have one.
        const original = (otherwise) => (/^user:/m.test(passwd) ? 'user' : otherwise);
        assert.equal((await whom({ user: 'user' }))[0], original('nobody'));
        assert.equal((await init({ defaultUser: 'user' })).status, 204);
        assert.equal((await whom())[0], original('daemon'));
        assert.equal((await init({ defaultUser: '' })).status, 204);
        assert.equal((await whom())[0], 'daemon');
    });
});

// Another /etc/passwd than the machine's, in a mount namespace of its own: it has E2B's user.
const PASSWD = '(grep -v ^user: /etc/passwd; echo user:x:12345:12345::/tmp:/bin/sh) >"$TMPDIR/passwd" && mount --bind "$TMPDIR/passwd" /etc/passwd && exec "$@"';
const ownPasswd = ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', PASSWD, 'sh'];

withDaemon('e2b: users that cannot be looked up', { skip, before: ownPasswd }, (d) => {
    it('are refused, and do not become the default one', async () => {
        const s = await create(d);
        const whom = async (user) => (await s.commands.run('id -u', { user })).stdout.trim();
        const link = (username) => d.request('GET', `/dialects/e2b/files?${new URLSearchParams({ path: '/etc/hostname', username })}`);
        assert.equal(await whom('user'), '12345');
        assert.equal((await link('user')).status, 200);
        fs.chmodSync(path.join(d.dir, 'passwd'), 0o600); // the worker is not root
        await assert.rejects(whom('user'), /cannot look up user 'user': \/etc\/passwd: Permission denied/);
        await assert.rejects(whom('nobody'), /cannot look up user 'nobody'/);
        assert.equal((await link('user')).status, 500);
        assert.equal((await d.request('POST', '/dialects/e2b/init', { json: { defaultUser: 'user' } })).status, 204);
        await assert.rejects(whom(undefined), /cannot look up user 'user'/);
        assert.equal((await d.request('POST', '/dialects/e2b/init', { json: { defaultUser: '' } })).status, 204);
        assert.deepEqual([await whom('12345'), await whom(undefined)], ['12345', '0']);
        fs.chmodSync(path.join(d.dir, 'passwd'), 0o644);
        assert.equal(await whom('user'), '12345');
    });
});
