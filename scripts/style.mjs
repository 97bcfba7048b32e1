// SPDX-License-Identifier: Apache-2.0
//
// style.mjs - what a reader may rely on in src/, checked
//
// Usage: node scripts/style.mjs [--report] [ROOT]     --report: counts only, and always exit status 0
//        node scripts/style.mjs --self-test           proves that each rule can be broken
//
// Rules (docs/STYLE.md has the reasons):
//   header     a file opens with the licence and a comment "NAME - what it is"
//   columns    no line of C is longer than 100 columns
//   basename   a file name exists once in src/
//   tag        a struct, union or enum tag is defined once in src/
//   symbol     a function that a header declares begins with a word of that header's name, of the file that defines it, of its
//              folder, or of a type that the header names
//   part       a struct that is a member of another, with a comment that begins with the names of .c files, is touched only by those,
//              within its folder of src/
//   marker     no TODO, FIXME or XXX
//   wording    no word of the list below in a string that a user may read, nor in the documents

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const COLUMNS = 100;

/** Short names that a folder's symbols begin with. */
const PREFIXES = {
    base: ['hf'],
    'dialects/cloudflare': ['cf'],
    'dialects/daytona': ['dt'],
    'dialects/hyperbrowser': ['hyper'],
    'dialects/kubernetes': ['kube'],
    'dialects/opencode': ['oc'],
    'dialects/opensandbox': ['osb'],
    'dialects/sandbox-agent': ['agent'],
    'dialects/vercel': ['vc'],
};

/** Functions named after a standard need no other name. */
const STANDARDS = ['sha1', 'sha256', 'hmac', 'base64', 'base32', 'hex', 'utf8'];

/** Phrases that read like a translation. The right-hand side says what to write instead. */
const WORDING = [
    [/\b(is|are|was|were|be) told\b/i, 'report, notify, receive'],
    [/\bwho(ever|m)\b/i, 'name the subject'],
    [/\b(goes|go|went|going) on\b/i, 'continue, keep running'],
    [/\b(takes|take) nothing\b/i, 'stopped reading'],
    [/\bis no use\b/i, 'invalid'],
    [/\b(lets|let) in\b/i, 'accept, admit'],
    [/\blook(s|ed|ing)? again\b/i, 'poll, check again'],
    [/\bof its own accord\b/i, 'on its own'],
    [/\bso many as\b/i, 'as many as'],
    [/\bis (taken|given) (here|away)\b/i, 'accepted, removed'],
    [/\bgives? way\b/i, 'yield'],
    [/\bnobody waits\b/i, 'no caller is waiting'],
    [/\bas (it|they) (is|are) wished\b/i, 'as requested'],
];

function* walk(dir) {
    for (const entry of fs.readdirSync(dir, { withFileTypes: true })) {
        const file = path.join(dir, entry.name);
        if (entry.isDirectory()) yield* walk(file);
        else yield file;
    }
}

/** A function that begins in the first column and is not static. */
const DECLARED = /^(?!static|typedef|return)[a-z][\w *]*?[ *](\w+)\(/gm;

const lineOf = (text, index) => text.slice(0, index).split('\n').length;

/** The text with comments blanked, so that offsets stay. */
const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, (c) => c.replace(/[^\n]/g, ' '));

class Checker {
    constructor(root) {
        this.root = root;
        this.found = [];
        this.tags = new Map();
        this.names = new Map();
        this.definedIn = new Map();
        this.headers = [];
        this.fields = new Map();
        this.parts = [];
        this.sources = [];
    }

    add(rule, file, line, text) {
        this.found.push({ rule, where: `${path.relative(this.root, file)}:${line}`, text });
    }

    checkHeader(file, text) {
        const name = path.basename(file);
        const opening = text.split('\n').slice(0, 4).join('\n');
        if (!opening.includes('SPDX-License-Identifier') || !opening.includes(` ${name} - `)) this.add('header', file, 1, `does not open with "${name} - what it is"`);
    }

