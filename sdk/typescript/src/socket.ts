// SPDX-License-Identifier: Apache-2.0
//
// socket.ts - the part of the WebSocket API that we use; browsers, Node, Bun, Deno and the package `ws` have it

export interface WebSocketLike {
    binaryType: string;
    readonly readyState: number;
    send(data: string | ArrayBufferLike | ArrayBufferView): void;
    close(code?: number, reason?: string): void;
    addEventListener(type: string, listener: (event: never) => void): void;
}

export type WebSocketClass = new (url: string, protocols?: string[]) => unknown;

export interface SocketHandlers {
    onText(text: string): void;
    onBytes(bytes: Uint8Array): void;
    /** Called exactly once; `opened` is true if the handshake succeeded. */
    onClose(code: number, reason: string, opened: boolean): void;
}

/** One WebSocket. After `drop()` its handlers are not called again. */
export class Socket {
    readonly #ws: WebSocketLike;
    #opened = false;
    #done = false;

    constructor(type: WebSocketClass, url: string, protocols: string[], handlers: SocketHandlers) {
        const ws = new type(url, protocols) as WebSocketLike;
        this.#ws = ws;
        ws.binaryType = 'arraybuffer';
        const finish = (code: number, reason: string) => {
            if (this.#done) return;
            this.#done = true;
            handlers.onClose(code, reason, this.#opened);
        };
        ws.addEventListener('open', () => (this.#opened = true));
        ws.addEventListener('message', (e: { data: unknown }) => {
            if (this.#done) return;
            if (typeof e.data === 'string') handlers.onText(e.data);
            else handlers.onBytes(new Uint8Array(e.data as ArrayBuffer));
        });
        ws.addEventListener('close', (e: { code?: number; reason?: string }) => finish(e.code ?? 1006, e.reason ?? ''));
        // In a browser a close event follows; elsewhere this may be the only event.
        ws.addEventListener('error', () => setTimeout(() => finish(1006, 'error'), 0));
    }

    get isOpen(): boolean {
        return !this.#done && this.#ws.readyState === 1;
    }

    send(data: string | Uint8Array): void {
        if (this.isOpen) this.#ws.send(data);
    }

    close(code = 1000): void {
        try {
            this.#ws.close(code);
        } catch {
            // It was not open yet. `#done` makes us ignore it from here on.
        }
    }

    drop(): void {
        this.#done = true;
        this.close();
    }
}
