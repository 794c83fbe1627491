import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatKubeletState, nameContainers, parseKubeletState } from '../../src/state/kubelet-checkpoint';

/** A state file and its result in the kubelet, or the checksum of a small state; see the README beside the file. */
interface Scenario {
  readonly id: string;
  readonly area: 'state' | 'checksum';
  readonly name: string;
  readonly given: {
    readonly file?: unknown;
    readonly containerMap?: Readonly<Record<string, readonly [podUid: string, containerName: string]>>;
    readonly policyName?: string;
    readonly defaultCpuSet?: string;
    readonly entries?: Entries;
  };
  readonly expect: {
    readonly state?: {
      readonly defaultCpuSet: string;
      readonly assignments: Entries;
      readonly podAssignments?: Record<string, string>;
    };
    readonly error?: string;
    readonly stored?: string;
    readonly version2Checksum?: number;
  };
}
type Entries = Readonly<Record<string, Readonly<Record<string, string>>>>;

const SCENARIOS = JSON.parse(
  readFileSync(join(__dirname, '../fixtures/checkpoint/scenarios.json'), 'utf8'),
) as Scenario[];

const NOT_APPLICABLE: Readonly<Record<string, string>> = {
  'state-001':
    'no file: the kubelet writes an empty one; cpusetd reads this file on request only, and never writes it unasked',
  'state-006':
    'other policy: cpusetd has no kubelet policy of its own to compare with; the name in the file is reported',
};

/** The error texts of cpusetd. The scenarios name only the kind of an error. */
const PROBLEMS: Readonly<Record<string, { problem: string; because: string }>> = {
  'checkpoint is corrupted': { problem: 'corrupted', because: 'checkpoint is corrupted' },
  'unexpected end of JSON input': { problem: 'not-json', because: 'not JSON' },
  'could not parse default cpu set': { problem: 'cpu-list', because: 'could not parse default cpu set: "1.3"' },
  'could not parse cpuset of container2 in pod': {
    problem: 'cpu-list',
    because: 'could not parse cpuset of container container2 in pod pod: "asd"',
  },
};

const rowsOf = (area: string): (readonly [string, string, Scenario])[] =>
  SCENARIOS.filter((s) => s.area === area && !(s.id in NOT_APPLICABLE)).map((s) => [s.id, s.name, s] as const);
const textOf = ({ given: { file } }: Scenario): string => (typeof file === 'string' ? file : JSON.stringify(file));
const plain = (entries: ReadonlyMap<string, ReadonlyMap<string, string>>): unknown =>
  Object.fromEntries([...entries].map(([pod, names]) => [pod, Object.fromEntries(names)]));

test('each scenario runs, or is listed with a reason', () => {
  expect(SCENARIOS.map(({ id }) => id)).toEqual(expect.arrayContaining(Object.keys(NOT_APPLICABLE)));
  expect([rowsOf('state').length, rowsOf('checksum').length]).toEqual([12, 6]);
});

test.each(rowsOf('state'))('%s: %s', (_id, _name, scenario) => {
  const parsed = parseKubeletState(textOf(scenario));
  const { state, error } = scenario.expect;
  if (error !== undefined) {
    const { problem, because } = PROBLEMS[error]!;
    expect(parsed).toEqual({ ok: false, problem, because: expect.stringContaining(because) });
    return;
  }
  if (!parsed.ok) throw new Error(parsed.because);
  const containers = new Map(
    Object.entries(scenario.given.containerMap ?? {}).map(([id, [podUid, containerName]]) => [
      id,
      { podUid, containerName },
    ]),
  );
  const found = parsed.format === 'v1' ? nameContainers(parsed.state, containers) : parsed.state;
  expect({
    defaultCpuSet: found.defaultCpuSet,
    assignments: plain(found.entries),
    podAssignments: Object.fromEntries(found.podEntries),
  }).toEqual({
    podAssignments: {},
    ...state,
  });
});

test.each(rowsOf('checksum'))('%s: %s', (_id, _name, { given, expect: { version2Checksum } }) => {
  const entries = new Map(Object.entries(given.entries!).map(([pod, names]) => [pod, new Map(Object.entries(names))]));
  const { policyName, defaultCpuSet } = given;
  const text = formatKubeletState(
    { policyName: policyName!, defaultCpuSet: defaultCpuSet!, entries, podEntries: new Map() },
    'v2',
  );
  expect((JSON.parse(text) as { checksum: number }).checksum).toBe(version2Checksum);
});

test('a file of another policy is read with its policy name', () => {
  const scenario = SCENARIOS.find(({ id }) => id === 'state-006')!;
  expect(parseKubeletState(textOf(scenario))).toMatchObject({
    ok: true,
    state: { policyName: scenario.expect.stored },
  });
});
