import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess } from '../../support/run-cli';
import { waitUntil } from '../../support/wait-until';

const makeDir = useTempDirs();

const HEADER = { journal: 1, writtenBy: 'cpusetd 0.1.0', at: '2026-11-24T10:00:00Z' };
const web = { podUid: 'u1', pod: 'shop/web', container: 'app', containerId: 'c1' };
const RECORDS = [
  { at: '2026-11-24T10:00:00.100Z', kind: 'settings', version: '0.1.0', options: { 'cpu-manager-policy': 'static' } },
  {
    at: '2026-11-24T10:00:01.000Z',
    kind: 'gap',
    from: '2026-11-24T09:59:58.000Z',
    to: '2026-11-24T10:00:01.000Z',
    containers: 1,
    names: ['shop/old/app'],
  },
  {
    at: '2026-11-24T10:00:02.000Z',
    kind: 'pinned',
    ...web,
    policy: 'static',
    cpus: '2-3',
    because: 'it asked for 2 CPUs',
    steps: [],
  },
  {
    at: '2026-11-24T10:00:02.000Z',
    kind: 'moved',
    containers: 12,
    names: ['shop/cache/app', 'other/x/y'],
    cpus: '0-1',
    because: 'the shared pool changed',
    causedBy: 'shop/web/app',
  },
  {
    at: '2026-11-24T10:00:03.000Z',
    kind: 'drifted',
    ...web,
    promised: '2-3',
    found: '0',
    cause: 'unknown-writer',
    because: 'someone wrote it',
  },
  { at: '2026-11-24T10:00:03.100Z', kind: 'repaired', ...web, cpus: '2-3' },
  {
    at: '2026-11-24T10:00:04.000Z',
    kind: 'refused',
    podUid: 'u2',
    pod: 'shop/big',
    container: 'app',
    code: 'RESOURCE_EXHAUSTED',
    because: 'it asked for 9',
    times: 4,
  },
  { at: '2026-11-24T10:00:05.000Z', kind: 'alarm', alarm: 'state-not-saved', because: 'the disk is full' },
  { at: '2026-11-24T10:00:06.000Z', kind: 'online-cpus-changed', online: '0-6', left: '7', returned: '' },
  {
    at: '2026-11-24T10:00:06.500Z',
    kind: 'settings-changed',
    changes: [
      { option: 'reserved-cpus', from: '', to: '0-1' },
      { option: 'reserved-cpu-count', from: '2', to: '' },
      null,
    ],
  },
  { at: '2026-11-24T10:00:07.000Z', kind: 'left-out', namespace: 'noisy', records: 7, because: 'too many' },
  { at: '2026-11-24T10:00:08.000Z', kind: 'teleported', pod: 'a/\u001b[31mb', because: 'a newer version\nsays so' },
  { at: '2026-11-24T10:00:09.000Z', kind: 'stopped', because: 'SIGTERM' },
];

function writeJournal(records: readonly object[] = RECORDS): string {
  const stateDir = makeDir();
  mkdirSync(join(stateDir, 'journal'));
  writeFileSync(fileIn(stateDir), [HEADER, ...records].map((each) => `${JSON.stringify(each)}\n`).join(''));
  return stateDir;
}
const fileIn = (stateDir: string): string => join(stateDir, 'journal/00000001.jsonl');

