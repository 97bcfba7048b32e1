// SPDX-License-Identifier: Apache-2.0
//
// banner.ts - the connection status of a pane, shown over the terminal and never in its place

import type { ProcessStatus } from '@holdfast/sdk';
import { h, icon } from './dom.js';
import { usageText } from './store.js';

export class Banner {
    readonly el = h('div', { class: 'banner', role: 'status', hidden: true });
    readonly #retry: () => void;
    #timer: ReturnType<typeof setInterval> | undefined;

    constructor(retry: () => void) {
        this.#retry = retry;
    }

    hide(): void {
        clearInterval(this.#timer);
        this.el.hidden = true;
    }

    #show(kind: string, ...parts: (Node | string)[]): void {
        clearInterval(this.#timer);
        this.el.className = `banner ${kind}`;
        this.el.replaceChildren(...parts);
        this.el.hidden = false;
    }

    /** Short interruptions are not shown; the banner appears from the second attempt on. */
    countdown(ms: number, attempt: number): void {
        if (attempt < 2 && ms < 500) return;
        const end = performance.now() + ms;
        const left = h('b', { 'aria-hidden': 'true' });
        const tick = () => (left.textContent = `${Math.max(0, Math.ceil((end - performance.now()) / 1000))} s`);
        this.#show(
            'wait',
            h('span', { class: 'pulse' }),
            h('span', {}, 'Connection lost. Your input is kept and will be sent after reconnecting. Next attempt in ', left),
            h('button', { type: 'button', onclick: this.#retry }, 'Reconnect now'),
        );
        tick();
        this.#timer = setInterval(tick, 250);
    }

    trying(): void {
        if (this.el.hidden) return;
        this.#show('wait', h('span', { class: 'pulse' }), 'Connecting …');
    }

    fatal(reason: string): void {
        this.#show('bad', icon('close'), reason);
    }

    exited(status: ProcessStatus, text: string, again?: () => void): void {
        const bad = status.exitCode !== 0;
        const used = usageText(status);
        this.#show(
            bad ? 'bad small' : 'ok small',
            h('span', {}, `The process has ended: ${text}`),
            ...(used ? [h('span', { class: 'used', title: 'CPU time, and the largest memory of the process and its children' }, used)] : []),
            ...(again ? [h('button', { type: 'button', onclick: again }, icon('again'), 'Run again')] : []),
        );
    }
}
