import { loadScript } from '../../support/load-script';
import type { Step } from './types';

type Candidate = Pick<Step, 'name' | 'needs' | 'cpus' | 'memoryGiB'>;
interface Room {
  readonly cpus: number;
  readonly memoryGiB: number;
}

let chooseSteps: (
  waiting: readonly Candidate[],
  running: readonly Candidate[],
  succeeded: ReadonlySet<string>,
  machine: Room,
) => readonly Candidate[];
beforeAll(async () => {
  ({ chooseSteps } = await loadScript<{ chooseSteps: typeof chooseSteps }>('test-run/choose-steps.mjs'));
});

const all = { name: 'all' };
const half = { name: 'half', cpus: 1 };
const other = { name: 'other', cpus: 1 };
const waits = { name: 'waits', cpus: 1, needs: ['half'] };
const large = { name: 'large', cpus: 0.5, memoryGiB: 6 };

test.each`
  name                                                            | waiting                                             | running    | succeeded   | want
  ${'two that take half of the machine each'}                     | ${[half, other]}                                    | ${[]}      | ${[]}       | ${['half', 'other']}
  ${'one without room does not stop those behind it'}             | ${[all, half]}                                      | ${[other]} | ${[]}       | ${['half']}
  ${'one that takes all runs alone'}                              | ${[all, half]}                                      | ${[]}      | ${[]}       | ${['all']}
  ${'none while all CPUs are taken'}                              | ${[half]}                                           | ${[all]}   | ${[]}       | ${[]}
  ${'one waits for what it needs, and those behind it do not'}    | ${[waits, other]}                                   | ${[half]}  | ${[]}       | ${['other']}
  ${'one that has what it needs'}                                 | ${[waits]}                                          | ${[]}      | ${['half']} | ${['waits']}
  ${'two that need more memory than there is run one by one'}     | ${[large, { ...large, name: 'large too' }, half]}   | ${[]}      | ${[]}       | ${['large', 'half']}
  ${'one that needs more memory than the machine has runs alone'} | ${[{ name: 'huge', cpus: 1, memoryGiB: 99 }, half]} | ${[]}      | ${[]}       | ${['huge']}
`(
  '$name',
  ({
    waiting,
    running,
    succeeded,
    want,
  }: Record<'waiting' | 'running', Candidate[]> & { succeeded: string[]; want: string[] }) => {
    const chosen = chooseSteps(waiting, running, new Set(succeeded), { cpus: 2, memoryGiB: 8 });
    expect(chosen.map(({ name }) => name)).toEqual(want);
  },
);

test('whatever the steps are: one starts when none runs and one has all that it needs', () => {
  for (const cpus of [0.1, 1, 3, 64])
    for (const memoryGiB of [0, 1, 500])
      expect(chooseSteps([{ name: 'a', cpus, memoryGiB }], [], new Set(), { cpus: 1, memoryGiB: 0.5 })).toHaveLength(1);
});
