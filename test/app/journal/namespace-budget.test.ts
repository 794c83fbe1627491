import { NamespaceBudget } from '../../../src/app/journal/namespace-budget';

const limits = { burst: 3, refillMs: 1_000, namespaces: 3 };

test('a namespace may write a burst, then one record in each period; the records in between are counted', () => {
  const budget = new NamespaceBudget(limits);
  const take = (nowMs: number) => budget.take('a', nowMs);
  expect([0, 0, 0].map(take)).toEqual(Array(3).fill({ ok: true, missed: 0 }));
  expect([0, 500, 900].map(take)).toEqual([
    { ok: false, isFirst: true },
    { ok: false, isFirst: false },
    { ok: false, isFirst: false },
  ]);
  expect([1_000, 1_100].map(take)).toEqual([
    { ok: true, missed: 3 },
    { ok: false, isFirst: true },
  ]);
  expect(take(3_600_000)).toEqual({ ok: true, missed: 1 });
  expect([3_600_000, 3_600_000].map(take)).toEqual(Array(2).fill({ ok: true, missed: 0 }));
  expect(take(3_600_000).ok).toBe(false);
});

test('a namespace that writes too much takes nothing from others', () => {
  const budget = new NamespaceBudget(limits);
  for (let i = 0; i < 100; i++) budget.take('noisy', 0);
  expect(budget.take('quiet', 0)).toEqual({ ok: true, missed: 0 });
});

test('an event without records is given back', () => {
  const budget = new NamespaceBudget(limits);
  for (let i = 0; i < 100; i++) {
    expect(budget.take('a', 0)).toEqual({ ok: true, missed: 0 });
    budget.giveBack('a');
  }
  budget.giveBack('a');
  expect([0, 0, 0, 0].map(() => budget.take('a', 0).ok)).toEqual([true, true, true, false]);
});

test('namespaces beyond the bound share one budget, until others are idle', () => {
  const budget = new NamespaceBudget(limits);
  for (const namespace of ['a', 'b', 'c']) budget.take(namespace, 0);
  const others = Array.from({ length: 1_000 }, (_, i) => budget.take(`other-${i}`, 0).ok);
  expect(others.filter(Boolean)).toHaveLength(3);
  expect(budget.take('late', 10_000)).toEqual({ ok: true, missed: 0 }); // a, b and c are full again, and forgotten
  expect(budget.take('late', 10_000)).toEqual({ ok: true, missed: 0 });
});
