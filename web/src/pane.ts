// SPDX-License-Identifier: Apache-2.0
//
// pane.ts - one terminal on the page: xterm, its connection, and the pane's title bar

import type { Connection, ProcessStatus, Viewer } from '@holdfast/sdk';
import { HoldfastAddon, type ListenerEvent, type StateInfo } from '@holdfast/sdk/xterm';
import { ClipboardAddon } from '@xterm/addon-clipboard';
import { FitAddon } from '@xterm/addon-fit';
import { SearchAddon } from '@xterm/addon-search';
import { Unicode11Addon } from '@xterm/addon-unicode11';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { WebglAddon } from '@xterm/addon-webgl';
import { Terminal } from '@xterm/xterm';
import type { App } from './app.js';
import { Banner } from './banner.js';
import { base } from './base.js';
import { copyText, h, icon, iconButton, toast } from './dom.js';
import { SearchBar } from './searchbar.js';
import { THEMES } from './settings.js';
import { exitText, nameOf } from './store.js';
import { acceptFiles } from './upload.js';

/** A viewer's display name. For clients with another token or link we know only a digest of the client id. */
const viewerName = (v: Viewer) => (!v.client || /^c_[0-9a-f]{16}$/.test(v.client) ? (v.name ?? '?') : v.client.includes('~') ? v.client.split('~')[0]! : v.client.startsWith('web-') ? 'browser' : v.client);

export class Pane {
    readonly el: HTMLElement;
    readonly term: Terminal;
    readonly id: string;
    readOnly: boolean;
    status: ProcessStatus | undefined;
    /** Modifiers set by the key bar; they apply to the next character. */
    sticky = { ctrl: false, alt: false };
    onSticky: (() => void) | undefined;

    readonly #app: App;
    readonly #host: HTMLElement;
    readonly #title: HTMLElement;
    readonly #badge: HTMLElement;
    readonly #people: HTMLElement;
    readonly #sizeNote: HTMLElement;
    readonly #lock: HTMLButtonElement;
    readonly #fit = new FitAddon();
    readonly #search = new SearchAddon();
    readonly #searchBar: SearchBar;
    readonly #banner: Banner;
    readonly #observer: ResizeObserver;
    #addon: HoldfastAddon | undefined;
    #wanted = { rows: 0, cols: 0 };
    #sizedBy = '';
    /** The daemon grants us the watch role only. */
    #watchOnly: boolean;

