import { mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { QosActionsNote } from '../../../src/app/qos/qos-actions-note';
import { isOwed, OWED, type Owed } from '../../../src/app/owed-effects/owed';
import { OwedNote } from '../../../src/app/owed-effects/owed-note';
import { showSetAside } from '../../../src/app/owed-effects/set-aside';
import { undoWithin } from '../../../src/app/owed-effects/undo-within';
import { nodeFsOps, type FsOps } from '../../../src/files/fs-ops';
import { fsError } from '../../state/support/fs-doubles';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();
const FILE = OWED.lentResources.file;

function open(stateDir: string, fs?: FsOps) {
  const lines: { msg: string; because: string; movedTo?: string }[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  const note = new OwedNote(OWED.lentResources, { stateDir, alarms, log, ...(fs && { fs }) });
  return { note, alarms, lines };
}

test('what was saved is known to the next process, and nothing is owed after it was forgotten', () => {
  const stateDir = makeDir();
  const { note } = open(stateDir);
  expect([note.load(), isOwed(stateDir, OWED.lentResources)]).toEqual([{ kind: 'nothing' }, false]);
  note.save({ nodeName: 'node-a' });
  expect(isOwed(stateDir, OWED.lentResources)).toBe(true);
  expect(open(stateDir).note.load()).toEqual({ kind: 'known', value: { nodeName: 'node-a' }, isSealed: true });
  note.forget();
  expect([open(stateDir).note.load(), isOwed(stateDir, OWED.lentResources)]).toEqual([{ kind: 'nothing' }, false]);
});

const UNUSABLE: readonly (readonly [string, (path: string) => void])[] = [
  ['not JSON', (path) => writeFileSync(path, '{"version":;')],
  ['empty', (path) => writeFileSync(path, '')],
  ['of another version', (path) => writeFileSync(path, '{"version":2,"node":"a"}')],
  ['of a wrong checksum', (path) => writeFileSync(path, '{"version":1,"node":"a","checksum":"sha256:0"}')],
  ['too long', (path) => writeFileSync(path, ' '.repeat(OWED.lentResources.format.maxBytes + 1))],
  ['a folder', (path) => mkdirSync(path)],
  ['a link', (path) => symlinkSync('/etc/hostname', path)],
  ['a link to nothing', (path) => symlinkSync('/none', path)],
];

test.each(UNUSABLE)('a note that is %s: one result, one alarm, one file that is kept', (_, spoil) => {
  const stateDir = makeDir();
  spoil(join(stateDir, FILE));
  const first = open(stateDir);
  expect(first.note.load()).toEqual({ kind: 'lost' });
  expect(readdirSync(stateDir)).toEqual([FILE, `${FILE}.bad-1`]);
  expect(first.lines.map(({ msg }) => msg)).toEqual(['a note of what has to be undone is lost', 'alarm']);
  expect(first.alarms.list()).toMatchObject([
    {
      kind: 'note-set-aside',
      subject: FILE,
      because: `${join(stateDir, FILE)} could not be used, and was set aside as ${FILE}.bad-1: ${OWED.lentResources.without}. Remove what was set aside when you have looked at it`,
    },
  ]);
  // A process that ended before it has undone anything is followed by one that knows.
  expect([isOwed(stateDir, OWED.lentResources), open(stateDir).note.load()]).toEqual([true, { kind: 'lost' }]);
});

test.each(Object.entries(OWED) as unknown as [string, Owed<unknown>][])(
  'a lost note (%s) is owed over restarts until a new one replaces it, also when what was set aside is removed at once',
  (_, owed) => {
    const stateDir = makeDir();
    const path = join(stateDir, owed.file);
    const next = () => new OwedNote(owed, { stateDir, log: pino({ enabled: false }) });
    writeFileSync(path, 'no');
    expect(next().load()).toEqual({ kind: 'lost' });
    rmSync(`${path}.bad-1`);
    for (const note of [next(), next()])
      expect([note.load(), note.isSetAside, isOwed(stateDir, owed)]).toEqual([{ kind: 'lost' }, false, true]);
    next().forget();
    expect([next().load(), isOwed(stateDir, owed)]).toEqual([{ kind: 'nothing' }, false]);
  },
);

test('a loss that can not be noted is not known: it is asked for again', () => {
  const stateDir = makeDir();
  writeFileSync(join(stateDir, FILE), 'no');
  const fsync = (): never => {
    throw fsError('ENOSPC');
  };
  const { note } = open(stateDir, { ...nodeFsOps, fsync });
  expect(note.load()).toMatchObject({ kind: 'unknown', because: expect.any(String) as string });
  expect(open(stateDir).note.load()).toEqual({ kind: 'lost' });
});

test('the alarm lasts over restarts and over new notes, until the file is removed or renamed', () => {
  const stateDir = makeDir();
  writeFileSync(join(stateDir, FILE), '');
  open(stateDir).note.load();
  const next = open(stateDir);
  next.note.load();
  next.note.save({ nodeName: 'node-a' });
  const third = open(stateDir);
  expect(third.note.load()).toMatchObject({ kind: 'known' });
  expect(third.alarms.list()).toMatchObject([{ kind: 'note-set-aside' }]);
  renameSync(join(stateDir, `${FILE}.bad-1`), join(stateDir, 'looked-at'));
  showSetAside(stateDir, third.alarms);
  expect(third.alarms.list()).toEqual([]);
});

test.each(['EMFILE', 'ENFILE', 'ENOMEM'])('a note that can not be read now (%s) stays in its place', (code) => {
  const stateDir = makeDir();
  open(stateDir).note.save({ nodeName: 'node-a' });
  const readText = (): never => {
    throw fsError(code);
  };
  const { note, alarms } = open(stateDir, { ...nodeFsOps, readText });
  expect(note.load()).toMatchObject({ kind: 'unknown', because: expect.stringContaining(code) as string });
  expect([readdirSync(stateDir), alarms.list()]).toEqual([[FILE], []]);
});

test('a note that can neither be used nor be set aside is not known: nothing may replace it', () => {
  const stateDir = makeDir();
  writeFileSync(join(stateDir, FILE), 'no');
  const rename = (): never => {
    throw fsError('EROFS');
  };
  const { note } = open(stateDir, { ...nodeFsOps, rename });
  expect(note.load()).toMatchObject({
    kind: 'unknown',
    because: expect.stringMatching(/is not JSON.*can't set aside.*EROFS/) as string,
  });
  expect(readdirSync(stateDir)).toEqual([FILE]);
});

test('while the state directory can not be listed nobody knows what was set aside: nothing is owed less, and no alarm ends', () => {
  const stateDir = makeDir();
  writeFileSync(join(stateDir, FILE), 'no');
  const readdir = (): never => {
    if (isFailing) throw fsError('EMFILE');
    return nodeFsOps.readdir(stateDir) as never;
  };
  let isFailing = false;
  const fs = { ...nodeFsOps, readdir };
  const { note, alarms } = open(stateDir, fs);
  note.load();
  note.forget();
  isFailing = true;
  note.look();
  expect(alarms.list()).toMatchObject([{ kind: 'note-set-aside' }]);
  expect([note.isSetAside, isOwed(stateDir, OWED.lentResources, fs)]).toEqual([true, true]);
  const because = expect.stringContaining('EMFILE') as string;
  expect(open(stateDir, fs).note.load()).toEqual({ kind: 'unknown', because });
  const actions = new QosActionsNote({ stateDir, fs, bootId: 'b', log: pino({ enabled: false }) });
  expect(actions.whyNoAction).toEqual(because);
  isFailing = false;
  expect([open(stateDir, fs).note.load(), actions.whyNoAction]).toEqual([{ kind: 'lost' }, undefined]);
});

// Any other error of listing says nothing about what is there.
test('a state directory that does not exist has nothing set aside: no alarm', () => {
  const stateDir = join(makeDir(), 'gone');
  const { alarms } = open(stateDir);
  showSetAside(stateDir, alarms);
  expect(alarms.list()).toEqual([]);
});

test('undoing at the end: what is left is said, and what hangs is given up after the time', async () => {
  expect(await undoWithin(1_000, () => Promise.resolve(undefined), 'late')).toBeUndefined();
  expect(await undoWithin(1_000, () => Promise.resolve('a reason'), 'late')).toBe('a reason');
  const given: AbortSignal[] = [];
  const hanging = (signal: AbortSignal): Promise<undefined> => {
    given.push(signal);
    return new Promise(() => undefined);
  };
  expect(await undoWithin(5, hanging, 'late')).toBe('late');
  expect(given[0]?.aborted).toBe(true);
});
