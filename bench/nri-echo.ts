/**
 * Round trip of a CreateContainer-sized request to a plugin process, seen from the runtime's side.
 *
 * Method: a plugin process that does nothing but answer (nri-echo-plugin.ts) connects to a unix socket of this
 * process, which calls it over mux and ttrpc, one call at a time, as a runtime does. Beside it runs the same plugin
 * without any protocol: the same number of bytes there and back, which is the floor of this machine. The two are
 * interleaved in rounds, so that noise meets both alike; times are of single calls, from before the call to after
 * its answer. Compare the ratio, not the microseconds, between machines.
 *
 * Arguments: number of calls (10000).
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

import { Mux, TtrpcClient } from '../src/wire';
import { encodeRequest } from '../src/wire/envelope';
import { FRAME_HEADER_BYTES, MAX_FIRST_FRAME_BYTES, writeFrameHeader } from '../src/wire/frame';
import { MESSAGE_HEADER_BYTES } from '../src/wire/message';

const calls = Number(process.argv[2] ?? 10_000);
const requestBytes = 4300;
const answerBytes = 30;
const roundSize = 100;
const service = 'nri.pkg.api.v1alpha1.Plugin';

interface Candidate {
  readonly name: string;
  readonly call: () => Promise<unknown>;
  readonly timesUs: number[];
}

async function main(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'echo-'));
  const children: ChildProcess[] = [];
  try {
    const candidates: Candidate[] = [
      { name: 'mux + ttrpc', call: callPlugin(await startPlugin('ttrpc')), timesUs: [] },
      { name: 'plugin only', call: callRaw(await startPlugin('ttrpc')), timesUs: [] },
      { name: 'bare socket', call: callBare(await startPlugin('bare')), timesUs: [] },
    ];
    for (const candidate of candidates) await measure(candidate, 2000);
    for (const candidate of candidates) candidate.timesUs.length = 0;
    for (let done = 0; done < calls; done += roundSize) {
      for (const candidate of candidates) await measure(candidate, roundSize);
    }
    report(candidates);
  } finally {
    for (const child of children) child.kill();
    rmSync(dir, { recursive: true });
  }

  async function startPlugin(kind: string): Promise<Socket> {
    const path = join(dir, kind);
    const server = createServer().listen(path);
    await once(server, 'listening');
    const child = spawn(process.execPath, [join(__dirname, 'nri-echo-plugin.js'), kind, path, String(requestBytes)], {
      stdio: 'inherit',
      env: {},
    });
    children.push(child);
    const [socket] = (await once(server, 'connection')) as [Socket];
    server.close();
    return socket;
  }
}

function callPlugin(socket: Socket): () => Promise<unknown> {
  const plugin = new TtrpcClient(new Mux(socket).open(1));
  const payload = Buffer.alloc(requestBytes, 7);
  const metadata = [{ key: 'containerd-namespace-ttrpc', value: 'k8s.io' }];
  return () => plugin.call(service, 'CreateContainer', payload, { timeoutMs: 2000, metadata });
}

/** The same call with its bytes ready and its answer only counted, so that nearly all the time is the plugin's. */
function callRaw(socket: Socket): () => Promise<unknown> {
  const metadata = [{ key: 'containerd-namespace-ttrpc', value: 'k8s.io' }];
  const payload = Buffer.alloc(requestBytes, 7);
  const message = encodeRequest(0, 1, { service, method: 'CreateContainer', payload, timeoutNano: 2e9, metadata });
  const packet = Buffer.alloc(message.length + 2 * FRAME_HEADER_BYTES);
  writeFrameHeader(packet, 0, 1, MAX_FIRST_FRAME_BYTES);
  message.copy(packet, FRAME_HEADER_BYTES, 0, MAX_FIRST_FRAME_BYTES);
  writeFrameHeader(packet, FRAME_HEADER_BYTES + MAX_FIRST_FRAME_BYTES, 1, message.length - MAX_FIRST_FRAME_BYTES);
  message.copy(packet, 2 * FRAME_HEADER_BYTES + MAX_FIRST_FRAME_BYTES, MAX_FIRST_FRAME_BYTES);
  const replyBytes = FRAME_HEADER_BYTES + MESSAGE_HEADER_BYTES + 2 + answerBytes;
  let streamId = -1;
  return exchange(socket, replyBytes, () => {
    packet.writeUInt32BE((streamId += 2), FRAME_HEADER_BYTES + 4);
    return packet;
  });
}

function callBare(socket: Socket): () => Promise<unknown> {
  const request = Buffer.alloc(requestBytes, 7);
  return exchange(socket, answerBytes, () => request);
}

function exchange(socket: Socket, replyBytes: number, nextRequest: () => Buffer): () => Promise<unknown> {
  let received = 0;
  let settle: (() => void) | undefined;
  socket.on('data', (chunk) => {
    received += chunk.length;
    if (received % replyBytes === 0) settle?.();
  });
  return () =>
    new Promise<void>((resolve) => {
      settle = resolve;
      socket.write(nextRequest());
    });
}

async function measure({ call, timesUs }: Candidate, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const startMs = performance.now();
    await call();
    timesUs.push((performance.now() - startMs) * 1000);
  }
}

function report(candidates: readonly Candidate[]): void {
  const rows = candidates.map(({ name, timesUs }) => {
    const sorted = timesUs.toSorted((a, b) => a - b);
    const at = (share: number): number => Math.round(sorted[Math.floor(sorted.length * share)]!);
    return { name, p50: at(0.5), p99: at(0.99), 'p99.9': at(0.999), mean: Math.round(average(sorted)) };
  });
  console.log(`${requestBytes} byte request, ${answerBytes} byte answer, ${calls} calls each, µs:`);
  console.table(rows);
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

void main();