    checkLines(file, text) {
        text.split('\n').forEach((line, i) => {
            const columns = [...line.replace(/\t/g, '        ')].length;
            if (columns > COLUMNS) this.add('columns', file, i + 1, `${columns} columns`);
            if (/\b(TODO|FIXME|XXX)\b/.test(line)) this.add('marker', file, i + 1, line.trim());
        });
    }

    collect(file, text) {
        const name = path.basename(file);
        this.names.set(name, [...(this.names.get(name) ?? []), file]);
        const code = withoutComments(text);
        if (file.endsWith('.h')) this.headers.push([file, text]), this.collectParts(file, text);
        else this.sources.push([file, code]);
        if (file.endsWith('.c')) for (const m of code.matchAll(DECLARED)) this.definedIn.set(m[1], path.basename(file, '.c'));
        for (const m of code.matchAll(/^(?:static |const |typedef )*(struct|union|enum) (\w+)\s*\{/gm)) {
            const tag = `${m[1]} ${m[2]}`;
            this.tags.set(tag, [...(this.tags.get(tag) ?? []), { file, line: lineOf(code, m.index) }]);
        }
    }

    top(file) {
        return path.relative(path.join(this.root, 'src'), file).split(path.sep)[0];
    }

    collectParts(file, text) {
        for (const [, tag, body] of text.matchAll(/^struct (\w+) \{\n([\s\S]*?)^\}/gm)) {
            this.fields.set(tag, [...withoutComments(body).matchAll(/\b(\w+)(?:\[\w+\])?\s*[,;]/g)].map((m) => m[1]));
            if (file.endsWith('_own.h')) for (const [, type, name, owners] of body.matchAll(/^ +struct (\w+) (\w+); +\/\* ((?:\w+\.c(?:, )?)+)/gm)) this.parts.push({ folder: this.top(file), type, name, owners: owners.split(', ') });
        }
    }

    checkParts() {
        for (const { folder, type, name, owners } of this.parts) {
            const touched = new RegExp(`(?:->|\\.)${name}\\.(?:${(this.fields.get(type) ?? []).join('|')})\\b`, 'g');
            for (const [file, code] of this.sources) {
                if (this.top(file) !== folder || owners.includes(path.basename(file))) continue;
                for (const m of code.matchAll(touched)) this.add('part', file, lineOf(code, m.index), `${m[0]} belongs to ${owners.join(', ')}`);
            }
        }
    }

    checkSymbols(file, text) {
        const below = path.relative(path.join(this.root, 'src'), file);
        const folder = path.dirname(below);
        const top = folder.split('/').slice(0, folder.startsWith('dialects/') ? 2 : 1).join('/');
        const code = withoutComments(text);
        const types = [...code.matchAll(/\b(?:struct|union|enum) (\w+)/g)].map((m) => m[1]);
        const allowed = new Set([path.basename(file, '.h'), ...folder.split('/'), ...types].flatMap((w) => [w, ...w.split(/[_-]/)]));
        for (const p of PREFIXES[top] ?? []) allowed.add(p);
        for (const m of code.matchAll(DECLARED)) {
            const [first] = m[1].split('_');
            const own = (this.definedIn.get(m[1]) ?? '').split('_');
            const known = STANDARDS.includes(first) || [...allowed, ...own].some((w) => first === w || first === `${w}s` || `${first}s` === w);
            if (!known) this.add('symbol', file, lineOf(code, m.index), `${m[1]}()`);
        }
    }

    checkWording(file, line, text) {
        for (const [pattern, better] of WORDING) {
            const m = pattern.exec(text);
            if (m) this.add('wording', file, line, `"${m[0]}" in ${JSON.stringify(text.slice(0, 100))} (${better})`);
        }
    }

    checkStrings(file, text) {
        const code = withoutComments(text).replace(/^#include.*$/gm, '');
        for (const m of code.matchAll(/"((?:[^"\\\n]|\\.)*)"/g)) if (m[1].includes(' ')) this.checkWording(file, lineOf(code, m.index), m[1]);
    }

    checkDocument(file, text) {
        let fenced = false;
        text.split('\n').forEach((line, i) => {
            if (/^```/.test(line)) fenced = !fenced;
            if (!fenced) this.checkWording(file, i + 1, line);
        });
    }

    finish() {
        this.checkParts();
        for (const [name, files] of this.names) if (files.length > 1) for (const f of files) this.add('basename', f, 1, `${files.length} files are called ${name}`);
        for (const [tag, places] of this.tags) if (places.length > 1) for (const p of places) this.add('tag', p.file, p.line, `${tag} is defined ${places.length} times`);
    }

    run() {
        for (const file of walk(path.join(this.root, 'src'))) {
            if (!/\.[ch]$/.test(file)) continue;
            const text = fs.readFileSync(file, 'utf8');
            this.checkHeader(file, text);
            this.checkLines(file, text);
            this.collect(file, text);
            this.checkStrings(file, text);
        }
        for (const file of this.documents()) this.checkDocument(file, fs.readFileSync(file, 'utf8'));
        for (const [file, text] of this.headers) this.checkSymbols(file, text);
        this.finish();
        return this.found;
    }

    documents() {
        const docs = path.join(this.root, 'docs');
        const all = fs.existsSync(docs) ? [...walk(docs)].filter((f) => /\.(md|1)$/.test(f)) : [];
        const top = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md'].map((f) => path.join(this.root, f));
        return [...all, ...top.filter((f) => fs.existsSync(f))];
    }
}

/** Each rule is broken once, and nothing else is found. */
function selfTest() {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'style-'));
    const write = (file, text) => {
        fs.mkdirSync(path.join(dir, path.dirname(file)), { recursive: true });
        fs.writeFileSync(path.join(dir, file), text);
    };
    const head = (name, text) => `/* SPDX-License-Identifier: Apache-2.0 */\n/*\n * ${name} - a file. Layer: base.\n */\n${text}`;
    const cases = {
        header: () => write('src/base/a.c', '/* a.c - no licence */\n'),
        columns: () => write('src/base/a.c', head('a.c', `int a;${' '.repeat(COLUMNS)}\n`)),
        marker: () => write('src/base/a.c', head('a.c', `/* ${'TO'}DO */\n`)),
        basename: () => (write('src/base/a.c', head('a.c', '')), write('src/keeper/a.c', head('a.c', ''))),
        tag: () => (write('src/base/a.c', head('a.c', 'struct x {\n};\n')), write('src/base/b.c', head('b.c', 'struct x {\n};\n'))),
        symbol: () => write('src/base/a.h', head('a.h', 'int a_open(void);\nint other_open(void);\n')),
        part: () => {
            write('src/base/a_own.h', head('a_own.h', 'struct b {\n    int x;\n};\nstruct a {\n    struct b b; /* b.c */\n};\n'));
            write('src/base/b.c', head('b.c', 'static int b(struct a *a)\n{\n    return a->b.x;\n}\n'));
            write('src/base/c.c', head('c.c', 'static int c(struct a *a)\n{\n    return a->b.x;\n}\n'));
        },
        wording: () => write('src/base/a.c', head('a.c', 'const char *a = "the peer is told nothing";\n')),
    };
    try {
        for (const [rule, make] of Object.entries(cases)) {
            fs.rmSync(path.join(dir, 'src'), { recursive: true, force: true });
            make();
            const rules = [...new Set(new Checker(dir).run().map((f) => f.rule))];
            if (rules.length !== 1 || rules[0] !== rule) throw new Error(`style: self-test: wanted ${rule}, got ${rules}`);
        }
    } finally {
        fs.rmSync(dir, { recursive: true, force: true });
    }
}

const args = process.argv.slice(2);
if (args.includes('--self-test')) {
    selfTest();
} else {
    const report = args.includes('--report');
    const root = args.find((a) => !a.startsWith('--')) ?? path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
    const found = new Checker(path.resolve(root)).run();
    const counts = {};
    for (const f of found) counts[f.rule] = (counts[f.rule] ?? 0) + 1;
    if (!report) for (const f of found) console.log(`${f.where}: ${f.rule}: ${f.text}`);
    if (report || found.length > 0) console.log(`style: ${Object.entries(counts).map(([rule, n]) => `${rule} ${n}`).join(', ') || 'nothing to report'}`);
    process.exitCode = found.length > 0 && !report ? 1 : 0;
}
