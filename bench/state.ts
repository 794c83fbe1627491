// Measures a durable save beside the least that durability takes: 4 kB written, synced, renamed, directory synced.
// Both alternate on the same directory, so that noise of the machine hits them alike. Ratios carry over, times do not.
import { closeSync, fsyncSync, mkdtempSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CpuSet } from '../src/core/cpuset';
import type { Assignment } from '../src/core/model/assignment';
import { openStateStore, type StateStore } from '../src/state';
import { percentile } from '../test/support/percentile';

const ROUNDS = process.argv.includes('--quick') ? 20 : 1_000;
const WARM_UP = 50;
const RAW_BYTES = Buffer.alloc(4096, 'x');

function makeAssignment(i: number): Assignment {
  return {
    podUid: `7d5c9a52-1a63-4a71-9f3e-${i.toString(16).padStart(12, '0')}`,
    podNamespace: 'default',
    podName: `web-${i}`,
    containerName: 'main',
    kind: 'static',
    cpus: CpuSet.of([2 * i, 2 * i + 1]),
    mems: CpuSet.of([0]),
    requested: 2,
    containerId: i.toString(16).padStart(64, '0'),
    quotaLifted: true,
    rules: { policy: 'static', options: ['full-pcpus-only'], reserved: CpuSet.of([0, 1]) },
    because: 'Guaranteed pod asks for 2 whole CPUs: whole cores of NUMA node 0',
    since: '2026-11-21T09:30:00Z',
  };
}

function saveRaw(dir: string): void {
  const fd = openSync(join(dir, 'raw.tmp'), 'w', 0o600);
  writeSync(fd, RAW_BYTES);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(join(dir, 'raw.tmp'), join(dir, 'raw'));
  const dirFd = openSync(dir, 'r');
  fsyncSync(dirFd);
  closeSync(dirFd);
}

function saveState(store: StateStore, generation: number, assignments: readonly Assignment[]): void {
  const saved = store.save({ generation, assignments });
  if (!saved.ok) throw new Error(saved.because);
}

function timeUs(act: () => void): number {
  const start = process.hrtime.bigint();
  act();
  return Number(process.hrtime.bigint() - start) / 1_000;
}

function measure(dir: string, count: number): void {
  const opened = openStateStore({ dir, version: '0.0.0-bench' });
  if (!opened.ok) throw new Error(opened.because);
  const assignments = Array.from({ length: count }, (_, i) => makeAssignment(i));
  const raw: number[] = [];
  const saves: number[] = [];
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    // As in a decision: one assignment is new, the others are what they were.
    assignments[Math.abs(round) % count] = makeAssignment(Math.abs(round) % count);
    const save = (): number => timeUs(() => saveState(opened.store, round + WARM_UP, assignments));
    const rawFirst = round % 2 === 0;
    const before = rawFirst ? timeUs(() => saveRaw(dir)) : save();
    const after = rawFirst ? save() : timeUs(() => saveRaw(dir));
    const [rawUs, saveUs] = rawFirst ? [before, after] : [after, before];
    if (round < 0) continue;
    raw.push(rawUs);
    saves.push(saveUs);
  }
  const row = (share: number): string => {
    const [rawUs, saveUs] = [percentile(raw, share), percentile(saves, share)];
    return `${saveUs.toFixed(0).padStart(6)} / ${rawUs.toFixed(0).padStart(6)} = ${(saveUs / rawUs).toFixed(2)}`;
  };
  console.log(`${String(count).padStart(4)} assignments   p50 ${row(0.5)}   p99 ${row(0.99)}`);
}

const dir = mkdtempSync(join(tmpdir(), 'cpusetd-bench-state-'));
try {
  console.log(`save / raw 4 kB, in µs, ${ROUNDS} rounds; target at p50 for small states: at most 1.30`);
  for (const count of [1, 10, 500]) measure(dir, count);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