    constructor(app: App, id: string, readOnly = false) {
        this.#app = app;
        this.id = id;
        this.#watchOnly = app.store.role === 'watch' && !app.store.guest;
        this.readOnly = readOnly || this.#watchOnly;
        this.status = app.store.processes.get(id);
        this.#title = h('span', { class: 'pane-title' });
        this.#badge = h('span', { class: 'badge' });
        this.#people = h('div', { class: 'people' });
        this.#sizeNote = h('button', { type: 'button', class: 'size-note', onclick: () => this.takeSize() });
        this.#lock = iconButton('unlock', 'Read only', () => this.toggleReadOnly());
        this.#host = h('div', { class: 'pane-host' });
        this.#banner = new Banner(() => this.#addon?.retryNow());
        this.#searchBar = new SearchBar(this.#search, () => this.focus());
        this.el = h(
            'section',
            { class: 'pane', 'aria-label': nameOf(this.status), onfocusin: () => app.focused(this), onpointerdown: () => app.focused(this) },
            h('header', { class: 'pane-bar' }, this.#badge, this.#title, this.#people, this.#sizeNote, this.#tools()),
            this.#searchBar.el,
            h('div', { class: 'pane-body' }, this.#host, this.#banner.el),
        );
        this.term = this.#terminal();
        acceptFiles(this.el, () => ({ store: app.store, cwd: this.status?.cwd ?? undefined, may: app.store.canOwn }));
        this.#observer = new ResizeObserver(() => this.fit());
        this.#observer.observe(this.#host);
        this.describe();
    }

    get connection(): Connection | undefined {
        return this.#addon?.connection;
    }

    #tools(): HTMLElement {
        const { store } = this.#app;
        return h(
            'div',
            { class: 'tools', role: 'toolbar', 'aria-label': 'Terminal' },
            iconButton('search', 'Find (Ctrl+Shift+F)', () => this.openSearch()),
            this.#lock,
            store.canOwn && iconButton('splitRight', 'Split right (Ctrl+Shift+E)', () => this.#app.split('row')),
            store.canOwn && iconButton('splitDown', 'Split down (Ctrl+Shift+O)', () => this.#app.split('column')),
            store.canOwn && iconButton('share', 'Share', () => this.#app.share(this)),
            store.features.recording && iconButton('record', 'Recording', () => this.#app.play(this)),
            iconButton('more', 'More: rename, signal, terminate', (e) => this.#app.menu(this, e.currentTarget as HTMLElement), { 'aria-haspopup': 'menu' }),
            iconButton('close', 'Close this view; the process keeps running', () => this.#app.closePane(this)),
        );
    }

    #terminal(): Terminal {
        const s = this.#app.settings;
        const term = new Terminal({
            allowProposedApi: true,
            cursorBlink: true,
            cursorStyle: s.cursor,
            fontFamily: s.fontFamily,
            fontSize: s.fontSize,
            scrollback: s.scrollback,
            screenReaderMode: s.screenReader,
            theme: THEMES[s.theme]?.xterm,
            macOptionIsMeta: true,
            minimumContrastRatio: s.theme === 'contrast' ? 7 : 1,
        });
        term.loadAddon(this.#fit);
        term.loadAddon(this.#search);
        term.loadAddon(new Unicode11Addon());
        term.unicode.activeVersion = '11';
        term.loadAddon(new WebLinksAddon((_, uri) => window.open(uri, '_blank', 'noopener,noreferrer')));
        // A program may write to the clipboard (OSC 52) but never read it.
        term.loadAddon(new ClipboardAddon(undefined, { readText: () => '', writeText: (_, text) => copyText(text) }));
        term.attachCustomKeyEventHandler((e) => this.#app.key(e, this));
        return term;
    }

    /** Call this once the element is on the page. */
    open(): void {
        this.term.open(this.#host);
        this.#webgl();
        this.#fit.fit();
        this.#wanted = { rows: this.term.rows, cols: this.term.cols };
        this.connect();
    }

    /** Uses WebGL where available; otherwise xterm renders to DOM elements. */
    #webgl(): void {
        if (this.#app.settings.screenReader) return;
        try {
            const webgl = new WebglAddon();
            webgl.onContextLoss(() => webgl.dispose());
            this.term.loadAddon(webgl);
            setTimeout(() => this.#drawsWrong() && webgl.dispose(), 250);
        } catch {
            // No WebGL: xterm keeps its DOM renderer.
        }
    }

    /** Detects a canvas scaled wrongly, as in emulated phones, where WebGL shows nothing. */
    #drawsWrong(): boolean {
        const canvas = this.#host.querySelector<HTMLCanvasElement>('.xterm-screen canvas:not(.xterm-link-layer)');
        if (!canvas || canvas.clientWidth === 0) return false;
        const want = canvas.clientWidth * devicePixelRatio;
        return Math.abs(canvas.width - want) > want / 10;
    }

    connect(): void {
        this.#addon?.dispose();
        const addon = new HoldfastAddon({
            url: base,
            mode: this.readOnly ? 'ro' : 'rw',
            client: this.#app.clientName(),
            name: this.#app.viewerName(),
            focus: false,
            onStateChange: (state, error, info) => this.#state(state, error, info),
            onEvent: (e) => this.#event(e),
        });
        this.#addon = addon;
        // The key bar's sticky modifiers change the input before the addon receives it.
        const { term } = this;
        addon.activate({
            get rows() {
                return term.rows;
            },
            get cols() {
                return term.cols;
            },
            write: (data, done) => term.write(data, done),
            resize: (cols, rows) => term.resize(cols, rows),
            onData: (listener) => term.onData((text) => listener(this.#stuck(text))),
            onBinary: (listener) => term.onBinary(listener),
            onResize: (listener) => term.onResize(listener),
        });
        addon.connect(this.id);
        this.describe();
    }

    #stuck(text: string): string {
        const { ctrl, alt } = this.sticky;
        if ((!ctrl && !alt) || text.length !== 1) return text;
        this.sticky = { ctrl: false, alt: false };
        this.onSticky?.();
        const code = text.toUpperCase().charCodeAt(0);
        const typed = ctrl && code >= 64 && code < 96 ? String.fromCharCode(code & 31) : ctrl && text === ' ' ? '\0' : text;
        return alt ? `\x1b${typed}` : typed;
    }

    #state(state: string, error: Error | undefined, info?: StateInfo): void {
        this.el.dataset.state = state;
        if (state === 'connected') this.#banner.hide();
        else if (info?.delayMs !== undefined) this.#banner.countdown(info.delayMs, info.attempt);
        else if (state === 'connecting' && info && info.attempt > 0) this.#banner.trying();
        else if (state === 'disconnected' && error) this.#banner.fatal(error.message);
    }

    #event(e: ListenerEvent): void {
        switch (e.type) {
            case 'hello':
                this.status = e.process;
                if (e.role === 'watch' && !this.readOnly) this.#watchOnly = this.readOnly = true;
                this.#viewers(e.viewers, e.viewers?.length ?? 0);
                this.#sized();
                this.describe();
                break;
            case 'viewers':
                this.#viewers(e.list, e.count);
                break;
            case 'size':
                this.#sizedBy = e.by;
                this.#sized();
                break;
            case 'title':
                if (this.status) this.status = { ...this.status, title: e.title };
                this.describe();
                break;
            case 'gap':
                toast(`${(e.to - e.from).toLocaleString()} bytes of output were lost`);
                break;
            case 'refused':
                toast(e.detail, 'bad');
                break;
            case 'exit':
                this.status = e.status;
                this.describe();
                this.#banner.exited(e.status, exitText(e.status), this.#app.store.canOwn ? () => this.#app.again(this) : undefined);
                if (!this.#app.store.guest) this.#app.store.learn(e.status);
                break;
            default:
        }
    }

    #viewers(list: Viewer[] | null, count: number): void {
        const me = this.connection?.client;
        const others = (list ?? []).filter((v) => v.client !== me);
        const chip = (v: Viewer) => {
            const el = h('span', { class: `chip ${v.readOnly ? 'ro' : ''}`, title: `${viewerName(v)}${v.readOnly ? ' (watching)' : ' (can type)'}${v.rows ? `, ${v.cols} × ${v.rows}` : ''}` }, viewerName(v).slice(0, 2).toUpperCase());
            el.style.setProperty('--hue', String([...(v.client ?? '')].reduce((n, c) => (n * 31 + c.charCodeAt(0)) % 360, 7)));
            return el;
        };
        this.#people.replaceChildren(...others.slice(0, 5).map(chip), ...(count - 1 > 5 ? [h('span', { class: 'chip' }, `+${count - 6}`)] : []));
        this.#people.setAttribute('aria-label', others.length ? `Other viewers: ${others.map(viewerName).join(', ')}` : 'No other viewers');
    }

    // --- size ---

    /** Our window has changed: request the size that fits. */
    fit(): void {
        const fits = this.#fit.proposeDimensions();
        if (!fits || !Number.isFinite(fits.cols) || this.#host.offsetParent === null) return;
        if (fits.rows === this.#wanted.rows && fits.cols === this.#wanted.cols) return;
        this.#wanted = { rows: fits.rows, cols: fits.cols };
        if (!this.readOnly) this.term.resize(fits.cols, fits.rows);
        this.#sized();
    }

    takeSize(): void {
        if (this.readOnly) return;
        this.term.resize(this.#wanted.cols, this.#wanted.rows);
        void this.connection?.resize(this.#wanted.rows, this.#wanted.cols);
    }

    #sized(): void {
        const size = this.connection?.size;
        const rows = size?.rows ?? this.term.rows;
        const cols = size?.cols ?? this.term.cols;
        const foreign = (rows !== this.#wanted.rows || cols !== this.#wanted.cols) && this.status?.running === true;
        this.el.classList.toggle('foreign-size', foreign);
        this.#sizeNote.textContent = `${cols} × ${rows}`;
        this.#sizeNote.title = foreign ? `Another window${this.#sizedBy ? ` (${this.#sizedBy})` : ''} set this size. Click to use yours: ${this.#wanted.cols} × ${this.#wanted.rows}` : 'Columns and rows';
    }

    // --- the rest ---

    describe(): void {
        const p = this.#app.store.processes.get(this.id) ?? this.status;
        const name = nameOf(p);
        this.#title.textContent = name;
        this.#title.title = p ? [p.command, ...p.args].join(' ') : '';
        this.el.setAttribute('aria-label', name);
        this.#badge.className = `badge ${p?.running === false ? (p.exitCode === 0 ? 'ok' : 'bad') : 'run'}`;
        this.#badge.title = p ? exitText(p) : '';
        this.#lock.replaceChildren(icon(this.readOnly ? 'lock' : 'unlock'));
        this.#lock.setAttribute('aria-pressed', String(this.readOnly));
        this.#lock.title = this.readOnly ? 'Read only. Click to enable typing.' : 'Typing is enabled. Click to make this view read-only.';
        this.#lock.disabled = this.#watchOnly;
        this.el.classList.toggle('read-only', this.readOnly);
    }

    toggleReadOnly(): void {
        this.readOnly = !this.readOnly;
        this.connect();
        toast(this.readOnly ? 'Read only: your input is not sent' : 'Typing is enabled');
    }

    apply(): void {
        const s = this.#app.settings;
        Object.assign(this.term.options, {
            fontSize: s.fontSize,
            fontFamily: s.fontFamily,
            cursorStyle: s.cursor,
            scrollback: s.scrollback,
            screenReaderMode: s.screenReader,
            theme: THEMES[s.theme]?.xterm,
            minimumContrastRatio: s.theme === 'contrast' ? 7 : 1,
        });
        this.fit();
    }

    openSearch(): void {
        this.#searchBar.open(this.term.getSelection());
    }

    send(text: string): void {
        if (!this.readOnly) this.term.input(text, true);
    }

    focus(): void {
        this.term.focus();
    }

    /** The visible lines, for the list's preview. */
    text(): string {
        const b = this.term.buffer.active;
        return Array.from({ length: this.term.rows }, (_, y) => b.getLine(b.viewportY + y)?.translateToString(true) ?? '').join('\n');
    }

    dispose(): void {
        this.#observer.disconnect();
        this.#banner.hide();
        this.#addon?.dispose();
        this.term.dispose();
        this.el.remove();
    }
}
