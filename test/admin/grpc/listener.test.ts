import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { connectAdmin } from '../../../src/admin/client/admin-client';
import { listenAt } from '../../../src/admin/grpc/listener';
import { LimitedConnections } from '../../../src/net/limited-connections';
import { HealthState } from '../../../src/admin/health-state';
import { Metrics } from '../../../src/admin/metrics/metrics';
import { startMetricsServer } from '../../../src/admin/metrics/metrics-server';
import { startAdminServer } from '../../../src/admin/server/admin-server';
import { buildTopology } from '../../../src/core/topology';
import { NodeModel } from '../../../src/core/model/node-model';
import { settingsWith } from '../../core/transition/node-driver';
import { SampleBackend, sampleStatus } from '../sample-status';

const log = { error: () => undefined, warn: () => undefined };
let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'listener-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('a client that calls before the server starts is answered when it starts', async () => {
  const socketPath = join(folder, 'a.sock');
  const admin = await listenAt(socketPath, () => undefined);
  expect(statSync(socketPath).mode & 0o777).toBe(0o600);
  const client = await connectAdmin(socketPath);
  const early = client.status();
  const raw = connect(socketPath);
  await new Promise((resolve) => raw.once('connect', resolve)); // connected after the client
  const server = startAdminServer({
    listeners: { admin },
    kubeletResourcesSocket: join(folder, 'kubelet.sock'),
    backend: new SampleBackend(),
    health: new HealthState(),
    log,
    drainMs: 100,
  });
  expect((await early).node.version).toBe('0.1.0');
  client.close();
  raw.destroy();
  await server.close();
  expect(statSync(socketPath, { throwIfNoEntry: false })).toBeUndefined();
});

test.each([
  ['another process listens', 'ALREADY_EXISTS', (path: string) => listenAt(path, () => undefined)],
  ['a file exists', 'FAILED_PRECONDITION', (path: string) => Promise.resolve(writeFileSync(path, ''))],
])('listenAt a path where %s rejects at once', async (_what, code, prepare) => {
  const path = join(folder, 'a.sock');
  const other = await prepare(path);
  await expect(listenAt(path, () => undefined)).rejects.toMatchObject({ code });
  other?.close();
});

test('a connection above the limit closes the oldest one', async () => {
  const listener = await listenAt(join(folder, 'a.sock'), () => undefined);
  const connections = new LimitedConnections(2);
  listener.open((socket) => connections.add(socket.resume()));
  const sockets: Socket[] = [];
  const closed = new Map<number, Promise<unknown>>();
  for (let i = 0; i < 4; i++) {
    const socket = connect(join(folder, 'a.sock'));
    await new Promise((resolve) => socket.once('connect', resolve));
    closed.set(i, new Promise((resolve) => socket.once('close', resolve)));
    sockets.push(socket.resume());
  }
  await Promise.all([closed.get(0), closed.get(1)]);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, true, false, false]);
  connections.close();
  await Promise.all(closed.values());
  listener.close();
});

describe('the metrics server', () => {
  const topology = buildTopology({ cpus: [{ id: 0, core: 0, socket: 0, numaNode: 0, uncoreCache: 0 }] });

  test('100 incomplete requests and one that is too long do not affect a scrape', async () => {
    const metrics = new Metrics({ status: () => sampleStatus, node: new NodeModel(topology, settingsWith()) });
    const server = await startMetricsServer({ address: { host: '127.0.0.1', port: 0 }, metrics, log });
    const open = async (text: string): Promise<Socket> => {
      const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(text);
      return socket.resume();
    };
    const incomplete = [];
    for (let i = 0; i < 100; i++)
      incomplete.push(await open(i % 2 === 0 ? '' : 'GET /metrics HTTP/1.1\r\nhost: a\r\nx: '));
    const tooLong = await open(`GET /metrics HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(9_000)}\r\n\r\n`);
    await new Promise((resolve) => tooLong.once('close', resolve));
    const scrape = await fetch(`http://127.0.0.1:${server.port}/metrics`);
    expect(await scrape.text()).toContain('cpusetd_build_info');
    for (const socket of incomplete) socket.destroy();
    await server.close();
  });

  test('20 scrapes at the same time share one reading', async () => {
    let reads = 0;
    const metrics = new Metrics({ status: () => sampleStatus, node: new NodeModel(topology, settingsWith()) });
    const expose = metrics.expose.bind(metrics);
    // The reading ends when all requests have arrived.
    let arrived = 0;
    let onAll: (value?: unknown) => void = () => undefined;
    const all = new Promise((resolve) => (onAll = resolve));
    const count = () => {
      if (++arrived === 20) setImmediate(onAll);
    };
    subscribe('http.server.request.start', count);
    jest.spyOn(metrics, 'expose').mockImplementation(async () => {
      reads += 1;
      await all;
      return expose();
    });
    const server = await startMetricsServer({ address: { host: '127.0.0.1', port: 0 }, metrics, log });
    const scrapes = await Promise.all(
      Array.from({ length: 20 }, () =>
        fetch(`http://127.0.0.1:${server.port}/metrics`).then((answer) => answer.text()),
      ),
    );
    expect(new Set(scrapes).size).toBe(1);
    expect(reads).toBe(1);
    unsubscribe('http.server.request.start', count);
    await server.close();
  });
});
