// SPDX-License-Identifier: Apache-2.0
//
// replies.mjs - records replies of the daemon and holds them to the platform's own schema
//
// A test makes the calls of a platform and names, for each, the type that the platform's published
// packages give to the reply. The packages come by scripts/setup; nothing of them is in the repository.
// Each validator also proves that it can refuse: what has one more key must not pass.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { calls } from './routes.mjs';
import { root } from './daemon.mjs';

const HANGS_MS = 240000;
export const INVENTED = 'holdfast_invented';

/** Runs a program with this input; its output, whatever its status. */
function run(program, args, { input = '', ...options } = {}) {
    return new Promise((done, fail) => {
        const child = spawn(program, args, { timeout: HANGS_MS, killSignal: 'SIGKILL', ...options });
        const parts = [];
        child.stdout.on('data', (b) => parts.push(b));
        child.stderr.on('data', (b) => parts.push(b));
        child.on('error', fail);
        child.on('close', (status) => done({ status, text: Buffer.concat(parts).toString() }));
        child.stdin.on('error', () => {});
        child.stdin.end(input);
    });
}

/** Calls below one prefix, and what they replied. */
export class Replies {
    constructor(d, prefix, options = {}) {
        Object.assign(this, { d, prefix, options, all: [], made: new Set() });
    }

    /**
     * Makes a call that must have this status. `is` names the reply's type for each validator: {python: 'module:Class',
     * types: 'T'}; a list is 'module:Class[]' or 'T[]', and 'package:' leaves it to that package, by method, path and status.
     * A reply without `is` has no body, or an empty object. `key` is the only key of the reply, below which is what has the type.
     */
    async call(method, where, status, is, { key, ...options } = {}) {
        const answer = await this.d.request(method, this.prefix + where, { ...this.options, ...options, headers: { ...this.options.headers, ...options.headers } });
        const what = `${answer.status} to ${method} ${where}`;
        assert.equal(answer.status, status, `${what}: ${answer.text.slice(0, 600)}`);
        this.made.add(`${method} ${where.split('?')[0]}`);
        if (!is) {
            assert.match(answer.text, /^(\{\})?$/, `${what} has a body, and no type was named for it`);
            return answer;
        }
        const whole = answer.text === '' ? null : answer.json;
        if (key) assert.deepEqual(Object.keys(whole), [key], what);
        const body = key ? whole[key] : whole;
        this.note(what, is, body, { method, path: where.split('?')[0], status });
        return body;
    }

    /** A body that came in another way: an event of a stream, a message of a socket. */
    note(what, is, body, call) {
        for (const [validator, model] of Object.entries(is)) this.all.push({ validator, what, model, body, call });
    }

    of(...validators) {
        const found = this.all.filter((r) => validators.includes(r.validator));
        assert.ok(found.length > 0, `no reply for ${validators}`);
        return found;
    }

    /**
     * The models of PyPI packages, and those named by `reads`, which have only the keys that a client reads: there
     * required keys and types are checked alone. `venv` is their virtual environment in .tools.
     */
    async checkPython(venv = 'clients') {
        const python = path.join(root, '.tools', venv, 'bin/python');
        assert.ok(fs.existsSync(python), `${python} is missing: run scripts/setup test`);
        const { status, text } = await run(python, [path.join(root, 'tests/lib/models.py')], {
            input: JSON.stringify(this.of('python', 'reads')),
            env: { PATH: process.env.PATH, HOME: this.d.dir, LANG: 'C.UTF-8', PYTHONDONTWRITEBYTECODE: '1' },
        });
        assert.equal(status, 0, text);
        assert.match(text, /^checked [1-9]\d*, wrong 0$/m, text);
    }

    /** Schemas of zod, of an npm package: they drop what they do not know. */
    checkZod(schemas) {
        for (const { what, model, body } of this.of('zod')) {
            const kept = schemas[model].safeParse(body);
            assert.ok(kept.success, `${what} is no ${model}: ${kept.error?.message}\n${JSON.stringify(body)}`);
            assert.deepEqual(kept.data, body, `${what} has keys that ${model} does not`);
            assert.ok(!(INVENTED in schemas[model].parse({ ...body, [INVENTED]: 1 })), `${what}: ${model} accepts any key`);
        }
    }