test('events as a table', async () => {
  const { status, stdout, stderr } = await runInProcess(['events', '--state-dir', writeJournal()]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout).toBe(
    [
      'TIME                  KIND                 POD            CONTAINER  CPUS  BECAUSE',
      '2026-11-24T10:00:00Z  settings             -              -          -     cpusetd 0.1.0 started, policy static',
      '2026-11-24T10:00:01Z  gap                  -              -          -     not registered with the runtime since 2026-11-24T09:59:58Z: 1 container started without cpusetd (shop/old/app)',
      '2026-11-24T10:00:02Z  pinned               shop/web       app        2-3   it asked for 2 CPUs',
      '2026-11-24T10:00:02Z  moved                -              -          0-1   12 containers; the shared pool changed; for shop/web/app',
      '2026-11-24T10:00:03Z  drifted              shop/web       app        2-3   someone wrote it',
      '2026-11-24T10:00:03Z  repaired             shop/web       app        2-3   -',
      '2026-11-24T10:00:04Z  refused              shop/big       app        -     it asked for 9 (4 times)',
      '2026-11-24T10:00:05Z  alarm                -              -          -     state-not-saved: the disk is full',
      '2026-11-24T10:00:06Z  online-cpus-changed  -              -          -     online 0-6; left 7',
      '2026-11-24T10:00:06Z  settings-changed     -              -          -     reserved-cpus: not set to 0-1; reserved-cpu-count: 2 to not set',
      '2026-11-24T10:00:07Z  left-out             -              -          -     7 records; namespace noisy; too many',
      '2026-11-24T10:00:08Z  teleported           a/\\u001b[31mb  -          -     a newer version\\u000asays so',
      '2026-11-24T10:00:09Z  stopped              -              -          -     SIGTERM',
      '',
    ].join('\n'),
  );
});

test('events as JSON are the records, one a line, harmless for a terminal', async () => {
  const { stdout } = await runInProcess(['events', '-o', 'json', '--state-dir', writeJournal()]);
  expect(stdout).not.toContain('\u001b');
  const lines = stdout.trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(RECORDS);
});

test.each([
  [
    ['--pod', 'shop/web'],
    ['pinned', 'drifted', 'repaired'],
  ],
  [
    ['--pod', 'web'],
    ['pinned', 'drifted', 'repaired'],
  ],
  [['--pod', 'u2'], ['refused']],
  [['--pod', 'shop/cache'], ['moved']],
  [['--pod', 'x'], ['moved']],
  [['--pod', 'other/web'], []],
  [
    ['--kind', 'pinned, refused'],
    ['pinned', 'refused'],
  ],
  [
    ['--since', '2026-11-24T10:00:06Z'],
    ['online-cpus-changed', 'settings-changed', 'left-out', 'teleported', 'stopped'],
  ],
  [
    ['--since', '2026-11-24T11:00:08+01:00'],
    ['teleported', 'stopped'],
  ],
  [['--since', '1m'], []],
  [['--pod', 'web', '--kind', 'drifted', '--since', '2026-11-24'], ['drifted']],
])('events %j are %j', async (args, kinds) => {
  const { status, stdout } = await runInProcess(['events', '-o', 'json', ...args, '--state-dir', writeJournal()]);
  const found = stdout.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as { kind: string })));
  expect({ status, kinds: found.map(({ kind }) => kind) }).toEqual({ status: 0, kinds });
});

test('inputs are for replay: they are shown when they are asked for', async () => {
  const input = { at: '2026-11-24T10:00:07.500Z', kind: 'input', of: 'event', event: { kind: 'pod-stopped' } };
  const stateDir = writeJournal([RECORDS[2]!, input]);
  const { stdout } = await runInProcess(['events', '-o', 'json', '--state-dir', stateDir]);
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  const asked = await runInProcess(['events', '-o', 'json', '--kind', 'input', '--state-dir', stateDir]);
  expect(JSON.parse(asked.stdout)).toEqual(input);
});

test('one file of a journal can be read by itself', async () => {
  const { stdout } = await runInProcess(['events', '--journal', fileIn(writeJournal()), '--kind', 'stopped']);
  expect(stdout).toMatch(/^TIME .*\n2026-11-24T10:00:09Z {2}stopped .*\n$/);
});

test('no event is told in words', async () => {
  const { status, stdout } = await runInProcess(['events', '--pod', 'nobody', '--state-dir', writeJournal()]);
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: 'No events of the pod "nobody": cpusetd status lists the pods that run here, cpusetd events the others.\n',
  });
  const later = await runInProcess(['events', '--since', '1s', '--state-dir', writeJournal()]);
  expect(later).toMatchObject({ status: 0, stdout: 'No events.\n' });
});

