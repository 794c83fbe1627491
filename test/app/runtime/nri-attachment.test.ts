import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';

import { HealthState } from '../../../src/admin/health-state';
import type { Attachment, AttachmentParts } from '../../../src/app/runtime/attachment';
import { NriAttachment } from '../../../src/app/runtime/nri-attachment';
import type { RuntimeEvent } from '../../../src/core/model/events';
import type { LiveCpusets } from '../../../src/core/transition';
import { openCgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';
import { NriRuntime } from '../../support/nri-runtime';
import { waitUntil } from '../../support/wait-until';

let folder: string;
let stop: AbortController;
let attachment: Attachment | undefined;
let ended: Promise<void> | undefined;
let told: string[];
/** The states that status showed. */
let shown: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'attach-'));
  writeFileSync(join(folder, 'cgroup.controllers'), 'cpuset cpu');
  stop = new AbortController();
  told = [];
  shown = [];
});
afterEach(async () => {
  stop.abort();
  await ended;
  attachment = undefined;
  rmSync(folder, { recursive: true });
});

/** Attached to what listens at the socket; `told` is what the node gets to know. */
function attach(): { health: HealthState; attachment: Attachment } {
  const health = new HealthState();
  const context = contextOf({
    model: new NodeDriver().model,
    config: { nriSocket: join(folder, 'nri.sock'), nriPluginName: 'cpusetd', nriPluginIndex: '50' },
    cgroups: openCgroups({ cgroupRoot: folder }),
    health,
  });
  context.events.on('changed', 'showing', () => void shown.push(attachment?.facts.nri.state ?? 'connecting'));
  attachment = new NriAttachment({
    context,
    transactor: {
      handleAll: (events: readonly RuntimeEvent[], live?: LiveCpusets) =>
        events.map(({ kind }) => {
          told.push([kind, ...(live ? [...live.values()].map((cpus) => cpus.toString()) : [])].join(' '));
          return { kind: 'ok' };
        }),
    },
    // Each new pod has a pause container.
    pauses: {
      withPause: (event: RuntimeEvent) =>
        event.kind === 'pod-started' ? [event, { kind: 'pauses-found', pauses: [] }] : [event],
    },
    gap: { begin: () => void told.push('gap begins'), end: () => void told.push('gap ends') },
    client: { connection: { state: 'off', since: '', reason: '' } },
  } as unknown as AttachmentParts);
  ended = attachment.run(stop.signal);
  return { health, attachment };
}

describe('the first contact', () => {
  test('is had when the runtime has told of its containers, and health says so by then', async () => {
    const runtime = await NriRuntime.listen({ socketPath: join(folder, 'nri.sock') });
    const { attachment, health } = attach();
    expect(health.get('nri')).toBe('NOT_SERVING');
    await attachment.firstContact;
    expect(health.get('nri')).toBe('SERVING');
    await runtime.close();
  });

  test('is over at once when there is no socket', async () => {
    const { attachment, health } = attach();
    await attachment.firstContact;
    expect(health.get('nri')).toBe('NOT_SERVING');
    expect(attachment.facts.nri.reason).toContain('nri.sock');
  });

  test('is still to come while a runtime that took the connection says nothing', async () => {
    const server = createServer((socket) => socket.on('error', () => undefined)).listen(join(folder, 'nri.sock'));
    const connected = new Promise((resolve) => server.once('connection', resolve));
    const { attachment } = attach();
    await connected;
    const waiting = Symbol('waiting');
    expect(await Promise.race([attachment.firstContact, turn(waiting)])).toBe(waiting);
    stop.abort();
    await ended;
    server.close();
  });
});

describe('a connection', () => {
  const socketPath = (): string => join(folder, 'nri.sock');
  const makeCgroup = (path: string, list: string): void => {
    mkdirSync(join(folder, path), { recursive: true });
    for (const name of ['cpus', 'cpus.effective', 'mems', 'mems.effective'])
      writeFileSync(join(folder, path, `cpuset.${name}`), name.startsWith('cpus') ? list : '0');
  };

  test('the node is told of running containers with the CPUs that they have, and the gap ends by that', async () => {
    const before = await NriRuntime.listen({ socketPath: socketPath() });
    const running = await before.createContainer(await before.runPod({ name: 'web' }), { name: 'app' });
    await before.startContainer(running);
    makeCgroup(running.linux!.cgroupsPath, '2-3');
    await before.close();
    const runtime = await NriRuntime.listen({ socketPath: socketPath() });
    runtime.adopt(before);
    const { attachment } = attach();
    await attachment.firstContact;
    expect(told.filter((line, i) => line !== told[i - 1])).toEqual(['gap begins', 'synchronize 2-3', 'gap ends']);

    told.length = 0;
    await runtime.runPod({ name: 'new' });
    expect(told).toEqual(['pod-started', 'pauses-found']); // nothing is read for what is asked all the time
    await runtime.close();
    await waitUntil(() => told.length > 2);
    expect(told[2]).toBe('gap begins');
  });

  test('how far it is can be told', async () => {
    const { attachment, health } = attach();
    expect(attachment.facts.nri.state).toBe('connecting');
    const runtime = await NriRuntime.listen({ socketPath: socketPath() });
    await waitUntil(() => health.get('nri') === 'SERVING');
    expect(shown.filter((state, i) => state !== shown[i - 1])).toEqual(['connecting', 'synchronizing', 'ready']);
    expect(attachment.facts).toMatchObject({ runtimeName: 'containerd', runtimeVersion: '2.3.4' });
    await runtime.close();
  });

  test('is given up for a new one when containers are unknown, but not before it has lasted half a minute', async () => {
    const runtime = await NriRuntime.listen({ socketPath: socketPath() });
    const { attachment } = attach();
    await attachment.firstContact;
    const now = jest.spyOn(Date, 'now');
    try {
      const sinceMs = Date.parse(attachment.facts.nri.since);
      let dropped = 0;
      runtime.on('dropped', () => dropped++);
      now.mockReturnValue(sinceMs + 29_999);
      attachment.resynchronize();
      await runtime.runPod({ name: 'served' });
      expect([dropped, ...told.slice(-2)]).toEqual([0, 'pod-started', 'pauses-found']);
      now.mockReturnValue(sinceMs + 30_000);
      attachment.resynchronize();
      await waitUntil(() => told.filter((line) => line === 'synchronize').length === 2 && dropped > 0);
      expect(dropped).toBe(1);
    } finally {
      now.mockRestore();
    }
    await runtime.close();
  });
});
