// SPDX-License-Identifier: Apache-2.0
//
// upload.ts - a file dropped on a terminal goes into its directory, beside the stream and not through it

import { h, toast } from './dom.js';
import type { Store } from './store.js';

interface Target {
    store: Store;
    cwd: string | undefined;
    may: boolean;
}

async function upload(file: File, { store, cwd }: Target): Promise<void> {
    // noclobber: a file that is there already is not overwritten.
    const p = await store.sandbox.processes.start({
        command: 'sh',
        args: ['-c', 'set -C; cat > "$1" && printf %s "$PWD/$1"', 'sh', file.name],
        cwd,
        stdin: 'pipe',
        source: 'system',
        label: `upload of ${file.name}`,
        retainMs: 1000,
    });
    try {
        await p.input(new Uint8Array(await file.arrayBuffer()), { eof: true });
    } catch {
        // The shell had a reason to stop reading, and tells it below.
    }
    const result = await p.wait({ timeoutMs: 600_000, includeOutput: true });
    if (result.exitCode !== 0) throw new Error(result.text?.includes('exists') ? 'a file of that name is there already' : (result.text ?? 'not written'));
    toast(`Uploaded to ${result.text}`);
}

export function acceptFiles(el: HTMLElement, target: () => Target): void {
    const cover = h('div', { class: 'drop-cover', 'aria-hidden': 'true' });
    let depth = 0;
    const isFile = (e: DragEvent) => e.dataTransfer?.types.includes('Files') && target().may;
    el.addEventListener('dragenter', (e) => {
        if (!isFile(e)) return;
        depth++;
        cover.textContent = `Drop to upload into ${target().cwd ?? 'its directory'}`;
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