test('as YAML it is one document a record', async () => {
  const { stdout } = await runInProcess(['events', '-o', 'yaml', '--state-dir', writeJournal()]);
  const documents = parseAllDocuments(stdout).map((document): unknown => document.toJS());
  expect(documents).toEqual(RECORDS);
});

test.each([
  [
    ['--since', 'yesterday'],
    2,
    "option '--since <time>' argument 'yesterday' is invalid. It is no time; write a duration like 10m or 24h",
  ],
  [['--kind', 'pined'], 2, 'There is no such kind; choose from pinned, switched'],
  [['--pod', 'a/b/c'], 2, 'pod "a/b/c": is no name of a pod'],
  [
    ['--state-dir', '/nowhere'],
    1,
    'cpusetd: /nowhere/journal: no such file or directory; name the state directory of the daemon with --state-dir',
  ],
  [['--journal', '/dev/null'], 1, 'cpusetd: /dev/null is not a regular file'],
])('events %j is refused with the remedy', async (args, status, message) => {
  const run = await runInProcess(['events', ...args]);
  expect(run.status).toBe(status);
  expect(run.stderr).toContain(message);
});

/** Prints all records of a journal with --follow, of which the later ones are written after the first was printed. */
async function follow(records: readonly object[], columns?: number): Promise<string> {
  const stateDir = writeJournal(records.slice(0, 1));
  const stop = new AbortController();
  let printed = '';
  const following = runInProcess(['events', '-f', '--state-dir', stateDir], {
    columns,
    env: { NO_COLOR: '1' },
    signal: stop.signal,
    onPrinted: (text) => (printed += text),
  });
  await waitUntil('the first event', () => printed.includes('10:00:02Z'));
  appendFileSync(
    fileIn(stateDir),
    records
      .slice(1)
      .map((each) => `${JSON.stringify(each)}\n`)
      .join(''),
  );
  await waitUntil('the last event', () => printed.includes('the end'));
  stop.abort();
  expect((await following).status).toBe(0);
  return printed;
}

const END = { at: '2026-11-24T10:00:09.000Z', kind: 'stopped', because: 'the end' };

test('following goes on with what is written, in the same columns, until the signal', async () => {
  expect(await follow([RECORDS[2]!, RECORDS[5]!, END])).toBe(
    [
      'TIME                  KIND                 POD                               CONTAINER             CPUS        BECAUSE',
      '2026-11-24T10:00:02Z  pinned               shop/web                          app                   2-3         it asked for 2 CPUs',
      '2026-11-24T10:00:03Z  repaired             shop/web                          app                   2-3         -',
      '2026-11-24T10:00:09Z  stopped              -                                 -                     -           the end',
      '',
    ].join('\n'),
  );
});

test.each([undefined, 60, 80, 100, 120, 200])(
  'followed in %p columns, each row has the same columns, whatever its names and its kind',
  async (columns) => {
    const long = {
      at: '2026-11-24T10:00:05.000Z',
      kind: 'online-cpus-changed',
      pod: `a-namespace/${'pod-'.repeat(20)}`,
      container: 'container-'.repeat(6),
      cpus: '0,2,4,6,8,10,12,14,16',
      online: '0-3',
    };
    const printed = await follow([RECORDS[2]!, long, END], columns);
    const lines = printed.trimEnd().split('\n');
    const titles = ['TIME', 'KIND', 'POD', 'CONTAINER', 'CPUS'];
    const begins = titles.map((title) => lines[0]!.indexOf(title));
    const rows = lines.filter((line) => line.startsWith('2026-'));
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      const gaps = begins.slice(1).map((at) => row.slice(at - 2, at + 1));
      expect(gaps).toEqual(gaps.map(() => expect.stringMatching(/^ {2}\S$/)));
    }
    const most = Math.max(columns ?? Infinity, 80); // narrower than its names can be, a terminal breaks the lines itself
    expect(lines.filter((line) => line.length > most)).toEqual([]);
    for (const kind of ['pinned', 'online-cpus-changed', 'stopped']) expect(printed).toContain(`Z  ${kind} `);
  },
);
