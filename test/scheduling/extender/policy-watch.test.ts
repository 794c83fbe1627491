import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { PolicyWatch } from '../../../src/scheduling/extender/policy-watch';
import type { SchedulerPolicy } from '../../../src/scheduling/policy/policy';
import { waitUntil } from '../../support/wait-until';

const first: SchedulerPolicy = { syncPolicy: [], predicate: [], priority: [], hotValue: [] };
const textOf = (limit: string): string => `apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy: [{ name: cpu_usage_avg_5m, period: 3m }]
  predicate: [{ name: cpu_usage_avg_5m, maxLimitPecent: ${limit} }]
  priority: []
  hotValue: []
`;

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'policy-watch-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Follows the file. */
function watch(path: string) {
  const reloads: string[] = [];
  const lines: { readonly msg: string; readonly problems?: readonly string[] }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
  const policy = new PolicyWatch({ path, first, onReload: (result) => reloads.push(result), log, lookMs: 20 });
  return { policy, reloads, lines, limit: () => policy.current().predicate[0]?.maxLimit };
}

test('given a file that changes: it comes into force; given one with mistakes: the policy before stays, and the log has them', async () => {
  const path = join(folder, 'policy.yaml');
  writeFileSync(path, textOf('0.5'));
  const { policy, reloads, lines, limit } = watch(path);
  try {
    expect(policy.current()).toBe(first); // the caller has read the file; it has changed since then
    await waitUntil('the limit of the file', () => limit() === 0.5);
    writeFileSync(path, textOf('0.75'));
    await waitUntil('the new limit', () => limit() === 0.75);
    expect(reloads).toEqual(['ok', 'ok']);
    expect(policy.isRefused).toBe(false);
    writeFileSync(path, textOf('many'));
    await waitUntil('the refusal', () => reloads.length === 3);
    expect(reloads).toEqual(['ok', 'ok', 'failed']);
    expect(limit()).toBe(0.75);
    expect(policy.isRefused).toBe(true);
    expect(lines.at(-1)?.problems).toEqual([expect.stringContaining(`${path}:5: spec.predicate[0].maxLimitPecent`)]);
    writeFileSync(path, textOf('0.75')); // as it is in force, so nothing is reloaded
    await waitUntil('the mistakes are gone', () => !policy.isRefused);
    expect(reloads).toEqual(['ok', 'ok', 'failed']);
  } finally {
    policy.close();
  }
});

test('given a mounted ConfigMap, which changes by a link to another folder: it is read again', async () => {
  // The kubelet renames `..data_tmp` to `..data` (pkg/volume/util/atomic_writer.go).
  const write = (version: string, limit: string): void => {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'policy.yaml'), textOf(limit));
    symlinkSync(version, join(folder, '..data_tmp'));
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'));
  };
  write('..v1', '0.5');
  symlinkSync('..data/policy.yaml', join(folder, 'policy.yaml'));
  const { policy, limit } = watch(join(folder, 'policy.yaml'));
  try {
    await waitUntil('the first limit', () => limit() === 0.5);
    write('..v2', '0.8');
    await waitUntil('the new limit', () => limit() === 0.8);
  } finally {
    policy.close();
  }
});
