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
let reported: string[];
/** The connection states that status showed. */
let shown: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'attach-'));
  writeFileSync(join(folder, 'cgroup.controllers'), 'cpuset cpu');
  stop = new AbortController();
  reported = [];
  shown = [];
});
afterEach(async () => {
  stop.abort();
  await ended;
  attachment = undefined;
  rmSync(folder, { recursive: true });
});

/** Attaches to the NRI socket. `reported` lists the events that reach the transactor, and the gap. */
function attach(onUnanswered = 'allow'): { health: HealthState; attachment: Attachment; alarms: () => string[] } {
  const health = new HealthState();
  const context = contextOf({
    model: new NodeDriver().model,
    config: { nriSocket: join(folder, 'nri.sock'), nriPluginName: 'cpusetd', nriPluginIndex: '50', onUnanswered },
    cgroups: openCgroups({ cgroupRoot: folder }),
    health,
  });
  context.events.on('changed', 'showing', () => void shown.push(attachment?.facts.nri.state ?? 'connecting'));
  attachment = new NriAttachment({
    context,
    transactor: {
      handleAll: (events: readonly RuntimeEvent[], live?: LiveCpusets) =>
        events.map(({ kind }) => {
          reported.push([kind, ...(live ? [...live.values()].map((cpus) => cpus.toString()) : [])].join(' '));
          return { kind: 'ok' };
        }),
    },
    // Each new pod has a pause container.
    pauses: {
      withPause: (event: RuntimeEvent) =>
        event.kind === 'pod-started' ? [event, { kind: 'pauses-found', pauses: [] }] : [event],
    },
    gap: { begin: () => void reported.push('gap begins'), end: () => void reported.push('gap ends') },
    client: { connection: { state: 'off', since: '', reason: '' } },
  } as unknown as AttachmentParts);
  ended = attachment.run(stop.signal);
  return { health, attachment, alarms: () => context.alarms.list().map(({ kind, because }) => `${kind} ${because}`) };
}

describe('firstContact', () => {
  test('resolves when the runtime has listed its containers; health is SERVING by then', async () => {
    const runtime = await NriRuntime.listen({ socketPath: join(folder, 'nri.sock') });
    const { attachment, health } = attach();
    expect(health.get('nri')).toBe('NOT_SERVING');
    await attachment.firstContact;
    expect(health.get('nri')).toBe('SERVING');
    await runtime.close();
  });

  test('resolves at once when there is no socket', async () => {
    const { attachment, health } = attach();
    await attachment.firstContact;
    expect(health.get('nri')).toBe('NOT_SERVING');
    expect(attachment.facts.nri.reason).toContain('nri.sock');
  });

  test('stays pending while a runtime accepts the connection and sends nothing', async () => {
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

describe.each`
  onUnanswered | sent
  ${'allow'}   | ${undefined}
  ${'refuse'}  | ${{ failRequest: true, keepConnected: true }}
`('on-unanswered $onUnanswered', ({ onUnanswered, sent }: { onUnanswered: string; sent?: object }) => {
  test.each`
    nriVersion         | refused
    ${undefined}       | ${/^requests-allowed containerd 2\.1\.4 has an NRI before 0\.12, which ignores --on-unanswered refuse/}
    ${'v0.12.3'}       | ${/^requests-allowed containerd 2\.1\.4 has NRI v0\.12\.3, which ignores/}
    ${'v0.12.4'}       | ${/^$/}
    ${'0.0.0-unknown'} | ${/^$/}
  `('the policy is sent to NRI $nriVersion, with an alarm where that ignores it', async ({ nriVersion, refused }) => {
    const options = {
      socketPath: join(folder, 'nri.sock'),
      version: '2.1.4',
      nriVersion: nriVersion as string | undefined,
    };
    const runtime = await NriRuntime.listen(options);
    const { attachment, alarms } = attach(onUnanswered);
    await attachment.firstContact;
    expect((await runtime.plugin()).failurePolicy).toEqual(sent);
    expect(alarms().join()).toMatch(sent ? (refused as RegExp) : /^$/);
    await runtime.close();
  });

  test('the alarm is over when a newer runtime connects', async () => {
    const socketPath = join(folder, 'nri.sock');
    const before = await NriRuntime.listen({ socketPath, nriVersion: 'v0.12.3' });
    const { attachment, alarms } = attach(onUnanswered);
    await attachment.firstContact;
    expect(alarms()).toHaveLength(sent ? 1 : 0);
    await before.close();
    const after = await NriRuntime.listen({ socketPath, nriVersion: 'v0.12.5' });
    await after.plugin();
    await waitUntil(() => attachment.facts.nri.state === 'ready');
    expect(alarms()).toEqual([]);
    await after.close();
  });
});

describe('the connection', () => {
  const socketPath = (): string => join(folder, 'nri.sock');
  const makeCgroup = (path: string, list: string): void => {
    mkdirSync(join(folder, path), { recursive: true });
    for (const name of ['cpus', 'cpus.effective', 'mems', 'mems.effective'])
      writeFileSync(join(folder, path, `cpuset.${name}`), name.startsWith('cpus') ? list : '0');
  };

  test('synchronize carries the CPUs of running containers, and the gap ends after it', async () => {
    const before = await NriRuntime.listen({ socketPath: socketPath() });
    const running = await before.createContainer(await before.runPod({ name: 'web' }), { name: 'app' });
    await before.startContainer(running);
    makeCgroup(running.linux!.cgroupsPath, '2-3');
    await before.close();
    const runtime = await NriRuntime.listen({ socketPath: socketPath() });
    runtime.adopt(before);
    const { attachment } = attach();
    await attachment.firstContact;
    expect(reported.filter((line, i) => line !== reported[i - 1])).toEqual([
      'gap begins',
      'synchronize 2-3',
      'gap ends',
    ]);

    reported.length = 0;
    await runtime.runPod({ name: 'new' });
    expect(reported).toEqual(['pod-started', 'pauses-found']); // no cgroup is read for other events
    await runtime.close();
    await waitUntil(() => reported.length > 2);
    expect(reported[2]).toBe('gap begins');
  });

  test('status shows connecting, synchronizing and ready, then the name and version of the runtime', async () => {
    const { attachment, health } = attach();
    expect(attachment.facts.nri.state).toBe('connecting');
    const runtime = await NriRuntime.listen({ socketPath: socketPath() });
    await waitUntil(() => health.get('nri') === 'SERVING');
    expect(shown.filter((state, i) => state !== shown[i - 1])).toEqual(['connecting', 'synchronizing', 'ready']);
    expect(attachment.facts).toMatchObject({ runtimeName: 'containerd', runtimeVersion: '2.3.4' });
    await runtime.close();
  });

  test('resynchronize makes a new connection, but only when this one is 30 s old', async () => {
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
      expect([dropped, ...reported.slice(-2)]).toEqual([0, 'pod-started', 'pauses-found']);
      now.mockReturnValue(sinceMs + 30_000);
      attachment.resynchronize();
      await waitUntil(() => reported.filter((line) => line === 'synchronize').length === 2 && dropped > 0);
      expect(dropped).toBe(1);
    } finally {
      now.mockRestore();
    }
    await runtime.close();
  });
});
