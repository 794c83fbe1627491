// The part of `ws` that is used here. Its types are a package of their own, for all of it.
declare module 'ws' {
  import type { EventEmitter } from 'node:events';
  import type { ClientRequest, IncomingMessage } from 'node:http';
  import type { RequestOptions } from 'node:https';

  export interface ClientOptions extends RequestOptions {
    readonly perMessageDeflate: false;
    readonly maxPayload: number;
    /** ms */
    readonly closeTimeout: number;
  }

  export interface Events {
    open: [];
    message: [message: Buffer];
    close: [];
    error: [error: Error];
    upgrade: [answer: IncomingMessage];
    'unexpected-response': [request: ClientRequest, answer: IncomingMessage];
  }

  export class WebSocket extends EventEmitter<Events> {
    constructor(url: URL, protocol: string, options: ClientOptions);
    pause(): void;
    resume(): void;
    send(message: Buffer, done: (error?: Error) => void): void;
    terminate(): void;
  }
}
