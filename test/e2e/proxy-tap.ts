import * as grpc from '@grpc/grpc-js';
import { rmSync } from 'node:fs';
import { startRuntime, TestClient } from '../cri/proxy/harness';

/** One call as it went through a tap: what the caller sent, and what came back. */
export interface TappedCall {
  readonly id: string;
  readonly path: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly requests: Buffer[];
  readonly answers: Buffer[];
  header?: Readonly<Record<string, unknown>>;
  trailer?: Readonly<Record<string, unknown>>;
  code?: number;
  details?: string;
}

export interface TapOptions {
  readonly behind: string;
  readonly marks: boolean;
  readonly paths: readonly string[];
  /** Calls that it answers with an error itself, as a runtime that is in trouble does. */
  readonly refuses?: (path: string) => boolean;
  /** Calls that go no further: their request has come and is not passed on, or their answer has. */
  readonly holds?: (path: string) => 'request' | 'answer' | undefined;
}

export interface Tap {
  /** Calls that carry the mark, in the order in which they came. */
  readonly calls: readonly TappedCall[];
  /** Paths of the calls that are held. */
  readonly held: readonly string[];
  close(): void;
}

const MARK = 'x-tap';

/**
 * Passes calls on and writes them down, with a gRPC library that shares nothing with the proxy: placed before and behind it, the two
 * tell what the proxy has changed. The one in front marks its calls; the one behind keeps only those, so that what the proxy asks
 * the runtime itself is not among them.
 */
export async function openTap(listenPath: string, { behind, marks, paths, refuses, holds }: TapOptions): Promise<Tap> {
  const client = new TestClient(behind);
  const calls: TappedCall[] = [];
  const held: string[] = [];
  let count = 0;
  const pass = (call: grpc.ServerDuplexStream<Buffer, Buffer>): void => {
    const { metadata } = call;
    if (refuses?.(call.getPath()) === true) {
      call.emit('error', { code: grpc.status.INTERNAL, details: 'the runtime is in trouble' });
      return;
    }
    const hold = holds?.(call.getPath());
    if (hold === 'request') {
      call.once('data', () => held.push(call.getPath()));
      return;
    }
    if (marks) metadata.set(MARK, String(++count));
    const [id] = metadata.get(MARK);
    const { 'user-agent': _client, ...kept } = metadata.toJSON();
    const tapped: TappedCall = { id: String(id), path: call.getPath(), metadata: kept, requests: [], answers: [] };
    if (id !== undefined) calls.push(tapped);

    const upstream = client.open(call.getPath(), metadata, { deadline: call.getDeadline() });
    call.on('data', (message: Buffer) => {
      tapped.requests.push(message);
      upstream.write(message);
    });
    call.on('end', () => upstream.end());
    call.on('cancelled', () => upstream.cancel());
    upstream.on('metadata', (header) => {
      tapped.header = withoutDate(header);
      call.sendMetadata(header);
    });
    upstream.on('data', (message: Buffer) => {
      tapped.answers.push(message);
      if (hold === undefined) call.write(message);
    });
    upstream.on('error', () => undefined); // `status` tells
    upstream.on('status', ({ code, details, metadata: trailer }) => {
      if (hold === 'answer') {
        held.push(call.getPath());
        return;
      }
      // The text of success is a library's own: this one says OK where others say nothing.
      Object.assign(tapped, { code, details: code === grpc.status.OK ? '' : details, trailer: withoutDate(trailer) });
      if (code === grpc.status.OK) call.end(trailer);
      else call.emit('error', { code, details, metadata: trailer });
    });
  };
  const server = await startRuntime(listenPath, Object.fromEntries(paths.map((path) => [path, pass])));
  return {
    calls,
    held,
    close() {
      server.forceShutdown();
      client.grpc.close();
      rmSync(listenPath, { force: true });
    },
  };
}

function withoutDate(metadata: grpc.Metadata): Readonly<Record<string, unknown>> {
  const { date: _date, ...rest } = metadata.toJSON();
  return rest;
}
