// SPDX-License-Identifier: Apache-2.0
//
// player.ts - plays a recording (asciicast v2) with a time line
//
// What a terminal shows depends on all earlier output, so seeking writes everything
// before the target at once. Long pauses are shortened during playback.

import { Terminal } from '@xterm/xterm';
import type { App } from './app.js';
import { dialog, failed, h, icon, iconButton } from './dom.js';
import { THEMES } from './settings.js';
import { nameOf } from './store.js';

type Cast = { width: number; height: number; events: [number, string, string][] };

export function parseCast(text: string): Cast {
    const lines = text.split('\n').filter(Boolean);
    const head = JSON.parse(lines[0] ?? '{}') as { width?: number; height?: number };
    const events = lines.slice(1).map((l) => JSON.parse(l) as [number, string, string]);
    return { width: head.width ?? 80, height: head.height ?? 24, events };
}

const clock = (s: number) => `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, '0')}`;
const LONGEST_PAUSE_S = 1.5;

class Player {
    readonly el: HTMLElement;
    readonly term: Terminal;
    readonly #cast: Cast;
    readonly #host = h('div', { class: 'player-host' });
    readonly #range: HTMLInputElement;
    readonly #time = h('output', { class: 'time' });
    readonly #button: HTMLButtonElement;
    readonly #end: number;
    #next = 0;
    #now = 0;
    #speed = 1;
    #timer: ReturnType<typeof setTimeout> | undefined;

    constructor(cast: Cast, options: ConstructorParameters<typeof Terminal>[0]) {
        this.#cast = cast;
        this.#end = cast.events.at(-1)?.[0] ?? 0;
        this.term = new Terminal({ ...options, cols: cast.width, rows: cast.height, disableStdin: true, allowProposedApi: true });
        this.#range = h('input', { type: 'range', min: '0', max: String(Math.max(this.#end, 0.01)), step: 'any', value: '0', 'aria-label': 'Time', oninput: () => this.seek(Number(this.#range.value)) });
        this.#button = iconButton('play', 'Play', () => this.toggle());
        const speed = h('select', { 'aria-label': 'Speed', onchange: () => (this.#speed = Number(speed.value)) }, ...[0.5, 1, 2, 4, 8].map((x) => h('option', { value: String(x), selected: x === 1 }, `${x} ×`)));
        this.el = h('div', { class: 'player' }, this.#host, h('div', { class: 'player-bar' }, this.#button, this.#range, this.#time, speed));
        this.#show();
    }

    open(): void {
        this.term.open(this.#host);
        this.seek(0);
        this.toggle();
    }

    #show(): void {
        this.#range.value = String(this.#now);
        this.#time.textContent = `${clock(this.#now)} / ${clock(this.#end)}`;
        const on = this.#timer !== undefined;
        this.#button.replaceChildren(icon(on ? 'pause' : 'play'));
        this.#button.setAttribute('aria-label', on ? 'Pause' : 'Play');
    }

    #draw([, kind, data]: [number, string, string]): void {
        if (kind === 'o') this.term.write(data);
        const size = kind === 'r' ? /^(\d+)x(\d+)$/.exec(data) : null;
        // Queued after earlier writes, which xterm may not have parsed yet.
        if (size) this.term.write('', () => this.term.resize(Number(size[1]), Number(size[2])));
    }

    seek(to: number): void {
        if (to < this.#now || this.#next === 0) {
            this.term.reset();
            this.term.resize(this.#cast.width, this.#cast.height);
            this.#next = 0;
        }
        const { events } = this.#cast;
        while (this.#next < events.length && events[this.#next]![0] <= to) this.#draw(events[this.#next++]!);
        this.#now = to;
        if (this.#timer !== undefined) this.#schedule();
        this.#show();
    }

    #schedule(): void {
        clearTimeout(this.#timer);
        const next = this.#cast.events[this.#next];
        if (!next) {
            this.stop();
            return;
        }
        const pause = Math.min(next[0] - this.#now, LONGEST_PAUSE_S) / this.#speed;
        this.#timer = setTimeout(() => this.seek(next[0]), pause * 1000);
    }

    toggle(): void {
        if (this.#timer !== undefined) {
            this.stop();
            return;
        }
        if (this.#next >= this.#cast.events.length) this.seek(0);
        this.#schedule();
        this.#show();
    }

    stop(): void {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        this.#show();
    }

    dispose(): void {
        this.stop();
        this.term.dispose();
    }
}

export async function play(app: App, id: string): Promise<void> {
    const text = await (await app.store.handle(id)).recording();
    const name = nameOf(app.store.processes.get(id));
    const s = app.settings;
    const player = new Player(parseCast(text), { fontFamily: s.fontFamily, fontSize: 13, theme: THEMES[s.theme]?.xterm });
    const url = URL.createObjectURL(new Blob([text], { type: 'application/x-asciicast' }));
    dialog(`Recording of ${name}`, () => [player.el, h('footer', {}, h('a', { class: 'button', href: url, download: `${name.replace(/[^\w.-]+/g, '_')}.cast` }, icon('download'), 'Download'))], {
        class: 'wide',
        onclose: () => {
            player.dispose();
            URL.revokeObjectURL(url);
        },
    });
    player.open();
}

export const playOr = (app: App, id: string) => void play(app, id).catch(failed('Could not load the recording'));
