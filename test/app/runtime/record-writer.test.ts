import { pino } from 'pino';
import { RecordWriter } from '../../../src/app/runtime/record-writer';
import { parseCpuList } from '../../../src/core/cpuset';
import { CpusetdError } from '../../../src/core/errors';
import type { Container } from '../../../src/core/model/container';
import { NodeModel } from '../../../src/core/model/node-model';
import { EIGHT_CPUS, settingsWith } from '../../core/transition/node-driver';
import { recorderOf } from '../../support/recorder-of';

const promiseOf = (cpus: string) => ({ cpus: parseCpuList(cpus), mems: parseCpuList('') });

/** A writer whose updates end when the test ends them. */
class Stage {
  readonly model = new NodeModel(EIGHT_CPUS, settingsWith());
  readonly stop = new AbortController();
  readonly writes: string[] = [];
  readonly open: { resolve: () => void; reject: (error: unknown) => void }[] = [];
  readonly writer = new RecordWriter(
    {
      model: this.model,
      transactor: recorderOf(this.model),
      log: pino({ level: 'silent' }),
      signal: this.stop.signal,
      update: (id, { cpus }) => {
        this.writes.push(`${id} ${cpus.toString()}`);
        return new Promise((resolve, reject) => this.open.push({ resolve, reject }));
      },
    },
    () => undefined,
  );

  promise(id: string, cpus: string, has: string): void {
    const container = {
      id,
      sandboxId: 's',
      podUid: 'u',
      name: id,
      cgroupsPath: `/u/${id}`,
      phase: 'running',
      resources: {},
      placement: 'shared',
      entitledCpus: 0,
      freshAssignment: false,
      because: '',
      promise: promiseOf(cpus),
      applied: promiseOf(has),
      runtimeRecord: promiseOf(has),
    } as Container;
    this.model.apply({ kind: 'put-container', container });
  }
}

let stage: Stage;
beforeEach(() => (stage = new Stage()));
afterEach(() => stage.stop.abort());

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('flush has the runtime write the promise, and resolves after that', async () => {
  stage.promise('a', '0', '0-7');
  const settled = stage.writer.flush(['a']);
  expect(stage.writes).toEqual(['a 0']);
  stage.open[0]!.resolve();
  expect(await settled).toBeUndefined();
  expect(stage.model.containers.get('a')?.applied?.cpus.toString()).toBe('0');
});

test('flush of a container that is up to date or unknown writes nothing', async () => {
  stage.promise('a', '0', '0');
  expect(await stage.writer.flush(['a', 'b'])).toBeUndefined();
  expect(stage.writes).toEqual([]);
});

test('flush writes again when the promise changed during the update', async () => {
  stage.promise('a', '0-3', '0-7');
  const settled = stage.writer.flush(['a']);
  stage.promise('a', '0', '0-7');
  stage.open[0]!.resolve();
  await turn();
  expect(stage.writes).toEqual(['a 0-3', 'a 0']);
  stage.open[1]!.resolve();
  expect(await settled).toBeUndefined();
});

test('flush waits for an outdated update in flight, also of another caller', async () => {
  stage.promise('a', '0-3', '0-7');
  const first = stage.writer.flush(['a']);
  stage.promise('a', '0', '0');
  let isSettled = false;
  const other = stage.writer.flush([]).then(() => (isSettled = true));
  await turn();
  expect(isSettled).toBe(false);
  stage.open[0]!.resolve();
  await turn();
  stage.open.slice(1).forEach(({ resolve }) => resolve());
  await Promise.all([first, other]);
  expect(stage.writes.at(-1)).toBe('a 0');
});

test('flush returns the first failure; NOT_FOUND is none', async () => {
  stage.promise('a', '0', '0-7');
  stage.promise('b', '0', '0-7');
  const settled = stage.writer.flush(['a', 'b']);
  stage.open[0]!.reject(new CpusetdError('NOT_FOUND', 'no such container'));
  stage.open[1]!.reject(new CpusetdError('UNAVAILABLE', 'away'));
  expect(await settled).toMatchObject({ code: 'UNAVAILABLE' });
});

test('flush ignores failures of containers that it was not asked about', async () => {
  stage.promise('a', '0-3', '0-7');
  const first = stage.writer.flush(['a']);
  stage.promise('a', '0', '0-7');
  const other = stage.writer.flush(['b']);
  for (let n = 0; n < 2; n++) {
    stage.open[n]!.reject(new CpusetdError('UNAVAILABLE', 'away'));
    await turn();
  }
  expect(await other).toBeUndefined();
  expect(await first).toMatchObject({ code: 'UNAVAILABLE' });
});
