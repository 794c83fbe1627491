import { leftFor } from '../../../src/qos/avoidance/budget';
import { createRandom } from '../../support/random';

const mapOf = (...entries: readonly (readonly [string, number])[]): Map<string, number> => new Map(entries);

test.each`
  name                                               | namespace | left  | spentBy                      | tenants            | want
  ${'one that is alone has all of it'}               | ${'a'}    | ${20} | ${mapOf()}                   | ${['a']}           | ${20}
  ${'of two, each keeps a quarter for the other'}    | ${'a'}    | ${20} | ${mapOf()}                   | ${['a', 'b']}      | ${15}
  ${'what the other has spent is not kept for it'}   | ${'a'}    | ${16} | ${mapOf(['b', 4])}           | ${['a', 'b']}      | ${15}
  ${'another that has spent more keeps nothing'}     | ${'a'}    | ${12} | ${mapOf(['b', 8])}           | ${['a', 'b']}      | ${12}
  ${'a greedy one has nothing left'}                 | ${'a'}    | ${5}  | ${mapOf(['a', 15])}          | ${['a', 'b']}      | ${0}
  ${'the other one has its share'}                   | ${'b'}    | ${5}  | ${mapOf(['a', 15])}          | ${['a', 'b']}      | ${5}
  ${'what the Node has cost counts for nobody'}      | ${'a'}    | ${19} | ${mapOf(['', 1])}            | ${['a', 'b']}      | ${14}
  ${'a budget of one is there for whoever is first'} | ${'a'}    | ${1}  | ${mapOf()}                   | ${['a', 'b', 'c']} | ${1}
  ${'one whose pods nothing may be done to keeps 0'} | ${'a'}    | ${20} | ${mapOf(['gone', 0])}        | ${['a']}           | ${20}
  ${'nothing is left of nothing'}                    | ${'a'}    | ${0}  | ${mapOf(['a', 3], ['b', 3])} | ${['a', 'b']}      | ${0}
`(
  '$name',
  (row: { namespace: string; left: number; spentBy: Map<string, number>; tenants: string[]; want: number }) => {
    const { namespace, left, spentBy, tenants, want } = row;
    expect(leftFor(namespace, { left, spentBy }, new Set(tenants))).toBe(want);
  },
);

test('whatever others spend, each namespace gets its share, the budget is never exceeded, and someone may always spend the first half', () => {
  let refusals = 0;
  for (let seed = 1; seed <= 2_000; seed++) {
    const random = createRandom(seed);
    const whole = random.int(0, 120);
    const tenants = Array.from({ length: random.int(1, 12) }, (_, index) => `n${index}`);
    const spentBy = new Map<string, number>();
    let left = whole;
    const mayAct = (namespace: string): boolean =>
      left > 0 && leftFor(namespace, { left, spentBy }, new Set(tenants)) >= 1;
    const act = (namespace: string): void => {
      left -= 1;
      spentBy.set(namespace, (spentBy.get(namespace) ?? 0) + 1);
    };
    // Some want all they can get, in any order; the last one nothing until they are done.
    const late = tenants.at(-1)!;
    const greedy = tenants.filter((tenant) => tenant !== late || tenants.length === 1);
    for (let turn = 0; turn < 200; turn++) {
      const namespace = random.pick(greedy);
      if (mayAct(namespace)) act(namespace);
      else refusals += 1;
    }
    expect(left).toBeGreaterThanOrEqual(0);
    expect(whole - left).toBeGreaterThanOrEqual(Math.floor(whole / 2));
    const share = Math.floor(whole / 2 / tenants.length);
    let got = spentBy.get(late) ?? 0;
    for (; got < share && mayAct(late); got++) act(late);
    expect({ seed, got: Math.min(got, share) }).toEqual({ seed, got: share });
  }
  expect(refusals).toBeGreaterThan(1_000);
});
