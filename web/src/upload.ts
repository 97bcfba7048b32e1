// SPDX-License-Identifier: Apache-2.0
//
// upload.ts - uploads a file dropped on a terminal to its working directory, by a separate process

import type { Process } from '@holdfast/sdk';
import { h, toast } from './dom.js';
import type { Store } from './store.js';

interface Target {
    store: Store;
    cwd: string | undefined;
    may: boolean;
}

/**
 * noclobber (set -C) protects existing files. An incomplete file is removed, whether the shell exits by itself or is
 * terminated by this page or by the daemon's idle timeout. The size is checked because a browser repeats a request by
 * itself when the connection breaks, which appends the content to what had already arrived.
 */
const SCRIPT = `set -C
: > "$1" || exit 1
gone() { rm -f -- "$1"; exit 1; }
trap 'gone "$1"' HUP INT TERM
cat >> "$1" || gone "$1"
[ "$(wc -c < "$1")" -eq "$2" ] || { echo "upload failed: the connection was lost"; gone "$1"; }
printf %s "$PWD/$1"`;
const IDLE_MS = 120_000;
const WRITTEN_MS = 600_000;
/** The page deletes the process right after the upload, but a busy page may be late. */
const RETAIN_MS = 60_000;
/** How long a shell whose input was refused or interrupted has to exit by itself. */
const END_MS = 2000;

/** Returns the path that the shell has written. */
async function write(p: Process, bytes: Uint8Array): Promise<string> {
    const cut = await p.input(bytes, { eof: true }).then(() => undefined, (err: Error) => err);
    const result = await p.wait({ timeoutMs: cut ? END_MS : WRITTEN_MS, includeOutput: true }).catch((err: Error) => {
        throw cut ? new Error(`upload failed: ${cut.message}`) : err;
    });
    if (result.exitCode !== 0) throw new Error(result.text?.includes('exists') ? 'a file with this name already exists' : result.text?.trim() || 'could not write the file');
    return result.text ?? '';
}

async function upload(file: File, { store, cwd }: Target): Promise<void> {
    const bytes = new Uint8Array(await file.arrayBuffer());
    const p = await store.sandbox.processes.start({
        command: 'sh',
        args: ['-c', SCRIPT, 'sh', file.name, String(bytes.length)],
        cwd,
        stdin: 'pipe',
        source: 'system',
        label: `upload of ${file.name}`,
        idleTimeoutMs: IDLE_MS,
        retainMs: RETAIN_MS,
    });
    try {
        toast(`Uploaded to ${await write(p, bytes)}`);
    } finally {
        await p.remove().catch(() => undefined);
    }
}

export function acceptFiles(el: HTMLElement, target: () => Target): void {
    const cover = h('div', { class: 'drop-cover', 'aria-hidden': 'true' });
    let depth = 0;
    const isFile = (e: DragEvent) => e.dataTransfer?.types.includes('Files') && target().may;
    el.addEventListener('dragenter', (e) => {
        if (!isFile(e)) return;
        depth++;
        cover.textContent = `Drop to upload to ${target().cwd ?? "the terminal's directory"}`;
        el.append(cover);
    });
    el.addEventListener('dragover', (e) => isFile(e) && e.preventDefault());
    el.addEventListener('dragleave', () => --depth <= 0 && cover.remove());
    el.addEventListener('drop', (e) => {
        depth = 0;
        cover.remove();
        if (!isFile(e)) return;
        e.preventDefault();
        for (const file of e.dataTransfer!.files) {
            upload(file, target()).catch((err: Error) => toast(`${file.name}: ${err.message}`, 'bad'));
        }
    });
}
