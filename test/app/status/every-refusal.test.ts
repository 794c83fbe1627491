import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { logEvents } from '../../../src/app/status/event-log';
import { toPodEvent } from '../../../src/app/apiserver/to-pod-event';
import { RefusalHistory } from '../../../src/app/status/refusal-history';
import type { PodEventMessage } from '../../../src/kube';
import { createRequest, resourcesOf, updateRequest } from '../../cri/interceptors/messages';
import { idOf, Stage } from '../../cri/interceptors/stage';
import type { Rules } from '../../core/transition/node-driver';
import { createMetricsOf } from './refusal-metrics';

interface Line {
  readonly msg: string;
  readonly pod?: string;
  readonly container?: string;
  readonly containerId?: string;
  readonly code?: string;
}

/** Everything that is told of refusals, beside the answers of the adapter. */
function watchRefusals(rules: Rules = {}) {
  const stage = new Stage(rules);
  const metrics = createMetricsOf();
  const lines: Line[] = [];
  const events: PodEventMessage[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  const book = new RefusalHistory({ model: stage.model, now: () => '2026-01-01T00:00:00.000Z' });
  stage.onTransaction = (done) => {
    logEvents(log, done.reported);
    for (const event of done.reported) events.push(...[toPodEvent(stage.model, event) ?? []].flat());
    book.note(done);
    metrics.count(stage.model, done, book.of(done));
  };
  return {
    stage,
    told: async () => ({
      book: book
        .list()
        .map(({ podUid, containerName, asked, code, times }) => `${podUid}/${containerName} ${asked} ${code} ${times}`),
      events: events
        .filter(({ reason }) => reason === 'CpusRefused')
        .map(({ pod, container }) => `${pod.name}/${container}`),
      lines: lines
        .filter(({ msg }) => msg === 'refused')
        .map(({ pod, container, code }) => `${pod}/${container} ${code}`),
      unnamed: stage.lines.unnamed,
      ...(await metrics.read()),
    }),
  };
}

const STUBBORN = () => Promise.resolve('the runtime is stubborn');

interface Kind {
  readonly name: string;
  readonly rules?: Rules;
  /** Before each try. */
  readonly prepare: (stage: Stage) => void | Promise<void>;
  readonly target?: string;
  readonly cpus?: number;
  readonly code: string;
}

/** One row for each part that may refuse a creation, and for each reason. */
const KINDS: readonly Kind[] = [
  { name: 'the core, for lack of CPUs', prepare: () => undefined, cpus: 8, code: 'RESOURCE_EXHAUSTED' },
  {
    name: 'the core, by its rules',
    rules: { options: { fullPcpusOnly: true } },
    prepare: () => undefined,
    cpus: 3,
    code: 'FAILED_PRECONDITION',
  },
  {
    name: 'the core, for what it was told',
    prepare: () => undefined,
    target: `p/${'n'.repeat(253)}x`,
    code: 'INVALID_ARGUMENT',
  },
  {
    name: 'the disk',
    prepare: (stage) => void (stage.saveProblem = { because: 'no space', onDisk: 'old' }),
    code: 'UNAVAILABLE',
  },
  {
    name: 'a fault in deciding',
    prepare: (stage) => {
      stage.model.holdingsOf = () => {
        throw new TypeError('a fault');
      };
    },
    code: 'INTERNAL',
  },
  {
    name: 'a fault before it',
    prepare: (stage) => {
      stage.beforeHandle = () => {
        throw new TypeError('a fault');
      };
    },
    code: 'INTERNAL',
  },
  {
    name: 'the proxy, while the runtime is asked',
    prepare: (stage) => void (stage.ready = false),
    code: 'UNAVAILABLE',
  },
  {
    name: 'the proxy, where others stay on its CPUs',
    prepare: async (stage) => {
      if (!stage.model.containers.has('s/web')) await stage.run('s/web', 0.5);
      stage.writes = false;
      stage.carryOut = STUBBORN;
    },
    code: 'UNAVAILABLE',
  },
];

describe.each(KINDS)('a creation that is refused by $name', ({ rules, prepare, target = 'p/db', cpus = 2, code }) => {
  test('is in the book, an Event, the metrics and the log, each try once', async () => {
    const { stage, told } = watchRefusals(rules);
    const before = await told();
    const [pod = '', name = ''] = target.split('/');
    for (let times = 1; times <= 3; times++) {
      await prepare(stage);
      expect(await stage.create(target, cpus)).toMatch(/^[A-Z_]+: /);
      const now = await told();
      expect(now).toEqual({
        book: [`${pod}/${name.slice(0, 253)} creation ${code} ${times}`],
        events: Array(times).fill(`${pod}/${name}`),
        lines: Array(times).fill(`ns/${pod}/${name} ${code}`),
        unnamed: [],
        requests: before.requests + 1,
        errors: before.errors + 1,
        refusals: times,
      });
    }
  });
});

test('a creation that waited for others to leave, and was made, is none, and ends an earlier refusal', async () => {
  const { stage, told } = watchRefusals();
  await stage.run('s/web', 0.5);
  stage.writes = false;
  stage.carryOut = STUBBORN;
  await stage.create('p/db', 2);
  expect((await told()).book).toEqual(['p/db creation UNAVAILABLE 1']);
  stage.carryOut = () => Promise.resolve(undefined);
  await stage.create('p/db', 2);
  expect(await told()).toMatchObject({ book: [], requests: 2, errors: 1, refusals: 1 });
});

test('one that shares because others stay is no refusal', async () => {
  const { stage, told } = watchRefusals({ onInsufficientCpu: 'share' });
  await stage.run('s/web', 0.5);
  stage.writes = false;
  stage.carryOut = STUBBORN;
  await stage.create('p/db', 2);
  expect(await told()).toMatchObject({ book: [], events: [], lines: [], requests: 0, refusals: 0 });
});

test('one that the proxy refuses before it is read is in log and metrics: nobody knows whose it is', async () => {
  const { stage, told } = watchRefusals();
  await stage.call('CreateContainer').refuseUnread(8, 'too many calls are open at a time, try again');
  await stage.call('StartContainer').refuseUnread(13, 'the request is not exactly one message');
  expect(await told()).toMatchObject({ book: [], events: [], refusals: 2 });
  expect((await told()).lines).toEqual(['undefined/undefined RESOURCE_EXHAUSTED', 'undefined/undefined INTERNAL']);
});

test('one whose caller has gone, or that ends because the runtime is away, is no refusal', async () => {
  const { stage, told } = watchRefusals();
  let open: (isReady: boolean) => void = () => undefined;
  stage.ready = new Promise((resolve) => (open = resolve));
  const call = stage.call('CreateContainer');
  const verdict = call.request(createRequest('p/db', 2));
  await call.cancel();
  open(false);
  await verdict;
  await stage.call('CreateContainer').refuseUnread(14, 'the container runtime does not answer on its socket');
  expect(await told()).toMatchObject({ book: [], events: [], lines: [], refusals: 0 });
});

describe('a start', () => {
  test('that is refused is remembered until it succeeds', async () => {
    const { stage, told } = watchRefusals();
    await stage.create('p/db', 2);
    await stage.create('s/web', 0.5);
    stage.writes = false;
    await stage.create('q/other', 2); // the pool is another, and the record of web is behind
    stage.carryOut = STUBBORN;
    for (let times = 1; times <= 2; times++) {
      expect(await stage.call('StartContainer').request(idOf('s/web'))).toMatch(
        /^UNAVAILABLE: its CPUs could not be set before/,
      );
      expect(await told()).toMatchObject({
        book: [`s/web start UNAVAILABLE ${times}`],
        events: Array(times).fill('s/web'),
        lines: Array(times).fill('ns/s/web UNAVAILABLE'),
        refusals: times,
        unnamed: [],
      });
    }
    stage.carryOut = () => Promise.resolve(undefined);
    await stage.start('s/web');
    expect((await told()).book).toEqual([]);
  });
});

describe('a change', () => {
  test.each`
    name                    | prepare                                                                                | cpus | code
    ${'does not fit'}       | ${() => undefined}                                                                     | ${8} | ${'RESOURCE_EXHAUSTED'}
    ${'finds others there'} | ${(stage: Stage) => ((stage.writes = false), (stage.carryOut = STUBBORN))}             | ${4} | ${'UNAVAILABLE'}
    ${'comes too early'}    | ${(stage: Stage) => void (stage.ready = false)}                                        | ${4} | ${'UNAVAILABLE'}
    ${'can not be saved'}   | ${(stage: Stage) => void (stage.saveProblem = { because: 'no space', onDisk: 'old' })} | ${4} | ${'UNAVAILABLE'}
  `('that $name is in the book, an Event and the log', async ({ prepare, cpus, code }) => {
    const { stage, told } = watchRefusals();
    await stage.run('s/web', 0.5);
    await stage.run('p/db', 2);
    (prepare as (stage: Stage) => void)(stage);
    for (let times = 1; times <= 2; times++) {
      const call = stage.call('UpdateContainerResources');
      expect(await call.request(updateRequest('p/db', resourcesOf(Number(cpus))))).toMatch(/^[A-Z_]+: /);
      expect(await told()).toMatchObject({
        book: [`p/db change ${String(code)} ${times}`],
        events: Array(times).fill('p/db'),
        lines: Array(times).fill(`ns/p/db ${String(code)}`),
        unnamed: [],
      });
    }
  });
});

test('nothing in the adapter ends a call with an error, and nothing writes the line of a refusal, but the one way out', () => {
  const sources = ['src/cri/interceptors', 'src/core/transition', 'src/app'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  const having = (pattern: RegExp): string[] =>
    sources.filter((path) => path.endsWith('.ts') && pattern.test(readFileSync(path, 'utf8')));
  expect(having(/refuse: (?!Record|OwnError)|toOwnError/)).toEqual(['src/cri/interceptors/refusal.ts']);
  expect(having(/kind: 'refused',\s*subject/)).toEqual(['src/app/transaction/transaction.ts']);
  expect(having(/toRefused/).sort()).toEqual([
    'src/app/transaction/transaction.ts',
    'src/app/transaction/transactor.ts',
  ]);
});
