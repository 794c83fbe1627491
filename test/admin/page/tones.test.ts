import { assignTones, TONES, type Toned } from '../../../src/admin/page/render/tones';

/** Owners in a line: each touches the ones before and after it. */
function inLine(keys: readonly string[]): Toned[] {
  return keys.map((key, index) => ({
    key,
    touching: new Set([keys[index - 1], keys[index + 1]].filter((each) => each !== undefined)),
    nearby: new Set(keys.filter((each) => each !== key).slice(0, 8)),
  }));
}

const keys = (count: number, prefix = 'uid'): string[] => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

function distance(a: number, b: number): number {
  return Math.min((a - b + TONES) % TONES, (b - a + TONES) % TONES);
}

test('owners that touch have colours that are not even alike, for any number of owners', () => {
  const tones = assignTones(inLine(keys(300)), new Map());
  const all = [...tones.values()];
  expect(all).toHaveLength(300);
  expect(Math.min(...all.slice(1).map((tone, index) => distance(tone, all[index]!)))).toBeGreaterThan(1);
});

test('twelve owners have twelve colours, wherever they are', () => {
  const alone = keys(TONES).map((key) => ({ key, touching: new Set<string>(), nearby: new Set<string>() }));
  expect(new Set(assignTones(alone, new Map()).values()).size).toBe(TONES);
});

test('an owner keeps its colour while others come and go, unless an earlier one beside it has that', () => {
  const before = assignTones(inLine(keys(60)), new Map());
  const next = inLine([...keys(60).filter((_, i) => i % 3 !== 1), ...keys(20, 'new')]);
  const after = assignTones(next, before);
  const kept = next.filter(({ key }) => before.has(key));
  const changed = kept.filter(({ key }) => after.get(key) !== before.get(key));
  const collided = kept.filter(({ key, touching }) =>
    [...touching].some((other) => before.get(other) === before.get(key)),
  );
  expect(changed.length).toBeLessThanOrEqual(collided.length);
  for (const { key, touching } of next) for (const other of touching) expect(after.get(other)).not.toBe(after.get(key));
});

test('an owner beside more owners than there are colours gets one all the same', () => {
  const [middle, ...others] = keys(30);
  const star = [
    { key: middle!, touching: new Set(others), nearby: new Set<string>() },
    ...others.map((key) => ({ key, touching: new Set([middle!]), nearby: new Set<string>() })),
  ];
  const tones = assignTones(star, new Map());
  for (const key of others) expect(tones.get(key)).not.toBe(tones.get(middle!));
});
