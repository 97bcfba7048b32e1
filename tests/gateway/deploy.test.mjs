// SPDX-License-Identifier: Apache-2.0
//
// deploy.test.mjs - the files in deploy/ are what they claim to be, the binary takes their options, and what they
// allow is what is needed

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { Daemon, binary, root } from '../lib/daemon.mjs';
import { Gateway, ask } from '../lib/gateway.mjs';
import { Redis, noRedis } from '../lib/redis.mjs';
import { describe, it } from '../lib/test.mjs';
import { waitUntil } from '../lib/wait.mjs';

const deploy = path.join(root, 'deploy');
const read = (...name) => fs.readFileSync(path.join(deploy, ...name), 'utf8');

/** --help as the last word: options before it must be known and well-formed. */
function takes(words) {
    const [program, ...args] = words;
    assert.match(program, /\/holdfast$/);
    const r = spawnSync(binary(), [...args, '--help'], { encoding: 'utf8' });
    assert.equal(r.status, 0, `${args.join(' ')}: ${r.stderr}`);
}

const noAnalyze = spawnSync('systemd-analyze', ['--version']).error && 'no systemd-analyze (./scripts/setup test installs systemd)';

/** The settings of [Service]; those that are given more than once are lists. */
function settings(text) {
    const out = {};
    const body = /^\[Service\]\n([^]*?)(?=^\[|$(?![^]))/m.exec(text)[1].replaceAll('\\\n', ' ');
    for (const line of body.split('\n').filter((l) => l && !l.startsWith('#'))) {
        const [, key, value] = /^(\w+)=(.*)$/.exec(line);
        out[key] = key in out ? [out[key], value].flat() : value;
    }
    return out;
}

/** A unit with the binary under test, in a directory of its own. */
function withUnit(unit, run) {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-unit-'));
    const file = path.join(dir, unit);
    fs.writeFileSync(file, read(unit).replace(/^ExecStart=\S+/m, `ExecStart=${binary()}`));
    try {
        return run(file);
    } finally {
        fs.rmSync(dir, { recursive: true });
    }
}

describe('deploy/', () => {
    for (const unit of ['holdfast.service', 'holdfast-gateway.service']) {
        it(`${unit} starts the binary with options that it takes`, () => takes(settings(read(unit)).ExecStart.trim().split(/\s+/)));

        it(`${unit} is a unit that systemd takes`, { skip: noAnalyze }, () => {
            const r = withUnit(unit, (file) => spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' }));
            assert.deepEqual(r.stderr.split('\n').filter((l) => l.includes(unit)), []);
        });
    }

    it('the gateway’s unit leaves it what a gateway needs', () => {
        const s = settings(read('holdfast-gateway.service'));
        const yes = ['DynamicUser', 'NoNewPrivileges', 'LockPersonality', 'MemoryDenyWriteExecute', 'RemoveIPC'];
        yes.push(...['Devices', 'Tmp', 'Users'].map((n) => `Private${n}`));
        yes.push(...['Clock', 'ControlGroups', 'Home', 'Hostname', 'KernelLogs', 'KernelModules', 'KernelTunables'].map((n) => `Protect${n}`));
        yes.push(...['Namespaces', 'Realtime', 'SUIDSGID'].map((n) => `Restrict${n}`));
        assert.deepEqual(Object.fromEntries(yes.map((n) => [n, s[n]])), Object.fromEntries(yes.map((n) => [n, 'yes'])));
        assert.deepEqual([s.CapabilityBoundingSet, s.AmbientCapabilities, s.ProtectSystem, s.ProtectProc, s.ProcSubset], ['', '', 'strict', 'invisible', 'pid']);
        assert.deepEqual([s.UMask, s.LimitCORE, s.SystemCallArchitectures, s.RestrictAddressFamilies], ['0077', '0', 'native', 'AF_INET AF_INET6 AF_UNIX']);
        assert.ok(s.SystemCallFilter.includes('@system-service') && s.SystemCallFilter.includes('~@privileged'));
        assert.ok(Number(s.LimitNOFILE) >= 65536 && Number(s.TasksMax) <= 64);
        assert.match(s.ExecStart, /--token-file \$\{CREDENTIALS_DIRECTORY\}/);
    });

    it('the gateway’s unit has a low exposure level, as systemd counts it', { skip: noAnalyze }, () => {
        const r = withUnit('holdfast-gateway.service', (file) => spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', '--no-pager', file], { encoding: 'utf8' }));
        assert.equal(r.status, 0, r.stdout + r.stderr);
        assert.match(r.stdout, /Overall exposure level/);
    });

    it('the daemon’s unit lets its processes live, and takes nothing from them that they need', () => {
        const s = settings(read('holdfast.service'));
        assert.deepEqual([s.KillMode, s.Delegate, s.OOMPolicy, s.LockPersonality, s.RestrictRealtime], ['process', 'yes', 'continue', 'yes', 'yes']);
        assert.ok(Number(s.LimitNOFILE) >= 65536 && Number(s.TasksMax) >= 4096);
        for (const name of ['NoNewPrivileges', 'RestrictSUIDSGID', 'RestrictNamespaces', 'SystemCallFilter', 'PrivateDevices', 'ProtectControlGroups', 'MemoryDenyWriteExecute'])
            assert.equal(s[name], undefined, name);
        assert.match(s.ExecStart, /--token-file \$\{CREDENTIALS_DIRECTORY\}/);
    });

    for (const prefix of [undefined, '/usr']) {
        it(`the units start the binary that make install puts below ${prefix ?? 'the default prefix'}`, () => {
            const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-install-'));
            const words = [`DESTDIR=${dir}`, ...(prefix ? [`PREFIX=${prefix}`] : [])];
            const env = { ...process.env, MAKEFLAGS: '' };
            delete env.PREFIX;
            const make = (...args) => spawnSync('make', ['-s', '-C', root, ...words, ...args], { encoding: 'utf8', env });
            const plan = make('-n', 'install').stdout;
            const put = /install -m 755 \S+\/holdfast (\S+)/.exec(plan)[1].slice(dir.length);
            const r = make('install-units');
            assert.equal(r.status, 0, r.stderr);
            const units = path.join(dir, prefix ?? '/usr/local', 'lib/systemd/system');
            for (const unit of ['holdfast.service', 'holdfast-gateway.service']) {
                const [, program] = /^ExecStart=(\S+)/m.exec(fs.readFileSync(path.join(units, unit), 'utf8'));
                assert.equal(program, put, unit);
                const [, stops] = /^ExecStop=.* (\S+) %n$/m.exec(fs.readFileSync(path.join(units, unit), 'utf8')) ?? [];
                assert.equal(stops, unit === 'holdfast.service' ? put : undefined, unit);
            }
            fs.rmSync(dir, { recursive: true });
        });
    }

    const compose = () => parse(read('compose.yaml'), { merge: true });

    it('the compose file names what it uses', () => {
        const c = compose();
        for (const [name, s] of Object.entries(c.services)) {
            for (const secret of s.secrets ?? []) assert.ok(c.secrets[secret], `${name}: ${secret}`);
            for (const net of Object.keys(s.networks)) assert.ok(net in c.networks, `${name}: ${net}`);
            for (const other of s.depends_on ?? []) assert.ok(c.services[other], `${name}: ${other}`);
            for (const file of s.command.join(' ').matchAll(/\/run\/secrets\/(\w+)/g)) assert.ok(s.secrets.includes(file[1]), `${name}: ${file[1]}`);
            if (s.command[0].endsWith('holdfast')) takes(s.command);
        }
        const r = spawnSync('docker', ['compose', '-f', path.join(deploy, 'compose.yaml'), 'config', '-q'], { encoding: 'utf8' });
        if (!r.error && !/not a docker command|unknown/.test(r.stderr)) assert.equal(r.status, 0, r.stderr);
    });

    it('each sandbox of the compose file has secrets and a network of its own, and Redis is open to nobody', () => {
        const { services, networks } = compose();
        const sandboxes = Object.entries(services).filter(([, s]) => s.command[1] === 'serve');
        assert.ok(sandboxes.length >= 2);
        const used = Object.values(services).flatMap((s) => s.secrets);
        assert.deepEqual(used, [...new Set(used)], 'no secret is in two services');
        for (const [id, s] of sandboxes) {
            assert.deepEqual(s.secrets, [`${id}_token`, `${id}_key`, `${id}_redis`]);
            assert.deepEqual(Object.keys(s.networks), [id]);
            const url = s.command.find((w) => w.startsWith('redis://'));
            assert.match(url, new RegExp(`^redis://${id}@[\\d.]+:6379\\?id=${id}&key_file=`));
            assert.equal(s.ports, undefined);
        }
        const allowed = services.gateway.command.filter((w, i, all) => all[i - 1] === '--allow-address');
        assert.deepEqual(allowed, sandboxes.map(([id, s]) => s.networks[id].ipv4_address));
        assert.equal(services.redis.ports, undefined);
        assert.ok(services.redis.command.includes('--aclfile'));
        assert.equal(networks.backend.internal, true);
        for (const [name, s] of Object.entries(services)) {
            assert.deepEqual([s.cap_drop, s.security_opt], [['ALL'], ['no-new-privileges:true']], name);
            assert.match(s.user, /^\$\{HOLDFAST_UID/, name);
            assert.ok(s.mem_limit && s.pids_limit, `${name} has bounds`);
        }
        assert.ok(services.redis.read_only && services.gateway.read_only);
    });

    it('make-secrets makes them, and a sandbox’s user of Redis can write its own entry and do nothing else', { skip: noRedis }, async () => {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-secrets-'));
        const make = (...ids) => spawnSync(path.join(deploy, 'make-secrets'), ids, { encoding: 'utf8', cwd: dir, env: { PATH: process.env.PATH, HOLDFAST: binary() } });
        assert.equal(make('alpha', 'beta').status, 0);
        const file = (name) => path.join(dir, 'secrets', name);
        const text = (name) => fs.readFileSync(file(name), 'utf8').trim();
        const was = text('alpha.token');
        const again = make('alpha', 'beta', 'gamma');
        assert.equal(again.status, 0, again.stderr);
        assert.equal(text('alpha.token'), was, 'what is there stays');
        const all = Object.values(compose().secrets).map((s) => path.basename(s.file));
        for (const name of all) {
            assert.equal(fs.statSync(file(name)).mode & 0o777, 0o600, name);
            if (name !== 'redis.acl') assert.match(text(name), /^[0-9a-f]{64}$/, name);
        }
        assert.equal(new Set(all.map(text)).size, all.length, 'no two are the same');
        assert.equal(make('gateway').status, 2);

        const redis = await new Redis({ acl: { file: file('redis.acl'), user: 'gateway', password: text('gateway.redis') } }).start();
        const at = (user) => `redis://${user}@127.0.0.1:${redis.port}?password_file=${file(`${user}.redis`)}`;
        const d = await new Daemon({ gateway: false, args: ['--register', `${at('alpha')}&id=alpha&key_file=${file('alpha.key')}&share_token=1`] }).start();
        const g = await new Gateway({ resolver: at('gateway'), args: ['--register-key-file', file('register.key')] }).start();
        await waitUntil(async () => (await ask(g.url('alpha', d.port, '/v1/info'))).status === 200, 'the sandbox');
        const alpha = { user: 'alpha', password: text('alpha.redis') };
        for (const command of ['SET holdfast:sandbox:beta x', 'DEL holdfast:sandbox:beta', 'GET holdfast:sandbox:alpha', 'KEYS *', 'PUBLISH other x', 'SUBSCRIBE holdfast:sandboxes', 'CONFIG GET *', 'ACL LIST', 'FLUSHALL'])
            assert.match(await redis.ask(command, alpha), /NOPERM/, command);
        assert.match(await redis.ask('SET holdfast:sandbox:alpha x'), /NOPERM/, 'the gateway only reads');
        assert.match(await redis.ask('GET holdfast:sandbox:alpha', { user: 'default', password: '' }), /NOAUTH/);
        await d.stop();
        await waitUntil(async () => (await ask(g.url('alpha', d.port))).status === 404, 'it to be gone');
        await g.stop();
        await redis.stop();
        fs.rmSync(dir, { recursive: true });
    });

    for (const file of ['gateway.yaml', 'sandbox.yaml']) {
        it(`kubernetes/${file} hangs together`, () => {
            const docs = parseAllDocuments(read('kubernetes', file)).map((d) => {
                assert.deepEqual(d.errors, []);
                return d.toJS();
            });
            const kind = (k) => docs.find((d) => d.kind === k);
            for (const d of docs) assert.ok(d.apiVersion && d.kind && d.metadata.name, JSON.stringify(d));
            const spec = kind('Deployment')?.spec.template.spec ?? kind('Pod').spec;
            for (const c of spec.containers) {
                takes(c.command);
                const ports = c.ports.map((p) => p.name);
                for (const probe of [c.readinessProbe, c.livenessProbe]) {
                    assert.ok(ports.includes(probe.httpGet.port), 'the probe’s port');
                    assert.match(probe.httpGet.path, /^\/(healthz|readyz)$/);
                }
                assert.ok(c.livenessProbe.timeoutSeconds >= 10 && c.livenessProbe.failureThreshold >= 6, 'a busy moment ends nobody');
                assert.ok(c.resources.requests.cpu && c.resources.requests.memory && c.resources.limits.memory, 'resources');
                assert.equal(c.securityContext.allowPrivilegeEscalation, false);
                assert.deepEqual(c.securityContext.capabilities, { drop: ['ALL'] });
                for (const m of c.volumeMounts) assert.ok(spec.volumes.some((v) => v.name === m.name), m.name);
            }
            assert.deepEqual([spec.securityContext.runAsNonRoot, spec.securityContext.seccompProfile], [true, { type: 'RuntimeDefault' }]);
            assert.equal(spec.enableServiceLinks, false);
            for (const v of spec.volumes) assert.equal(v.secret.defaultMode, 0o440);
            if (!kind('Deployment')) {
                assert.equal(spec.volumes[0].secret.secretName, `holdfast-sandbox-${kind('Pod').metadata.name}`, 'a secret of its own');
                assert.equal(spec.automountServiceAccountToken, false);
                const policy = kind('NetworkPolicy').spec;
                assert.deepEqual(policy.podSelector.matchExpressions, [{ key: 'holdfast.dev/sandbox', operator: 'Exists' }]);
                assert.deepEqual(policy.ingress, [{ from: [{ podSelector: { matchLabels: { app: 'holdfast-gateway' } } }] }]);
                return;
            }
            assert.equal(spec.containers[0].securityContext.readOnlyRootFilesystem, true);
            const labels = kind('Deployment').spec.template.metadata.labels;
            assert.deepEqual(kind('Deployment').spec.selector.matchLabels, labels);
            assert.deepEqual(kind('Service').spec.selector, labels);
            assert.equal(spec.serviceAccountName, kind('ServiceAccount').metadata.name);
            assert.deepEqual(kind('Role').rules, [{ apiGroups: [''], resources: ['pods'], verbs: ['list', 'watch'] }]);
            assert.equal(kind('RoleBinding').roleRef.name, kind('Role').metadata.name);
            assert.ok(spec.terminationGracePeriodSeconds > 30, 'longer than --drain-ms');
        });
    }
});
