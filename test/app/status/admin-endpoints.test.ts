import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { HealthState } from '../../../src/admin/health-state';
import type { AdminBackend } from '../../../src/admin/model/backend';
import { Alarms } from '../../../src/app/alarms/alarms';
import type { Config } from '../../../src/app/config';
import { withClosers } from '../../../src/app/lifecycle/closers';
import { TaskGroup } from '../../../src/app/lifecycle/task-group';
import { openListeners, startEndpoints } from '../../../src/app/status/admin-endpoints';
import { loadMetrics } from '../../../src/app/status/load-metrics';
import { NodeDriver } from '../../core/transition/node-driver';
import { sampleStatus } from '../../admin/sample-status';
import { findFreePort } from '../../support/free-port';

const log = pino({ level: 'silent' });
let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'endpoints-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const configOf = (more: Partial<Config> = {}): Config =>
  ({ adminSocket: join(folder, 'admin.sock'), kubeletRootDir: folder, ...more }) as Config;

/** Opens the endpoints, does the work, and closes them. */
async function whileServing(
  config: Config,
  work: (health: HealthState, alarms: Alarms) => Promise<void>,
): Promise<void> {
  const health = new HealthState();
  const alarms = new Alarms({ log, now: () => '2026-01-01T00:00:00Z', onChange: () => undefined });
  const backend = { status: () => sampleStatus } as unknown as AdminBackend;
  await withClosers(async (onClose) => {
    const listeners = await openListeners(config, { log, onClose });
    const metrics = await loadMetrics(config, { status: () => sampleStatus, node: new NodeDriver().model });
    const context = { config, health, alarms, log };
    const tasks = new TaskGroup(new AbortController().signal);
    await startEndpoints({ context, status: { backend, metrics }, listeners, live: { config }, onClose }, tasks);
    await work(health, alarms);
  });
}

test('the sockets exist once the listeners are open, and are removed at the end', async () => {
  const config = configOf({ podResourcesSocket: join(folder, 'pod-resources.sock') });
  await withClosers(async (onClose) => {
    await openListeners(config, { log, onClose });
    const client = connect(config.adminSocket);
    await once(client, 'connect');
    client.destroy();
    expect(existsSync(config.podResourcesSocket!)).toBe(true);
  });
  expect([config.adminSocket, config.podResourcesSocket!].filter((path) => existsSync(path))).toEqual([]);
});

test('a socket with another listener stops the start', async () => {
  const other = createServer().listen(join(folder, 'admin.sock'));
  await once(other, 'listening');
  const opening = withClosers((onClose) => openListeners(configOf(), { log, onClose }));
  await expect(opening).rejects.toMatchObject({ name: 'CpusetdError' });
  other.close();
});

test('health is SERVING once the endpoints serve', async () => {
  await whileServing(configOf(), async (health) => {
    expect([health.get(''), health.get('cpusetd.v1.CpuManager')]).toEqual(['SERVING', 'SERVING']);
  });
});

test('metrics are served at their address, and not loaded without one', async () => {
  const port = await findFreePort();
  const config = configOf({ metricsAddress: { host: '127.0.0.1', port } });
  await whileServing(config, async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    expect(await answer.text()).toContain('cpusetd_');
  });
  expect(await loadMetrics(configOf(), { status: () => sampleStatus, node: new NodeDriver().model })).toBeUndefined();
});

test('a metrics port in use is an alarm with the option’s name, and the rest serves', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  await whileServing(configOf({ metricsAddress: { host: '127.0.0.1', port } }), async (health, alarms) => {
    expect(alarms.list()).toMatchObject([
      { kind: 'not-listening', because: expect.stringContaining('--metrics-address') },
    ]);
    expect(health.get('')).toBe('SERVING');
  });
  other.close();
});
