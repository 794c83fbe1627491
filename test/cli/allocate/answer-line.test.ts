import { answerLine } from '../../../src/cli/allocate/answer-line';
import { CpuSet } from '../../../src/core/cpuset';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { buildTopology } from '../../../src/core/topology';

/** Two cores with two threads each: 0 and 2, 1 and 3. */
const topologies = new Map([
  [
    'm',
    buildTopology({
      cpus: [0, 1, 2, 3].map((id) => ({ id, core: id % 2, socket: 0, numaNode: 0, uncoreCache: 0 })),
    }),
  ],
]);

const line = (fields: object): string => JSON.stringify({ id: 1, topology: 'm', algorithm: 'packed', ...fields });

const defaults = { topologies, options: NO_OPTIONS, reserved: CpuSet.empty };

/** The printed answer without its reasons. */
function answer(text: string, on: typeof defaults | object = {}) {
  const { answered, answer: printed } = answerLine(text, 4, { ...defaults, ...on });
  return {
    answered,
    ...(JSON.parse(JSON.stringify(printed), (key, value: unknown) =>
      key === 'because' ? undefined : value,
    ) as object),
  };
}

test('an answer has the reasons of its allocation; each step of a sequence has its own', () => {
  const { answer: printed } = answerLine(line({ available: '0-3', numCPUs: 3 }), 1, defaults);
  expect((printed as { because: string }).because).toMatch(/core 0 .*; no whole core fits: 1 CPU/);
  const steps = [{ op: 'alloc', name: 'x', numCPUs: 2 }];
  const { answer: sequence } = answerLine(line({ steps }), 1, defaults);
  expect((sequence as { steps: { because: string }[] }).steps[0]!.because).toMatch(/core 0/);
});

test('a line with its recorded answer is asked as it is', () => {
  const recorded = { available: '0-3', numCPUs: 2, result: '0,2', kubelet: 'flawed', fixed: { result: '0,2' } };
  expect(answer(line(recorded))).toEqual(answer(line({ available: '0-3', numCPUs: 2 })));
});

describe('a line without a field', () => {
  const bare = JSON.stringify({ id: 1, numCPUs: 2 });
  const topology = topologies.get('m')!;

  test.each`
    what                                                                      | on                                                                           | want
    ${'topology and available: all online CPUs of the given machine, packed'} | ${{ topology }}                                                              | ${{ result: '0,2' }}
    ${'options: those of the command'}                                        | ${{ topology, options: { ...NO_OPTIONS, distributeCpusAcrossCores: true } }} | ${{ result: '0-1' }}
    ${'reserved: the reserved CPUs of the command are not allocated'}         | ${{ topology, reserved: CpuSet.of([0]) }}                                    | ${{ result: '1,3' }}
  `('$what', ({ on, want }) => expect(answer(bare, on)).toEqual({ answered: true, id: 1, ...want }));

  test('topology, without a default: refused', () => {
    expect(answer(bare)).toEqual({
      answered: false,
      id: 1,
      error: expect.stringContaining('the line names no machine'),
    });
  });
});

describe('on a machine with fast cores 0-3 and slow cores 4-6', () => {
  const topology = buildTopology({
    cpus: [0, 1, 2, 3, 4, 5, 6].map((id) => ({ id, core: id < 4 ? id >> 1 : id, socket: 0, numaNode: 0, uncoreCache: 0 })), // prettier-ignore
    coreKinds: [
      { name: 'performance', cpus: CpuSet.of([0, 1, 2, 3]) },
      { name: 'efficiency', cpus: CpuSet.of([4, 5, 6]) },
    ],
  });

  test.each<[string, object, object]>([
    ['CPUs are of the fastest kind that has room', { numCPUs: 2 }, { result: '0-1' }],
    ['and no core of them is torn for a slow one', { available: '0-3,6', numCPUs: 4 }, { result: '0-3' }],
    ['or of the next kind', { available: '0,2,4-6', numCPUs: 3 }, { result: '4-6' }],
    ['of several where no kind has enough', { numCPUs: 5 }, { result: '0-1,4-6' }],
    [
      'and the slowest are reserved first',
      { numReserved: 2, steps: [{ op: 'alloc', name: 'x', numCPUs: 2 }] },
      { reserved: '4-5', steps: [{ result: '0-1' }] },
    ],
  ])('%s', (_what, fields, want) => {
    expect(answer(JSON.stringify({ id: 1, ...fields }), { topology })).toEqual({ answered: true, id: 1, ...want });
  });

  test('as many as there are free can be reserved, whatever the command keeps of a kind', () => {
    const text = JSON.stringify({ id: 1, numReserved: 3, steps: [] });
    expect(answer(text, { topology, reserved: CpuSet.of([4, 5]) })).toMatchObject({ reserved: '0-1,6' });
  });
});

test.each`
  what                            | text                                       | want
  ${'whole cores first'}          | ${line({ available: '0-3', numCPUs: 2 })}  | ${{ result: '0,2' }}
  ${'no CPUs of none'}            | ${line({ available: '', numCPUs: 0 })}     | ${{ result: '' }}
  ${'a refusal'}                  | ${line({ available: '0', numCPUs: 2 })}    | ${{ error: 'not enough cpus available to satisfy request: requested=2, available=1' }}
  ${'ids that the machine lacks'} | ${line({ available: '3,99', numCPUs: 1 })} | ${{ result: '3' }}
`('the answer to one allocation: $what', ({ text, want }) => {
  expect(answer(text)).toEqual({ answered: true, id: 1, ...want });
});

