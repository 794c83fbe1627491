import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  OPTION_KEYS,
  LiveOptions,
  loadConfig,
  nameOf,
  OPTIONS,
  restartReason,
  type Loaded,
} from '../../../src/app/config';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'live-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = (): string => join(folder, 'cpusetd.yaml');

async function load(text: string, flags: Readonly<Record<string, string>> = {}): Promise<Loaded> {
  writeFileSync(path(), text);
  const given = Object.fromEntries(Object.entries(flags).map(([name, value]) => [name, [value]]));
  const loaded = await loadConfig({ flags: { config: [path()], ...given }, env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  return loaded;
}

/** The proposal when the file changes from one text to another. */
async function change(from: string, to: string, flags?: Readonly<Record<string, string>>) {
  const live = new LiveOptions(await load(from, flags));
  const proposal = live.propose(await load(to, flags));
  return { live, proposal };
}

const waiting = (list: readonly { readonly option: string; readonly because: string }[]): readonly string[] =>
  list.map(({ option, because }) => `${option}: ${because}`);

test('a file that says the same changes nothing, however it says it', async () => {
  const { proposal } = await change('reserved-cpus: 0,1\n', '# reserved\n\nreserved-cpus: [0, 1]\nlog-level: info\n');
  expect(proposal).toMatchObject({ changes: [], pending: [] });
  // A message names the new place.
  expect(proposal.chosen.get('reserved-cpus')?.origin).toMatchObject({ line: 3 });
});

test('options that can be changed live are in the proposal with both values, and those that can not wait with the reason', async () => {
  const { proposal } = await change(
    'reserved-cpus: 0\nmin-shared-cpus: 2\n',
    'reserved-cpu-count: 2\ncgroup-writes: off\nprocess-metrics: off\nreconcile-period: 1s\n',
  );
  expect(proposal.changes).toEqual([
    { option: 'reserved-cpus', from: '0', to: '' },
    { option: 'reserved-cpu-count', from: '', to: '2' },
    { option: 'min-shared-cpus', from: '2', to: '1' },
    { option: 'reconcile-period', from: '10s', to: '1s' },
  ]);
  expect(proposal.config).toMatchObject({
    reservedCpus: undefined,
    reservedCpuCount: 2,
    minSharedCpus: 1,
    reconcilePeriodMs: 1_000,
    cgroupWrites: true,
    processMetrics: true,
  });
  expect(waiting(proposal.pending)).toEqual([
    'cgroup-writes: cgroup-writes decides how the runtime is connected, and containers would start unpinned while that changes',
    'process-metrics: process-metrics is read once, at the start',
  ]);
});

test('a flag wins over the new file too', async () => {
  const { proposal } = await change('reserved-cpus: 0\n', 'reserved-cpus: 0\nlog-level: debug\n', {
    'log-level': 'warn',
  });
  expect(proposal).toMatchObject({ changes: [], config: { logLevel: 'warn' } });
});

test('options that fit only together with one that needs a restart wait with it', async () => {
  const { proposal } = await change(
    'reserved-cpus: 0\n',
    'kubeconfig: in-cluster\nkube-events: on\nreserved-cpus: 0\nmin-shared-cpus: 2\n',
  );
  expect(proposal).toMatchObject({
    changes: [],
    config: { kubeEvents: false, minSharedCpus: 1, kubeconfig: undefined },
  });
  expect(waiting(proposal.pending)).toEqual([
    'min-shared-cpus: it fits only together with kubeconfig, which needs a restart',
    'kube-events: it fits only together with kubeconfig, which needs a restart',
    'kubeconfig: kubeconfig decides how the API server is followed, which begins at the start',
  ]);
});

test('what waits is compared with what is in force, and is over when the file says that again', async () => {
  const { live, proposal } = await change(
    'reserved-cpus: 0\n',
    'reserved-cpus: 0\ncgroup-writes: off\nlog-level: warn\n',
  );
  live.take(proposal);
  expect(live.pending).toHaveLength(1);
  expect(live.inForce.options).toMatchObject({ 'cgroup-writes': 'on', 'log-level': 'warn' });
  live.take(live.propose(await load('reserved-cpus: 0\nlog-level: warn\n')));
  expect(live.pending).toEqual([]);
  expect(live.inForce.setAt['log-level']).toBe(`${path()}:2: log-level`);
});

test('every option says how it is changed, and each reason goes on from its name', () => {
  const reasons = new Map(OPTION_KEYS.map((key) => [nameOf(key), restartReason(key)]));
  for (const name of ['cpu-manager-policy', 'reserved-cpus', 'log-level']) expect(reasons.get(name)).toBeUndefined();
  for (const name of ['mode', 'state-dir', 'metrics-address', 'process-metrics'])
    expect(reasons.get(name)).toMatch(/^(?:is|decides) [^.]+[^.]$/);
  expect(Object.keys(OPTIONS)).toHaveLength(reasons.size);
});
