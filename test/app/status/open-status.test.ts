import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { StatusChange } from '../../../src/admin/model/status';
import { GapTracker } from '../../../src/app/status/gap-tracker';
import { openStatus, type NodeStatus } from '../../../src/app/status/open-status';
import { NodeModel } from '../../../src/core/model/node-model';
import type { Cgroups } from '../../../src/host';
import { sampleLent, sampleQos, sampleUsage } from '../../admin/sample-status';
import { machineOf } from '../../core/transition/node-driver';
import { SETTINGS } from '../../simulation/node-history';
import { contextOf } from '../../support/daemon-context';
import { factsAt } from '../../support/facts-at';

let stateDir: string;
let closers: (() => unknown)[];
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'status-'));
  closers = [];
});
afterEach(async () => {
  for (const close of closers.reverse()) await close();
  rmSync(stateDir, { recursive: true, force: true });
});

async function open(): Promise<NodeStatus> {
  const config = { stateDir, sysfsRoot: stateDir, mode: 'nri' };
  const context = contextOf({ model: new NodeModel(machineOf(4, 2), SETTINGS), cgroups: {} as Cgroups, config });
  return await openStatus({
    context,
    gap: { current: undefined, note: () => undefined } as unknown as GapTracker,
    identities: { revision: 0, has: () => false },
    facts: () => factsAt('2026-01-01T00:00:00Z'),
    options: { pending: [] },
    settings: () => ({}),
    onClose: (close) => closers.push(close),
  });
}

test('usage, rules and what is lent are shown while there is something to show', async () => {
  const status = await open();
  const node = () => status.backend.status().node;
  expect(Object.keys(node()).filter((key) => ['usage', 'qos', 'lent'].includes(key))).toEqual([]);
  let isOn = true;
  status.showUsage(() => (isOn ? sampleUsage : undefined));
  status.showQos(() => (isOn ? sampleQos : undefined));
  status.showLent(() => (isOn ? sampleLent : undefined));
  expect(node()).toMatchObject({ usage: sampleUsage, qos: sampleQos, lent: sampleLent });
  expect(status.backend.topology().node).toEqual(node());
  isOn = false;
  expect(Object.keys(node()).filter((key) => ['usage', 'qos', 'lent'].includes(key))).toEqual([]);
});

test('given a touch, watchers are told of a new reading once, and of the same reading not at all', async () => {
  const status = await open();
  let usage = sampleUsage;
  status.showUsage(() => usage);
  const changes: StatusChange[] = [];
  const unwatch = status.backend.watch((change) => changes.push(change));
  status.touch();
  await setImmediate();
  expect(changes).toEqual([]);
  usage = { ...sampleUsage, at: '2026-11-21T10:00:10.000Z' };
  status.touch();
  status.touch();
  await setImmediate();
  expect(changes).toMatchObject([{ kind: 'node', node: { usage } }]);
  unwatch();
});
