// SPDX-License-Identifier: Apache-2.0
//
// sse.ts - parses server-sent events from a byte stream

export interface ServerSentEvent {
    event: string;
    data: string;
    id: string | undefined;
}

/** The daemon sends something every 15 s. After three such intervals of silence the connection is considered lost. */
const SILENCE_MS = 45_000;

async function read(reader: ReadableStreamDefaultReader<Uint8Array>) {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`nothing was received for ${SILENCE_MS} ms`)), SILENCE_MS);
    });
    try {
        return await Promise.race([reader.read(), late]);
    } finally {
        clearTimeout(timer);
    }
}

/** Yields events as they arrive. Returns at the end of the stream; throws if the connection is lost or silent. */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = '';
    let event = '';
    let data: string[] = [];
    let id: string | undefined;
    try {
        for (;;) {
            const { done, value } = await read(reader);
            if (done) return;
            rest += decoder.decode(value, { stream: true });
            // A lone \r at the end may be the first half of a \r\n.
            const lines = rest.split(/\r\n|\n|\r(?!$)/);
            rest = lines.pop() ?? '';
            for (const line of lines) {
                if (line === '') {
                    if (data.length > 0) yield { event: event || 'message', data: data.join('\n'), id };
                    event = '';
                    data = [];
                    continue;
                }
                const colon = line.indexOf(':');
                const name = colon < 0 ? line : line.slice(0, colon);
                const text = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
                if (name === 'event') event = text;
                else if (name === 'data') data.push(text);
                else if (name === 'id') id = text;
            }
        }
    } finally {
        await reader.cancel().catch(() => undefined);
    }
}
