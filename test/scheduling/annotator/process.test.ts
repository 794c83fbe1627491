import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBundle } from '../../cli/run-bundle';
import { readLease } from '../../../src/kube/leases/lease';
import { builtBundle } from '../../support/built-bundle';
import { slowness, waitUntil, within } from '../../support/wait-until';
import { LEASES, Rig } from './rig';

// The built command as a process.

let rig: Rig;
const folder = mkdtempSync(join(tmpdir(), 'annotator-process-'));
const policy = join(folder, 'policy.yaml');
beforeAll(() => {
  builtBundle();
  writeFileSync(
    policy,
    `apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy: [{ name: cpu_usage_avg_5m, period: 3m }]
  hotValue: [{ timeRange: 5m, count: 5 }]
`,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(async () => {
  rig = await Rig.start();
  rig.addNode('n1');
  rig.prometheus.series.set('cpu_usage_avg_5m', [{ instance: 'n1', value: 50 }]);
});
afterEach(() => rig.close());

function start(more: readonly string[] = []): ReturnType<typeof startBundle> {
  return startBundle([
    ...['annotator', '--policy-config-path', policy, '--prometheus-address', rig.prometheus.address],
    ...['--kubeconfig', rig.kubeconfig, '--health-port', '0', '--time-zone', 'Asia/Shanghai'],
    ...more,
  ]);
}
const holder = (): string => readLease(rig.api.listAll(LEASES)[0]).holder;
const isWritten = (): boolean => rig.annotations('n1')['cpu_usage_avg_5m'] !== undefined;

test('given SIGTERM: the lease is released, and the exit status is 0', async () => {
  const annotator = start();
  await waitUntil('n1 is written', isWritten);
  expect(holder()).toMatch(/^.+_[0-9a-f-]{36}$/);
  // The Z is a letter: the time is that of the zone.
  const [, stamp] = rig.annotations('n1')['cpu_usage_avg_5m']!.split(',');
  expect(Math.abs(Date.parse(stamp!) - Date.now() - 8 * 3_600_000)).toBeLessThan(60_000);
  annotator.kill('SIGTERM');
  expect(await within('the end', annotator.ended)).toEqual({ status: 0, stderr: '' });
  expect(holder()).toBe('');
});

test('given a lease that is lost: the process ends with status 1 and a line at error', async () => {
  const unit = Math.ceil(slowness()); // a busy machine renews in time too
  const times = ['--leader-elect-lease-duration', `${2 * unit}s`, '--leader-elect-renew-deadline', `${unit}s`];
  const annotator = start([...times, '--leader-elect-retry-period', '200ms']);
  await waitUntil('n1 is written', isWritten);
  const [lease] = rig.api.listAll(LEASES);
  rig.api.put(LEASES, { ...lease, spec: { holderIdentity: 'thief', leaseDurationSeconds: 15 } });
  expect(await within('the end', annotator.ended)).toEqual({ status: 1, stderr: '' });
  const lines: string[] = [];
  for (let line = await annotator.nextLine(); line !== undefined; line = await annotator.nextLine())
    lines.push(line as string);
  const last = JSON.parse(lines.at(-1)!) as object;
  expect(last).toMatchObject({
    level: 'error',
    because: 'thief holds it',
    msg: 'the lease is lost: nothing is written any more',
  });
  expect(holder()).toBe('thief');
});

test('given a process that is stopped for longer than its lease: it writes nothing when it goes on, and ends with status 1', async () => {
  const names = Array.from({ length: 200 }, (_, n) => `n${n}`);
  for (const name of names) rig.addNode(name);
  rig.prometheus.series.set(
    'cpu_usage_avg_5m',
    names.map((instance) => ({ instance, value: 50 })),
  );
  rig.api.trouble = ({ method }) => (method === 'PATCH' ? { delayMs: 20 } : undefined);
  const unit = Math.ceil(slowness()); // a busy machine renews in time too
  const times = ['--leader-elect-lease-duration', `${2 * unit}s`, '--leader-elect-renew-deadline', `${unit}s`];
  const annotator = start([...times, '--leader-elect-retry-period', '200ms', '--concurrent-syncs', '2']);
  await waitUntil('some are written', () => rig.patches.length > 20);
  // Both of its writes wait for an answer, which comes while it is stopped: none is between its check of the lease and
  // the network.
  rig.api.trouble = ({ method }) => (method === 'PATCH' ? { delayMs: 1_000 } : undefined);
  const sent = rig.patches.length;
  await waitUntil('both wait', () => rig.patches.length === sent + 2);
  annotator.kill('SIGSTOP');
  await new Promise((resolve) => setTimeout(resolve, 2_500 * unit));
  const before = rig.patches.length;
  const [lease] = rig.api.listAll(LEASES);
  rig.api.put(LEASES, { ...lease, spec: { holderIdentity: 'other', leaseDurationSeconds: 15 } });
  annotator.kill('SIGCONT');
  expect(await within('the end', annotator.ended)).toMatchObject({ status: 1 });
  expect(before).toBeLessThan(names.length);
  expect(rig.patches).toHaveLength(before);
});
