import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeMachine } from '../../../src/state/journal';
import { machineOf, podOf, resourcesOf } from '../../core/transition/node-driver';
import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess } from '../../support/run-cli';

const makeDir = useTempDirs();
const HEADER = { journal: 1, writtenBy: 'cpusetd 0.1.0', at: '2026-11-24T10:00:00Z' };
const options = { 'reserved-cpus': '0', 'state-dir': '/no/such/folder', kubeconfig: '/no/such/file' };

/** A container of so many CPUs is created at this second, and pinned to these CPUs then; none: it was refused. */
function requestAt(second: number, name: string, count: number, cpus?: string): readonly object[] {
  const at = `2026-11-24T10:00:0${second}.000Z`;
  const pod = podOf(name);
  const container = {
    id: `id-${name}`,
    sandboxId: pod.sandboxId,
    name: 'app',
    phase: 'creating',
    cgroupsPath: '',
    resources: resourcesOf(count),
  };
  const subject = { podUid: name, pod: `ns/${name}`, container: 'app', containerId: container.id };
  return [
    { at, kind: 'input', of: 'event', event: { kind: 'create-container', pod, container } },
    cpus === undefined
      ? { at, kind: 'refused', ...subject, code: 'RESOURCE_EXHAUSTED', because: 'too many' }
      : { at, kind: 'pinned', ...subject, cpus, because: 'free' },
  ];
}

/** Four cores of two threads; siblings are c and c + 4. */
function writeJournal(...more: readonly object[]): string {
  return writeJournalFrom({ at: '2026-11-24T10:00:01.000Z', kind: 'input', of: 'restored' }, ...more);
}

/** The same with this record after that of the rules. */
function writeJournalFrom(start: object | string, ...more: readonly object[]): string {
  const dir = join(makeDir(), 'journal');
  mkdirSync(dir);
  const settings = {
    at: HEADER.at,
    kind: 'input',
    of: 'settings',
    options,
    reserved: '0',
    topology: describeMachine(machineOf(4, 2)),
  };
  const records = [
    HEADER,
    settings,
    start,
    ...requestAt(1, 'a', 2, '1,5'),
    ...requestAt(2, 'b', 1, '4'),
    ...requestAt(4, 'c', 6),
    ...more,
  ];
  writeFileSync(
    join(dir, '00000001.jsonl'),
    records.map((each) => `${typeof each === 'string' ? each : JSON.stringify(each)}\n`).join(''),
  );
  return dir;
}

