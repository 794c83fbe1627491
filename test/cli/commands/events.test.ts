import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'No events.\n' });
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

test('following goes on with what is written, in the same columns, until the signal', async () => {
  const stateDir = writeJournal([RECORDS[2]!]);
  const stop = new AbortController();
  let printed = '';
  const following = runInProcess(['events', '-f', '--state-dir', stateDir], {
    signal: stop.signal,
    onPrinted: (text) => (printed += text),
  });
  await waitUntil('the first event', () => printed.includes('pinned'));
  appendFileSync(fileIn(stateDir), `${JSON.stringify(RECORDS[5])}\n`);
  await waitUntil('the second event', () => printed.includes('repaired'));
  stop.abort();
  expect((await following).status).toBe(0);
  expect(printed).toBe(
    [
      'TIME                  KIND    POD       CONTAINER  CPUS  BECAUSE',
      '2026-11-24T10:00:02Z  pinned  shop/web  app        2-3   it asked for 2 CPUs',
      '2026-11-24T10:00:03Z  repaired  shop/web  app        2-3   -',
      '',
    ].join('\n'),
  );
});
