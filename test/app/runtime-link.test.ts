import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { pino } from 'pino';
import { RuntimeLink } from '../../src/app/runtime-link';
import { NodeDriver } from '../core/transition/node-driver';

let folder: string;
let stop: AbortController;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'link-'));
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  rmSync(folder, { recursive: true });
});

function link() {
  return new RuntimeLink({
    endpoint: join(folder, 'cri.sock'),
    model: new NodeDriver().model,
    log: pino({ level: 'silent' }),
    signal: stop.signal,
    now: () => '2026-01-01T00:00:00Z',
  });
}

test('a runtime that is not there is no connection, with the remedy', async () => {
  const runtime = link();
  await expect(runtime.list()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  expect(runtime.connection).toMatchObject({ state: 'connecting', reason: expect.stringContaining('--cri-endpoint') });
});

test('one that answers, and not with its lists, is no connection either, and says why', async () => {
  const server = new Server(); // without CRI
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`unix:${join(folder, 'cri.sock')}`, ServerCredentials.createInsecure(), (error) =>
      error ? reject(error) : resolve(),
    ),
  );
  const runtime = link();
  await expect(runtime.list()).rejects.toMatchObject({ code: 'UNIMPLEMENTED' });
  expect(runtime.connection).toMatchObject({
    state: 'connecting',
    reason: expect.stringMatching(/ListContainers with UNIMPLEMENTED/),
  });
  stop.abort();
  server.forceShutdown();
});
