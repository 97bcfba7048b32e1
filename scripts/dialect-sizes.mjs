// SPDX-License-Identifier: Apache-2.0
//
// dialect-sizes.mjs - prints the lines of each dialect, and its share of the release binary
//
// Usage: node scripts/dialect-sizes.mjs [BUILD]
//
// The table is Markdown, the smallest dialect first. The bytes are those that the linker kept of
// the dialect's own objects, from the map beside $BUILD/release/holdfast (`make release`).

import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '..');
const build = path.resolve(process.argv[2] ?? path.join(root, 'build'));
const dialects = path.join(root, 'src/dialects');

function linesBelow(dir) {
    return fs.readdirSync(dir, { withFileTypes: true, recursive: true })
        .filter((entry) => /\.[ch]$/.test(entry.name))
        .map((entry) => fs.readFileSync(path.join(entry.parentPath ?? entry.path, entry.name), 'utf8'))
        .reduce((sum, text) => sum + text.split('\n').length - 1, 0);
}

// What the linker discarded comes before the memory map; sections without an address are not loaded.
function bytesByDialect(map) {
    const bytes = new Map();
    const kept = map.slice(map.indexOf('Linker script and memory map'));
    for (const [, address, size, name] of kept.matchAll(/(0x[0-9a-f]+) +(0x[0-9a-f]+) \S*\/src\/dialects\/([^/\s]+)\/\S+\.o$/gm)) {
        if (Number(address) >= 0x100) bytes.set(name, (bytes.get(name) ?? 0) + Number(size));
    }
    return bytes;
}

const bytes = bytesByDialect(fs.readFileSync(path.join(build, 'release/holdfast.map'), 'utf8'));
const rows = fs.readdirSync(dialects)
    .map((name) => ({ name, lines: linesBelow(path.join(dialects, name)), bytes: bytes.get(name) ?? 0 }))
    .sort((a, b) => a.lines - b.lines);
rows.push({
    name: 'all',
    lines: rows.reduce((sum, row) => sum + row.lines, 0),
    bytes: rows.reduce((sum, row) => sum + row.bytes, 0),
});

console.log('| dialect | lines | KB in the release binary |\n|---|---:|---:|');
for (const row of rows) console.log(`| ${row.name} | ${row.lines} | ${(row.bytes / 1024).toFixed(1)} |`);