describe('a sequence', () => {
  test('reserves first, then allocates and frees in order', () => {
    const steps = [
      { op: 'alloc', name: 'x', numCPUs: 2 },
      { op: 'alloc', name: 'y', numCPUs: 2 },
      { op: 'free', name: 'x' },
      { op: 'alloc', name: 'y', numCPUs: 3 },
    ];
    expect(answer(line({ id: 's', numReserved: 1, steps }))).toEqual({
      answered: true,
      id: 's',
      reserved: '0',
      steps: [
        { result: '1,3' },
        { error: 'not enough cpus available to satisfy request: requested=2, available=1' },
        { freed: '1,3' },
        { result: '1-3' },
      ],
    });
  });

  test.each`
    what                            | steps                                                                               | want
    ${'frees an unknown name'}      | ${[{ op: 'free', name: 'x' }]}                                                      | ${'x holds no CPUs'}
    ${'allocates twice for a name'} | ${[{ op: 'alloc', name: 'x', numCPUs: 1 }, { op: 'alloc', name: 'x', numCPUs: 1 }]} | ${'x holds CPUs already; free them first'}
  `('that $what has an error at that step, and counts as not answered', ({ steps, want }) => {
    const { answered, ...printed } = answer(line({ steps }));
    expect(answered).toBe(false);
    expect((printed as unknown as { steps: object[] }).steps.at(-1)).toEqual({ error: want });
  });

  test('whose reservation does not fit is answered with the reason', () => {
    expect(answer(line({ numReserved: 5, steps: [] }))).toEqual({
      answered: true,
      id: 1,
      error: expect.stringMatching(/^numReserved: not enough cpus/),
    });
  });
});

test.each`
  what                                   | text                                                       | want
  ${'no JSON'}                           | ${'{'}                                                     | ${{ line: 4, error: 'not a line of JSON' }}
  ${'a list'}                            | ${'[]'}                                                    | ${{ line: 4, error: 'the line: expected object' }}
  ${'null'}                              | ${'null'}                                                  | ${{ line: 4, error: 'the line: expected object' }}
  ${'an id that is an object'}           | ${line({ id: {}, available: '', numCPUs: 1 })}             | ${{ line: 4, error: expect.stringContaining('expected') }}
  ${'an id alone'}                       | ${'{"id":7}'}                                              | ${{ id: 7, error: 'numCPUs: expected number' }}
  ${'an unknown machine'}                | ${line({ topology: 'n', available: '', numCPUs: 1 })}      | ${{ id: 1, error: expect.stringContaining('topology: no machine is called n') }}
  ${'a negative number of CPUs'}         | ${line({ available: '0', numCPUs: -1 })}                   | ${{ id: 1, error: 'numCPUs: expected at least 0' }}
  ${'half a CPU'}                        | ${line({ available: '0', numCPUs: 0.5 })}                  | ${{ id: 1, error: 'numCPUs: expected int' }}
  ${'a number as text'}                  | ${line({ available: '0', numCPUs: '1' })}                  | ${{ id: 1, error: 'numCPUs: expected number' }}
  ${'a descending range'}                | ${line({ available: '3-0', numCPUs: 1 })}                  | ${{ id: 1, error: expect.stringContaining('available: "3-0" is not a CPU list') }}
  ${'an unknown algorithm'}              | ${line({ available: '0', numCPUs: 1, algorithm: 'best' })} | ${{ id: 1, error: 'algorithm: expected packed or distributed' }}
  ${'an unknown strategy'}               | ${line({ available: '0', numCPUs: 1, strategy: 'best' })}  | ${{ id: 1, error: 'strategy: expected packed or spread' }}
  ${'groups of 0 CPUs'}                  | ${line({ available: '0', numCPUs: 1, cpuGroupSize: 0 })}   | ${{ id: 1, error: 'cpuGroupSize: expected at least 1' }}
  ${'an unknown step'}                   | ${line({ steps: [{ op: 'x' }] })}                          | ${{ id: 1, error: expect.stringContaining('steps.0.op') }}
  ${'a field that has no meaning'}       | ${line({ numCPUs: 1, options: 'full-pcpus-only=true' })}   | ${{ id: 1, error: '"options" is no field of a line; these are id, topology, algorithm, strategy, preferAlignByUncoreCache, cpuGroupSize, available, numCPUs' }}
  ${'a field of the other kind of line'} | ${line({ available: '0', steps: [] })}                     | ${{ id: 1, error: '"available" is no field of a line with steps; these are id, topology, algorithm, strategy, preferAlignByUncoreCache, cpuGroupSize, numReserved, steps' }}
  ${'such a field of a step'}            | ${line({ steps: [{ op: 'free', name: 'x', cpus: 1 }] })}   | ${{ id: 1, error: '"cpus" is no field of a step; these are op, name, numCPUs' }}
  ${'steps that are no list'}            | ${line({ steps: {} })}                                     | ${{ id: 1, error: 'steps: expected array' }}
`('a line that can’t be read is an error: $what', ({ text, want }) => {
  expect(answer(text)).toEqual({ answered: false, ...want });
});