    /**
     * The types of npm packages, by the TypeScript compiler: each body is a literal that is assigned to its type.
     * Where `typesRead` names the type, it has only the keys that a client reads, and the body may have more.
     * `imports` are the lines that import or declare the types; those in `open` have any keys besides their own.
     */
    async checkTypes(imports, { open = [] } = {}) {
        const tsc = path.join(root, 'sdk/typescript/node_modules/typescript/bin/tsc');
        assert.ok(fs.existsSync(tsc), `${tsc} is missing: run make sdk`);
        const found = this.of('types', 'typesRead');
        const lines = [...imports, 'declare function reads<T>(): <const V extends T>(body: V) => V;'];
        const owner = new Map();
        found.forEach(({ validator, model, body }, i) => {
            if (validator === 'typesRead') {
                lines.push(`export const reply${i} = reads<${model}>()(${JSON.stringify(body)});`);
                owner.set(lines.length, i);
                lines.push('// @ts-expect-error: required keys are missing', `export const replyNothing${i} = reads<${model}>()({});`);
                owner.set(lines.length - 1, i);
                owner.set(lines.length, i);
                return;
            }
            const add = (prefix, value) => {
                if (prefix) lines.push(prefix);
                lines.push(`export const reply${prefix ? 'Invented' : ''}${i}: ${model} = ${JSON.stringify(value)};`);
                owner.set(lines.length, i);
            };
            add('', body);
            if (body === null || typeof body !== 'object' || open.includes(model)) return;
            const invented = Array.isArray(body) ? [{ ...body[0], [INVENTED]: 1 }] : { ...body, [INVENTED]: 1 };
            add('// @ts-expect-error: a key that the type does not have', invented);
            owner.set(lines.length - 1, i);
        });
        // Below tests/, where the packages are found.
        const dir = fs.mkdtempSync(path.join(root, 'tests/node_modules/.replies-'));
        try {
            const file = path.join(dir, 'replies.ts');
            fs.writeFileSync(file, `${lines.join('\n')}\n`);
            const args = [tsc, '--noEmit', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', '--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler', '--lib', 'es2022,dom,dom.iterable', '--types', 'node', '--pretty', 'false', file];
            const { status, text } = await run(process.execPath, args, { cwd: dir });
            const blamed = text.replace(/^\S*replies\.ts\((\d+),\d+\)/gm, (all, line) => {
                const r = found[owner.get(Number(line))];
                return r ? `${r.what} is no ${r.model}, or that accepts any key\n    ${JSON.stringify(r.body)}\n   ` : all;
            });
            assert.equal(status, 0, blamed);
        } finally {
            fs.rmSync(dir, { recursive: true, force: true });
        }
    }

    /**
     * Every route of the dialect below the prefix was called, but for `except`: {'METHOD /path/{id}': why no schema applies}.
     * So a new route needs a line here or there. Routes that match `same` have the handlers of others.
     */
    checkRoutes(dialect, except = {}, { prefix = this.prefix, same } = {}) {
        const routes = calls().filter((c) => c.table.dialect === dialect && c.path.startsWith(prefix) && !same?.test(c.path.slice(prefix.length)));
        const re = (c) => new RegExp(`^${c.method} ${c.path.slice(prefix.length).replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}${c.isPrefix ? '.*' : ''}$`);
        const short = (c) => `${c.method} ${c.path.slice(prefix.length)}`;
        const left = routes.filter((c) => ![...this.made].some((m) => re(c).test(m))).map(short);
        assert.deepEqual(left.filter((r) => !except[r]), [], 'routes whose replies are held to no schema');
        assert.deepEqual(Object.keys(except).filter((r) => !left.includes(r)), [], 'exceptions that are none');
    }
}
