// SPDX-License-Identifier: Apache-2.0
//
// index.ts - @holdfast/sdk

export { Sandbox, Session, Sessions, Processes, Terminals } from './sandbox.js';
export type {
    EventsOptions,
    ListOptions,
    RunOptions,
    RunResult,
    SandboxEvent,
    SessionOptions,
    SessionRunOptions,
    SessionRunResult,
    SessionStatus,
    StartOptions,
    TerminalOptions,
    TerminalRequestOptions,
} from './sandbox.js';
export type { ForwardOptions } from './forward.js';
export type { UpgradeRequest, UpgradeSocket } from './forward_node.js';
export { Files } from './files.js';
export type {
    ArchiveFormat,
    FileBody,
    FileEntry,
    FileList,
    FileOptions,
    ListFilesOptions,
    ReadOptions,
    SearchAnswer,
    SearchOptions,
    UnpackAnswer,
    WriteOptions,
} from './files.js';
export { Process, Terminal } from './process.js';
export type {
    CallOptions,
    InputOptions,
    Link,
    LinkOptions,
    NewLink,
    OutputOptions,
    RefreshOptions,
    ScreenOptions,
    UpdateOptions,
    WaitCondition,
    WaitForOptions,
    WaitForResult,
    WaitOptions,
} from './process.js';
export { Connection } from './connection.js';
export type { AttachOptions, ConnectionState, Dialer, StateInfo } from './connection.js';
export type * from './events.js';
export type { OutputListener } from './output_listener.js';
export type { OutputChunk, ProcessStatus, ProcessStatusWithOutput } from './status.js';
export type { ClientOptions } from './http.js';
export type { BackoffOptions } from './backoff.js';
export type { WebSocketClass } from './socket.js';
export * from './errors.js';
export type * as api from './api.gen.js';
