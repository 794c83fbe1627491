import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';

import type { RuntimeEvent } from '../../src/core/model/events';
import { NriSession } from '../../src/nri/nri-session';
import { createCpuPlugin } from '../../src/nri-events';

const log = pino({ level: 'silent' });
const folder = mkdtempSync(join(tmpdir(), 'replay-'));
afterAll(() => rmSync(folder, { recursive: true }));

/**
 * Sends a recording of a runtime, in pieces of the given size, to a session over a socket; resolves with the events.
 */
async function replay(version: string, pieceBytes: number): Promise<{ events: RuntimeEvent[]; progress: string[] }> {
  const recorded = readFileSync(join(__dirname, `../fixtures/captures/containerd-${version}-life.r2p.bin`));
  const path = join(folder, `${version}-${pieceBytes}.sock`);
  const events: RuntimeEvent[] = [];
  const progress: string[] = [];
  const server = createServer((socket) => {
    socket.resume();
    for (let at = 0; at < recorded.length; at += pieceBytes) socket.write(recorded.subarray(at, at + pieceBytes));
    socket.end();
  });
  server.listen(path);
  await once(server, 'listening');
  const socket = connect(path);
  await once(socket, 'connect');
  const session = new NriSession(socket, {
    name: 'cpusetd',
    index: '50',
    plugin: createCpuPlugin(
      {
        onEvent: (event) => {
          events.push(event);
          return { kind: 'ok' };
        },
      },
      log,
    ),
    log,
    onProgress: (phase, runtime) => progress.push(`${phase} ${runtime?.version ?? ''}`),
  });
  await session.closed;
  server.close();
  return { events, progress };
}

test.each`
  version     | pieceBytes | reported
  ${'1.7.24'} | ${100_000} | ${'1.7.24~ds1'}
  ${'2.1.9'}  | ${100_000} | ${'2.1.9+unknown'}
  ${'2.2.7'}  | ${4096}    | ${'2.2.7'}
  ${'2.3.4'}  | ${7}       | ${'2.3.4'}
`(
  'a recording of containerd $version, in pieces of $pieceBytes bytes, is a complete session',
  async ({ version, pieceBytes, reported }) => {
    const { events, progress } = await replay(version as string, pieceBytes as number);
    expect(events).toHaveLength(21);
    const { containers } = events[0] as Extract<RuntimeEvent, { kind: 'synchronize' }>;
    expect(containers.map(({ phase }) => phase).sort()).toEqual(['created', 'running']);
    expect(events.at(-1)!.kind).toBe('pod-removed');
    expect(progress).toContain(`synchronized ${String(reported)}`);
  },
);
