// SPDX-License-Identifier: Apache-2.0
//
// coverage.mjs - line and branch coverage of the measured files, from what gcov counted
//
// Usage: node scripts/coverage.mjs OBJECTS [--missing] [FILE...]
// OBJECTS is the folder with the objects of the coverage build. Prints a table in Markdown and fails
// if all files together are below the bar. --missing lists the lines and branches that no test
// has reached. Without files: keeper, vault and journal.
//
// Two things do not count. A line that says `assert(` has no branches: an assertion that fails is
// a mistake of ours, and no test makes one. A line with the comment "uncovered: REASON" at its end,
// or under such a comment, does not count at all; the table says how many there are.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const LINES_BAR = 95;
const BRANCHES_BAR = 90;
const MARK = /\/\* uncovered: .*\*\//;

const [objects, ...rest] = process.argv.slice(2);
const showMissing = rest.includes('--missing');
const asked = rest.filter((arg) => arg !== '--missing');

function sourcesOf(folder, pattern) {
    if (!fs.existsSync(folder)) return [];
    return fs.readdirSync(folder).filter((name) => pattern.test(name)).sort().map((name) => path.join(folder, name));
}
const files = asked.length > 0 ? asked : [
    ...sourcesOf('src/keeper', /\.c$/), ...sourcesOf('src/vault', /\.c$/), ...sourcesOf('src/engine/journal', /^journal.*\.c$/),
];

/** gcov's own account of one source file: [{line_number, count, branches: [{count}]}]. */
function measure(source) {
    const note = path.resolve(objects, source.replace(/\.c$/, '.gcno'));
    const text = execFileSync('gcov', ['--json-format', '--stdout', '--branch-probabilities', note],
        { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });
    return JSON.parse(text).files.find((file) => file.file === source)?.lines ?? [];
}

/** The numbers of the lines that a mark takes out: its own, or the next where it stands alone. */
function markedLines(text) {
    const marked = new Set();
    text.forEach((line, i) => {
        if (MARK.test(line)) marked.add(line.trim().startsWith('/*') ? i + 2 : i + 1);
    });
    return marked;
}

function account(source) {
    const text = fs.readFileSync(source, 'utf8').split('\n');
    const marked = markedLines(text);
    const sum = { source, lines: 0, linesHit: 0, branches: 0, branchesHit: 0, marked: marked.size, missing: [] };
    for (const line of measure(source)) {
        if (marked.has(line.line_number)) continue;
        const code = text[line.line_number - 1];
        const branches = /\bassert\(/.test(code) ? [] : line.branches;
        const missed = branches.filter((branch) => branch.count === 0).length;
        sum.lines += 1;
        sum.linesHit += line.count > 0 ? 1 : 0;
        sum.branches += branches.length;
        sum.branchesHit += branches.length - missed;
        if (line.count === 0 || missed > 0) {
            sum.missing.push(`${source}:${line.line_number}: ${line.count === 0 ? 'never' : `${missed}/${branches.length} branches`}: ${code.trim()}`);
        }
    }
    return sum;
}

const percent = (hit, all) => (all === 0 ? 100 : (100 * hit) / all);
const shown = (hit, all) => `${hit}/${all} | ${percent(hit, all).toFixed(1)} %`;
const row = (s, name) => `| ${name} | ${shown(s.linesHit, s.lines)} | ${shown(s.branchesHit, s.branches)} | ${s.marked || ''} |`;

const sums = files.map(account);
const total = { lines: 0, linesHit: 0, branches: 0, branchesHit: 0, marked: 0 };
for (const s of sums) for (const key of Object.keys(total)) total[key] += s[key];

console.log('| File | Lines | | Branches | | Uncovered by choice |\n| --- | ---: | ---: | ---: | ---: | ---: |');
for (const s of sums) console.log(row(s, s.source));
console.log(row(total, 'all'));
if (showMissing) for (const s of sums) for (const line of s.missing) console.log(line);

if (percent(total.linesHit, total.lines) < LINES_BAR || percent(total.branchesHit, total.branches) < BRANCHES_BAR) {
    console.error(`coverage: below ${LINES_BAR} % of lines or ${BRANCHES_BAR} % of branches`);
    process.exitCode = 1;
}
