// SPDX-License-Identifier: Apache-2.0
//
// settings.ts - the settings of this browser: theme, font, cursor, name

import type { ITheme } from '@xterm/xterm';

export interface Settings {
    theme: string;
    fontSize: number;
    fontFamily: string;
    cursor: 'block' | 'bar' | 'underline';
    scrollback: number;
    screenReader: boolean;
    name: string;
}

const KEY = 'holdfast.settings';
const DEFAULTS: Settings = {
    theme: matchMedia('(prefers-color-scheme: light)').matches ? 'paper' : 'kelp',
    fontSize: 14,
    fontFamily: '"JetBrains Mono", "Cascadia Code", "SF Mono", Menlo, "DejaVu Sans Mono", Consolas, monospace',
    cursor: 'block',
    scrollback: 10_000,
    screenReader: false,
    name: '',
};

export function loadSettings(): Settings {
    try {
        return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Settings>) };
    } catch {
        return { ...DEFAULTS };
    }
}

export function saveSettings(s: Settings): void {
    try {
        localStorage.setItem(KEY, JSON.stringify(s));
    } catch {
        // Without storage, the settings last until the page is closed.
    }
}

const ansi = (colours: string): Partial<ITheme> => {
    const names = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'];
    const list = colours.split(' ');
    return Object.fromEntries([
        ...names.map((n, i) => [n, list[i]]),
        ...names.map((n, i) => [`bright${n[0]!.toUpperCase()}${n.slice(1)}`, list[i + 8]]),
    ]) as Partial<ITheme>;
};

export const THEMES: Record<string, { title: string; light?: boolean; xterm: ITheme }> = {
    kelp: {
        title: 'Kelp',
        xterm: {
            background: '#0c1716', foreground: '#d5e3dd', cursor: '#5fd6aa', cursorAccent: '#0c1716', selectionBackground: '#2b5a4c',
            ...ansi('#21302e #ef7a6d #6fd39b #e5b95c #6fb1e8 #c698e0 #5cc9c4 #c6d6d0 #5d746f #ff9b8f #93e8b7 #f5d184 #97cbf5 #dcb7f0 #86e0db #f2faf6'),
        },
    },
    midnight: {
        title: 'Midnight',
        xterm: {
            background: '#10121c', foreground: '#d8dbea', cursor: '#8fa8ff', cursorAccent: '#10121c', selectionBackground: '#344072',
            ...ansi('#262a3d #f4768a #8fd694 #e6c07b #7f9cff #c792ea #70c8d8 #c8cce0 #62688a #ff98a8 #b0ecb3 #f7d79b #a8bcff #dcb0f5 #98e0ec #ffffff'),
        },
    },
    paper: {
        title: 'Paper',
        light: true,
        xterm: {
            background: '#fbfaf5', foreground: '#2a302d', cursor: '#16795a', cursorAccent: '#fbfaf5', selectionBackground: '#c4e3d6',
            ...ansi('#2a302d #b3372b #1f7a4d #8a6100 #1f5fa8 #8140a3 #0f7580 #5b6661 #7b8681 #cc4a3c #2b9160 #a67600 #2f76c6 #9a55bd #1a8c98 #3b433f'),
        },
    },
    contrast: {
        title: 'High contrast',
        xterm: {
            background: '#000000', foreground: '#ffffff', cursor: '#ffff00', cursorAccent: '#000000', selectionBackground: '#0050a0',
            ...ansi('#000000 #ff6060 #60ff60 #ffff60 #80a8ff #ff80ff #60ffff #ffffff #a0a0a0 #ff9090 #90ff90 #ffff90 #a8c4ff #ffa8ff #90ffff #ffffff'),
        },
    },
};
