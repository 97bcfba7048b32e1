// SPDX-License-Identifier: Apache-2.0
//
// deploy.test.mjs - the files in deploy/ are what they claim to be, and the binary takes their options

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { binary, root } from '../lib/daemon.mjs';
import { describe, it } from '../lib/test.mjs';

const deploy = path.join(root, 'deploy');
const read = (...name) => fs.readFileSync(path.join(deploy, ...name), 'utf8');

/** --help as the last word: options before it must be known and well-formed. */
function takes(words) {
    const [program, ...args] = words;
    assert.match(program, /\/holdfast$/);
    const r = spawnSync(binary(), [...args, '--help'], { encoding: 'utf8' });
    assert.equal(r.status, 0, `${args.join(' ')}: ${r.stderr}`);
}

describe('deploy/', () => {
    for (const unit of ['holdfast.service', 'holdfast-gateway.service']) {
        it(`${unit} is a unit that systemd takes`, () => {
            const text = read(unit);
            const exec = /^ExecStart=((?:.*\\\n)*.*)$/m.exec(text)[1].replaceAll('\\\n', ' ');
            takes(exec.trim().split(/\s+/));
            const tool = spawnSync('systemd-analyze', ['--version']);
            if (tool.error) return;
            const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hf-unit-'));
            fs.writeFileSync(path.join(dir, unit), text.replace(/^ExecStart=\S+/m, `ExecStart=${binary()}`));
            const r = spawnSync('systemd-analyze', ['verify', '--man=no', path.join(dir, unit)], { encoding: 'utf8' });
            const ours = r.stderr.split('\n').filter((l) => l.includes(unit));
            fs.rmSync(dir, { recursive: true });
            assert.deepEqual(ours, []);
        });
    }

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
            }
            fs.rmSync(dir, { recursive: true });
        });
    }

    it('the compose file names what it uses', () => {
        const c = parse(read('compose.yaml'), { merge: true });
        for (const [name, s] of Object.entries(c.services)) {
            for (const secret of s.secrets ?? []) assert.ok(c.secrets[secret], `${name}: ${secret}`);
            for (const net of Object.keys(s.networks)) assert.ok(net in c.networks, `${name}: ${net}`);
            for (const other of s.depends_on ?? []) assert.ok(c.services[other], `${name}: ${other}`);
            if (s.command[0].endsWith('holdfast')) takes(s.command);
        }
        const r = spawnSync('docker', ['compose', '-f', path.join(deploy, 'compose.yaml'), 'config', '-q'], { encoding: 'utf8' });
        if (!r.error && !/not a docker command|unknown/.test(r.stderr)) assert.equal(r.status, 0, r.stderr);
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
                for (const probe of [c.readinessProbe, c.livenessProbe].filter(Boolean)) {
                    assert.ok(ports.includes(probe.httpGet.port), 'the probe’s port');
                    assert.match(probe.httpGet.path, /^\/(healthz|readyz)$/);
                }
                for (const m of c.volumeMounts) assert.ok(spec.volumes.some((v) => v.name === m.name), m.name);
            }
            if (!kind('Deployment')) return;
            const labels = kind('Deployment').spec.template.metadata.labels;
            assert.deepEqual(kind('Deployment').spec.selector.matchLabels, labels);
            assert.deepEqual(kind('Service').spec.selector, labels);
            assert.equal(spec.serviceAccountName, kind('ServiceAccount').metadata.name);
            assert.deepEqual(kind('Role').rules, [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }]);
            assert.equal(kind('RoleBinding').roleRef.name, kind('Role').metadata.name);
            assert.ok(spec.terminationGracePeriodSeconds > 30, 'longer than --drain-ms');
        });
    }
});