test('the recorded options on the recorded machine: no difference, whatever files the options name', async () => {
  const { status, stdout, stderr } = await runInProcess(['replay', writeJournal()]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toBe(
    [
      '3 requests from 2026-11-24T10:00:00Z to 2026-11-24T10:00:04Z, 8 CPUs',
      'Replayed with the recorded options, on the recorded machine.',
      '',
      '                                          RECORDED  REPLAYED',
      'pinned                                    2         2',
      'refused                                   1         1',
      'sharing                                   0         0',
      'moved for others                          0         0',
      // 5 CPUs for a second (4 and 2,3,6,7), and 4 for two.
      'free CPUs, mean                           4.3       4.3',
      'free whole cores, mean                    2.0       2.0',
      'free CPUs in one NUMA node at most, mean  4.3       4.3',
      'free CPUs in broken cores, mean           7 %       7 %',
      '',
      'No request has another outcome.',
      '',
    ].join('\n'),
  );
});

test('another option: the requests with another outcome, and why', async () => {
  const dir = writeJournal();
  const { stdout } = await runInProcess(['replay', dir, '--set', 'cpu-manager-policy-options=full-pcpus-only=true']);
  expect(stdout).toMatch(
    /\n1 request has another outcome:\nTIME .*\n2026-11-24T10:00:02Z {2}ns\/b {2}app +4 +refused {3}.*full-pcpus-only/,
  );
  const json = await runInProcess([
    'replay',
    dir,
    '--set',
    'cpu-manager-policy-options=full-pcpus-only=true',
    '-o',
    'json',
  ]);
  expect(JSON.parse(json.stdout)).toMatchObject({
    from: '2026-11-24T10:00:00Z',
    requests: 3,
    isPartial: false,
    changes: ['cpu-manager-policy-options=full-pcpus-only=true'],
    recorded: { pinned: 2, refused: 1, shares: 0, moved: 0, meanFree: { cpus: expect.any(Number) } },
    replayed: { pinned: 1, refused: 2, shares: 0 },
    different: [{ pod: 'ns/b', recorded: { kind: 'pinned', cpus: '4' }, replayed: { kind: 'refused' } }],
  });
});

test('the text shows the first hundred requests with another outcome, and the number of the others', async () => {
  const many = Array.from({ length: 150 }, (_, i) => requestAt(5, `p${i}`, 1)).flat();
  const args = [
    'replay',
    writeJournal(...many),
    '--set',
    'on-insufficient-cpu=share',
    '--set',
    'cpu-manager-policy=none',
  ];
  const { stdout } = await runInProcess(args);
  expect(stdout).toMatch(/\n153 requests have another outcome:\n[^]*\nand 53 more: -o json has all\n$/);
  expect(stdout.match(/^2026-.* ns\//gm)).toHaveLength(100);
  const json = await runInProcess([...args, '-o', 'json']);
  expect((JSON.parse(json.stdout) as { different: unknown[] }).different).toHaveLength(153);
});

test('several options may be set; a count of reserved CPUs replaces the recorded list', async () => {
  const args = ['--set', 'reserved-cpu-count=4', '--set', 'on-insufficient-cpu=share', '-o', 'json'];
  const { stdout } = await runInProcess(['replay', writeJournal(), ...args]);
  expect(JSON.parse(stdout)).toMatchObject({ replayed: { pinned: 2, refused: 0, shares: 1 } });
});

test('a rule that leaves containers alone decides placements', async () => {
  const { stdout, stderr } = await runInProcess(['replay', writeJournal(), '--set', 'leave-alone=ns/b']);
  expect(stderr).toBe('');
  expect(stdout).toMatch(/\n2026-11-24T10:00:02Z {2}ns\/b {2}app +4 +shares +left alone/);
});

test('another machine: recorded reserved CPUs that it does not have are left out', async () => {
  const machine = join(makeDir(), 'machine.jsonl');
  writeFileSync(machine, '{"name":"m","cpus":[[8,0,0,0,0],[9,0,0,0,0],[10,1,0,0,0]]}\n');
  const { status, stdout } = await runInProcess(['replay', writeJournal(), '--topology', machine, '-o', 'json']);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ replayed: { pinned: 1, refused: 2 } });
});

test('a journal in which records are missing says so, and an empty one too', async () => {
  const partial = await runInProcess(['replay', writeJournal({ at: HEADER.at, kind: 'left-out', events: 3 })]);
  expect(partial.status).toBe(1);
  expect(partial.stdout).toContain(
    'they are not exact:\n- 3 events were not recorded (cpusetd events --kind left-out)\n',
  );
  const dir = makeDir();
  expect((await runInProcess(['replay', dir])).stdout).toBe('Nothing to replay.\n');
});

test.each([
  [['/nowhere'], 1, 'cpusetd: /nowhere: no such file or directory'],
  [['--set', 'x', '/tmp'], 2, 'It is no option with a value; write it like cpu-manager-policy=static.'],
  [['--topology', '/nope', '/tmp'], 2, '--topology /nope: no such file; check the path'],
])('replay %j is refused with the remedy', async (args, status, message) => {
  const run = await runInProcess(['replay', ...args]);
  expect(run.status).toBe(status);
  expect(run.stderr).toContain(message);
});

test.each([
  ['cpu-manager-policy=fast', '--cpu-manager-policy: "fast" is not a known value; choose one of none, static'],
  [
    'cpu-manager-speed=1',
    '--set cpu-manager-speed: is no option; set one that decides placements, such as cpu-manager-policy',
  ],
  [
    'log-level=debug',
    '--set log-level: decides no placement; set one that decides placements, such as cpu-manager-policy',
  ],
  ['reserved-cpus=0-7', 'all 8 online CPUs are reserved'],
])('--set %s is refused with the reason', async (setting, message) => {
  const run = await runInProcess(['replay', writeJournal(), '--set', setting]);
  expect(run.status).toBe(2);
  expect(run.stderr).toContain(message);
});

describe('a journal that can not be read as a whole is partial, and no difference is shown as one', () => {
  const unset = ['--set', 'cpu-manager-policy-options=full-pcpus-only=true'];
  const rules = { at: HEADER.at, kind: 'input', of: 'settings', reserved: '0' };
  const topology = describeMachine(machineOf(4, 2));

  test.each<[string, object | string, string]>([
    [
      'it begins without the node',
      { at: HEADER.at, kind: 'stopped' },
      '3 events are older than the first list of the node',
    ],
    ['a line is no record', 'junk', '1 line is no record'],
    [
      'an event is of another version',
      { at: HEADER.at, kind: 'input', of: 'event', event: { kind: 'x' } },
      '1 event or part of a list can’t be read',
    ],
    [
      'an input is of another version',
      { at: HEADER.at, kind: 'input', of: 'x' },
      '1 event or part of a list can’t be read',
    ],
    [
      'a bound of another version, that a request brought',
      [
        { at: HEADER.at, kind: 'input', of: 'brought', brought: { podUid: 'u', containerName: 'app', cpus: 'all' } },
        { at: HEADER.at, kind: 'input', of: 'restored' },
      ]
        .map((each) => JSON.stringify(each))
        .join('\n'),
      '1 event or part of a list can’t be read',
    ],
    [
      'options of another version',
      { ...rules, options: { 'memory-nodes-fancy': 'on', 'lift-cpu-quota': 'perhaps' }, topology },
      '2 recorded options can’t be read by this version',
    ],
    [
      'a machine of another version',
      { ...rules, options: {}, topology: 'flat' },
      '1 record of options and machine can’t be read',
    ],
    ['a time without records', { at: HEADER.at, kind: 'left-out', namespace: 'ns' }, '1 time without records'],
  ])('%s', async (_name, record, printed) => {
    const { status, stdout } = await runInProcess(['replay', writeJournalFrom(record), ...unset]);
    expect(status).toBe(1);
    expect(stdout).toContain(`\nNot all of the journal is in the figures, so they are not exact:\n- ${printed}`);
    expect(stdout).toMatch(
      /\nNo request has another outcome where all was known.\n1 request came out otherwise where it was not: that says nothing.\n$/,
    );
    const json = await runInProcess(['replay', writeJournalFrom(record), ...unset, '-o', 'json']);
    expect(json.status).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      isPartial: true,
      leftOut: expect.arrayContaining([{ reason: expect.any(String), count: expect.any(Number) }]),
      different: [],
      unexplained: 1,
    });
  });

  test('nothing of it can be read', async () => {
    const dir = writeJournalFrom({ at: HEADER.at, kind: 'stopped' });
    const path = join(dir, '00000001.jsonl');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replaceAll('"reserved":"0"', '"reserved":"none"'));
    const noRules = await runInProcess(['replay', dir]);
    expect([noRules.status, noRules.stdout]).toEqual([
      1,
      expect.stringContaining('- 3 events are older than the first options'),
    ]);
    expect(noRules.stdout).toMatch(/^Nothing was decided again: no options and machine can be read.\n/);
    expect(noRules.stdout).not.toContain('outcome');
    writeFileSync(path, text.replaceAll('"input"', '"output"'));
    const noInputs = await runInProcess(['replay', dir]);
    expect([noInputs.status, noInputs.stdout]).toEqual([
      1,
      'Nothing to replay.\nNot all of the journal is in the figures, so they are not exact:\n- 8 records, and none has the inputs of decisions\n',
    ]);
  });
});
