import { RepairHistory } from '../../../src/app/reconcile/repair-history';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { MAX_REPAIRS } from '../../../src/core/verdict/repair-backoff';

const promise = { cpus: parseCpuList('1,5'), mems: CpuSet.empty };
let history: RepairHistory;
beforeEach(() => (history = new RepairHistory()));

/** Decides until the answer is another than to repair. Returns it, with the number of repairs. */
function repairUntilRefused(id: string): { repairs: number; action: string } {
  for (let repairs = 0; ; repairs++) {
    const { action } = history.decideRepair(id, { promise, nowMs: 1_000 + repairs, written: true });
    if (action !== 'repair') return { repairs, action };
    history.settle(id, 1_000 + repairs);
    if (repairs > 10 * MAX_REPAIRS) throw new Error('repairs without end');
  }
}

test('a container that another writer changes again and again is not repaired without end', () => {
  const { repairs } = repairUntilRefused('a');
  expect(repairs).toBeGreaterThan(0);
  expect(repairs).toBeLessThanOrEqual(MAX_REPAIRS);
  expect(history.repairsOf('a')).toBe(repairs);
});

test('containers have separate histories', () => {
  repairUntilRefused('a');
  expect(history.repairsOf('b')).toBe(0);
  expect(history.decideRepair('b', { promise, nowMs: 2_000, written: true }).action).toBe('repair');
});

test('a repair that has to wait is due once', () => {
  expect(repairUntilRefused('a').action).toBe('wait');
  const dueMs = history.nextDueMs!;
  expect(history.takeDue(dueMs - 1)).toEqual([]);
  expect(history.takeDue(dueMs)).toEqual(['a']);
  expect({ again: history.takeDue(dueMs), next: history.nextDueMs }).toEqual({ again: [], next: undefined });
});

test('a repair that is made before it was due is not due any more', () => {
  repairUntilRefused('a');
  const dueMs = history.nextDueMs!;
  expect(history.decideRepair('a', { promise, nowMs: dueMs, written: true }).action).toBe('repair');
  expect(history.nextDueMs).toBeUndefined();
});

test('a container that is as promised meanwhile has no repair that is due', () => {
  repairUntilRefused('a');
  history.settle('a', 2_000);
  expect(history.nextDueMs).toBeUndefined();
});

test('the history of a container that is gone is forgotten, with the time at which its repair was due', () => {
  repairUntilRefused('a');
  history.keepOnly(new Map());
  expect({ next: history.nextDueMs, repairs: history.repairsOf('a') }).toEqual({ next: undefined, repairs: 0 });
});
