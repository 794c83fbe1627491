import * as grpc from '@grpc/grpc-js';
import { rmSync } from 'node:fs';
import { startRuntime, TestClient } from '../cri/proxy/harness';

/** One call through a tap: the requests of the caller, and the answers. */
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
  /** True for calls that it answers with an error, as a broken runtime does. */
  readonly refuses?: (path: string) => boolean;
  /** Calls whose request or answer is held back. */
  readonly holds?: (path: string) => 'request' | 'answer' | undefined;
}

export interface Tap {
  /** Calls with the mark, in their order. */
  readonly calls: readonly TappedCall[];
  /** Paths of the calls that are held. */
  readonly held: readonly string[];
  close(): void;
}

const MARK = 'x-tap';

/**
 * Forwards and records calls, with a gRPC library that shares no code with the proxy. One tap in front of the proxy and
 * one behind it show the changes of the proxy. The one in front marks its calls, and the one behind keeps only those:
 * the proxy's own calls are left out.
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
    upstream.on('error', () => undefined); // reported by `status`
    upstream.on('status', ({ code, details, metadata: trailer }) => {
      if (hold === 'answer') {
        held.push(call.getPath());
        return;
      }
      // The details of a success depend on the library: this one has OK where others have nothing.
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
