import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EventEmitter, once } from 'node:events';
import { pino } from 'pino';
import { withClosers } from '../../../src/app/lifecycle/closers';
import { openRefusals, readRefusals, RefusalFile } from '../../../src/app/status/refusal-file';
import { NodeModel } from '../../../src/core/model/node-model';
import type { Refusal } from '../../../src/core/model/refusal';
import { encodeRefusals } from '../../../src/state/refusals';
import { EIGHT_CPUS, podOf, resourcesOf, settingsWith } from '../../core/transition/node-driver';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();
const now = () => '2026-11-22T10:00:00.000Z';

function createLog() {
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) });
  return { log, lines };
}

const refusalOf = (podUid: string, times = 1): Refusal => ({
  podUid,
  podNamespace: 'ns',
  podName: podUid,
  containerName: 'app',
  asked: 'creation',
  requested: 9,
  policy: 'static',
  code: 'RESOURCE_EXHAUSTED',
  because: 'there are 7',
  zones: [{ node: 0, allocatable: 7, free: 7 }],
  firstAt: now(),
  lastAt: now(),
  times,
});

/** Runs a daemon's refusal history in which these pods are refused. Returns the entries at its end. */
async function runHistory(stateDir: string, refused: readonly string[]) {
  const { log, lines } = createLog();
  const model = new NodeModel(EIGHT_CPUS, settingsWith());
  const names = await withClosers((onClose) => {
    const history = openRefusals({ stateDir, model, now, log, onClose });
    for (const uid of refused) {
      const pod = podOf(uid);
      const resources = resourcesOf(9);
      const container = {
        id: uid,
        sandboxId: pod.sandboxId,
        name: 'app',
        phase: 'creating',
        cgroupsPath: '',
        resources,
      } as const;
      history.note({
        event: 'create-container',
        request: { kind: 'create-container', pod, container },
        answer: { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', message: 'there are 7' },
        moves: [],
        failedMoves: [],
        reported: [],
        timing: { decideMs: 0, saveMs: 0, moveMs: 0 },
      });
    }
    return Promise.resolve(history.list().map(({ podUid, times }) => `${podUid} ${times}`));
  });
  return { names, lines };
}

test('refusals are known after a restart, and attempts are counted on', async () => {
  const stateDir = makeDir();
  await runHistory(stateDir, ['a', 'b', 'a']);
  expect(await runHistory(stateDir, ['b'])).toEqual({ names: ['a 2', 'b 2'], lines: [] });
  expect(statSync(join(stateDir, 'refusals.json')).mode & 0o777).toBe(0o600);
});

test('no refusal: no file', async () => {
  const stateDir = makeDir();
  expect(await runHistory(stateDir, [])).toEqual({ names: [], lines: [] });
  expect(readdirSync(stateDir)).toEqual([]);
});

test.each([
  ['damaged', (path: string) => writeFileSync(path, '{"version":1,"refus')],
  ['too large', (path: string) => writeFileSync(path, ' '.repeat(5 * 2 ** 20))],
  ['a folder', (path: string) => mkdirSync(path)],
  ['a link', (path: string) => symlinkSync('/etc/passwd', path)],
])('a file that is %s is ignored with a warning', (_name, make) => {
  const { log, lines } = createLog();
  const path = join(makeDir(), 'refusals.json');
  make(path);
  expect(readRefusals(path, log)).toEqual([]);
  expect(lines).toEqual(['earlier refusals are forgotten']);
});

test('a symbolic link at the path of the temporary file is not followed', async () => {
  const stateDir = makeDir();
  const victim = join(makeDir(), 'victim');
  writeFileSync(victim, 'precious');
  symlinkSync(victim, join(stateDir, 'refusals.json.tmp'));
  await runHistory(stateDir, ['a']);
  expect(readFileSync(victim, 'utf8')).toBe('precious');
  expect((await runHistory(stateDir, [])).names).toEqual(['a 1']);
});

test('a missing state directory: refusals are counted, one warning is logged, and the close succeeds', async () => {
  const stateDir = join(makeDir(), 'gone');
  expect(await runHistory(stateDir, ['a', 'b'])).toEqual({
    names: ['a 1', 'b 1'],
    lines: ['refusals are not kept over a restart'],
  });
  expect(existsSync(stateDir)).toBe(false);
});

/** A file whose writes the test ends one by one. */
function stage({ gatherMs = 1, retriesMs = 60_000 } = {}) {
  const { log, lines } = createLog();
  const begun = new EventEmitter();
  const texts: string[] = [];
  let refusals: readonly Refusal[] = [];
  let finish: (error?: Error) => void = () => undefined;
  const file = new RefusalFile({
    path: 'refusals.json',
    list: () => refusals,
    log,
    gatherMs,
    retriesMs,
    replace: (_path, text) =>
      new Promise((resolve, reject) => {
        texts.push(text);
        finish = (error) => (error ? reject(error) : resolve());
        begun.emit('write');
      }),
  });
  const change = (to: readonly Refusal[], kind: 'entries' | 'repeated' = 'entries'): void => {
    refusals = to;
    file.touch(kind);
  };
  return { file, lines, texts, change, write: () => once(begun, 'write'), finish: (error?: Error) => finish(error) };
}

test('many changes become one write at a time, and the last write has the last change', async () => {
  const { file, texts, change, write, finish } = stage();
  for (let i = 1; i <= 100; i++) change([refusalOf('a', i)]);
  await write();
  expect(texts).toEqual([encodeRefusals([refusalOf('a', 100)])]);
  for (let i = 101; i <= 200; i++) change([refusalOf('a', i)]);
  await delay(20); // the next write is due while this one is in flight
  expect(texts).toHaveLength(1);
  const next = write();
  finish();
  await next;
  expect(texts[1]).toBe(encodeRefusals([refusalOf('a', 200)]));
  finish();
  await file.close();
  expect(texts).toHaveLength(2);
});

test('repetitions alone are written late, or at the close', async () => {
  const { file, texts, change, write, finish } = stage({ gatherMs: 1 });
  change([refusalOf('a', 2)], 'repeated');
  await delay(20);
  expect(texts).toEqual([]);
  const written = write();
  const closed = file.close();
  await written;
  finish();
  await closed;
  expect(texts).toEqual([encodeRefusals([refusalOf('a', 2)])]);
});

test('a failing write is logged once until one succeeds, and repeated with the next change', async () => {
  const { file, lines, change, write, finish } = stage();
  for (const error of [new Error('full'), new Error('full'), undefined, new Error('full')]) {
    const begun = write();
    change([refusalOf('a')]);
    await begun;
    finish(error);
    await delay(0);
  }
  expect(lines).toEqual(['refusals are not kept over a restart', 'refusals are not kept over a restart']);
  const [last, closed] = [write(), file.close()];
  await last;
  finish();
  await closed;
});

test('a write that hangs does not delay the close', async () => {
  const { file, change, write } = stage();
  const begun = write();
  change([refusalOf('a')]);
  await begun;
  await file.close();
});
