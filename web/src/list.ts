// SPDX-License-Identifier: Apache-2.0
//
// list.ts - the list of processes, with their state and a small preview of their screens

import type { ProcessStatus } from '@holdfast/sdk';
import type { App } from './app.js';
import { base } from './base.js';
import { h, icon } from './dom.js';
import { age, exitText, nameOf } from './store.js';

const PREVIEW_MS = 2000;
const PREVIEW_ROWS = 12;

interface Item {
    el: HTMLElement;
    name: HTMLElement;
    meta: HTMLElement;
    dot: HTMLElement;
    preview: HTMLElement;
}

export class List {
    readonly el: HTMLElement;
    readonly #app: App;
    readonly #running = h('ul', { class: 'items' });
    readonly #ended = h('ul', { class: 'items' });
    readonly #endedBox: HTMLDetailsElement;
    readonly #empty: HTMLElement;
    readonly #trouble = h('p', { class: 'trouble', role: 'status', hidden: true });
    readonly #filter: HTMLInputElement;
    readonly #items = new Map<string, Item>();
    #drawn = false;

    constructor(app: App) {
        this.#app = app;
        this.#filter = h('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter the processes', oninput: () => this.draw() });
        this.#endedBox = h('details', { class: 'ended' }, h('summary', {}, 'Ended'), this.#ended);
        this.#empty = h('p', { class: 'empty' }, 'No running processes');
        this.el = h('nav', { class: 'list', 'aria-label': 'Processes' }, this.#filter, this.#trouble, this.#running, this.#empty, this.#endedBox);
        app.store.onChange(() => this.#soon());
        setInterval(() => document.visibilityState === 'visible' && void this.#previews(), PREVIEW_MS);
        this.draw();
    }

    /** Coalesces a burst of events into one redraw. */
    #soon(): void {
        if (this.#drawn) return;
        this.#drawn = true;
        requestAnimationFrame(() => {
            this.#drawn = false;
            this.draw();
            this.#app.described();
        });
    }

    draw(): void {
        const wanted = this.#filter.value.toLowerCase();
        const all = [...this.#app.store.processes.values()]
            .filter((p) => p.source !== 'system' && `${nameOf(p)} ${p.command} ${p.args.join(' ')} ${p.id}`.toLowerCase().includes(wanted))
            .sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
        const place = (into: HTMLElement, list: ProcessStatus[]) => into.replaceChildren(...list.map((p) => this.#item(p).el));
        const running = all.filter((p) => p.running);
        const ended = all.filter((p) => !p.running);
        place(this.#running, running);
        place(this.#ended, ended);
        this.#endedBox.hidden = ended.length === 0;
        this.#endedBox.querySelector('summary')!.textContent = `Ended (${ended.length})`;
        this.#empty.hidden = running.length > 0;
        const { trouble } = this.#app.store;
        this.#trouble.hidden = trouble === '';
        if (trouble) this.#trouble.textContent = `This list may be out of date: ${trouble}. Retrying …`;
        for (const id of this.#items.keys()) if (!this.#app.store.processes.has(id)) this.#items.delete(id);
    }

    #item(p: ProcessStatus): Item {
        let item = this.#items.get(p.id);
        if (!item) {
            const made = { name: h('span', { class: 'name' }), meta: h('span', { class: 'meta' }), dot: h('span', { class: 'badge' }), preview: h('pre', { class: 'preview', 'aria-hidden': 'true' }) };
            const open = h('button', { type: 'button', class: 'item', onclick: () => this.#app.show(p.id) }, h('span', { class: 'row' }, made.dot, made.name), made.meta, made.preview);
            const more = h('button', { type: 'button', class: 'icon-button item-more', title: 'More', 'aria-label': `More for ${nameOf(p)}`, 'aria-haspopup': 'menu', onclick: (e: MouseEvent) => this.#app.menuOf(p.id, e.currentTarget as HTMLElement) }, icon('more'));
            item = { ...made, el: h('li', {}, open, this.#app.store.canOwn && more) };
            item.el.dataset.id = p.id;
            this.#items.set(p.id, item);
        }
        item.name.textContent = nameOf(p);
        const facts = [p.running ? (p.foreground && p.foreground !== p.command ? p.foreground : null) : exitText(p), age(p.createdAt), p.pty ? null : 'pipes', p.viewers > 0 ? `${p.viewers} watching` : null];
        item.meta.textContent = facts.filter(Boolean).join(' · ');
        item.dot.className = `badge ${p.running ? 'run' : p.exitCode === 0 ? 'ok' : 'bad'}`;
        item.dot.title = exitText(p);
        item.el.classList.toggle('current', this.#app.current?.id === p.id);
        item.preview.hidden = !p.pty || !item.preview.textContent;
        return item;
    }

    async #previews(): Promise<void> {
        if (this.el.offsetParent === null) return;
        const visible = [...this.#running.children].filter((el) => {
            const box = el.getBoundingClientRect();
            return box.bottom > 0 && box.top < innerHeight;
        });
        for (const el of visible.slice(0, 12)) {
            const id = (el as HTMLElement).dataset.id!;
            const p = this.#app.store.processes.get(id);
            if (p?.pty) await this.#preview(id, this.#items.get(id)!);
        }
    }

    /** Takes the screen from an open pane if there is one, else from the daemon. */
    async #preview(id: string, item: Item): Promise<void> {
        const open = this.#app.paneOf(id);
        let text = open?.text();
        if (text === undefined && this.#app.store.features.screen) {
            text = await fetch(`${base}/v1/processes/${id}/screen?format=text`).then((r) => (r.ok ? r.text() : undefined)).catch(() => undefined);
        }
        if (text === undefined) return;
        const lines = text.replace(/\s+$/, '').split('\n').map((l) => l.slice(0, 80));
        item.preview.textContent = lines.slice(-PREVIEW_ROWS).join('\n');
        item.preview.hidden = item.preview.textContent === '';
    }
}
