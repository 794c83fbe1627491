import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { logEvents } from '../../../src/app/journal/event-log';
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

/** Collects the log lines, Events, metrics and history entries about refusals. */
function watchRefusals(rules: Rules = {}) {
  const stage = new Stage(rules);
  const metrics = createMetricsOf();
  const lines: Line[] = [];
  const events: PodEventMessage[] = [];
  const log = pino({}, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  const history = new RefusalHistory({ model: stage.model, now: () => '2026-01-01T00:00:00.000Z' });
  stage.onTransaction = (done) => {
    logEvents(log, done.reported);
    for (const event of done.reported) events.push(...[toPodEvent(stage.model, event) ?? []].flat());
    history.note(done);
    metrics.count(stage.model, done, history.of(done));
  };
  return {
    stage,
    collected: async () => ({
      history: history
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
  /** Called before each attempt. */
  readonly prepare: (stage: Stage) => void | Promise<void>;
  readonly target?: string;
  readonly cpus?: number;
  readonly code: string;
}

/** One row for each part that may refuse a creation, and each reason. */
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
    name: 'the core, for an invalid name',
    prepare: () => undefined,
    target: `p/${'n'.repeat(253)}x`,
    code: 'INVALID_ARGUMENT',
  },
  {
    name: 'a save that fails',
    prepare: (stage) => void (stage.saveProblem = { because: 'no space', onDisk: 'old' }),
    code: 'UNAVAILABLE',
  },
  {
    name: 'an internal fault in the decision',
    prepare: (stage) => {
      stage.model.holdingsOf = () => {
        throw new TypeError('a fault');
      };
    },
    code: 'INTERNAL',
  },
  {
    name: 'an internal fault before the decision',
    prepare: (stage) => {
      stage.beforeHandle = () => {
        throw new TypeError('a fault');
      };
    },
    code: 'INTERNAL',
  },
  {
    name: 'the proxy, while it synchronizes',
    prepare: (stage) => void (stage.ready = false),
    code: 'UNAVAILABLE',
  },
  {
    name: 'the proxy, because other containers can’t leave its CPUs',
    prepare: async (stage) => {
      if (!stage.model.containers.has('s/web')) await stage.run('s/web', 0.5);
      stage.writes = false;
      stage.carryOut = STUBBORN;
    },
    code: 'UNAVAILABLE',
  },
];

describe.each(KINDS)('a creation that is refused by $name', ({ rules, prepare, target = 'p/db', cpus = 2, code }) => {
  test('is in the history, an Event, the metrics and the log, once per attempt', async () => {
    const { stage, collected } = watchRefusals(rules);
    const before = await collected();
    const [pod = '', name = ''] = target.split('/');
    for (let times = 1; times <= 3; times++) {
      await prepare(stage);
      expect(await stage.create(target, cpus)).toMatch(/^[A-Z_]+: /);
      const now = await collected();
      expect(now).toEqual({
        history: [`${pod}/${name.slice(0, 253)} creation ${code} ${times}`],
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

test('a creation that succeeds at the second attempt ends its refusal', async () => {
  const { stage, collected } = watchRefusals();
  await stage.run('s/web', 0.5);
  stage.writes = false;
  stage.carryOut = STUBBORN;
  await stage.create('p/db', 2);
  expect((await collected()).history).toEqual(['p/db creation UNAVAILABLE 1']);
  stage.carryOut = () => Promise.resolve(undefined);
  await stage.create('p/db', 2);
  expect(await collected()).toMatchObject({ history: [], requests: 2, errors: 1, refusals: 1 });
});

test('a creation that shares instead is no refusal, but did not get the CPUs that it asked for', async () => {
  const { stage, collected } = watchRefusals({ onInsufficientCpu: 'share' });
  await stage.run('s/web', 0.5);
  stage.writes = false;
  stage.carryOut = STUBBORN;
  await stage.create('p/db', 2);
  expect(await collected()).toMatchObject({ history: [], events: [], lines: [], requests: 1, errors: 1, refusals: 0 });
});

test('a request refused before it is read is in log and metrics, without a name', async () => {
  const { stage, collected } = watchRefusals();
  await stage.call('CreateContainer').refuseUnread(8, 'too many calls are open at a time, try again');
  await stage.call('StartContainer').refuseUnread(13, 'the request is not exactly one message');
  expect(await collected()).toMatchObject({ history: [], events: [], refusals: 2 });
  expect((await collected()).lines).toEqual(['undefined/undefined RESOURCE_EXHAUSTED', 'undefined/undefined INTERNAL']);
});

test('a cancelled call, and one that ends because the runtime is away, are no refusals', async () => {
  const { stage, collected } = watchRefusals();
  let open: (isReady: boolean) => void = () => undefined;
  stage.ready = new Promise((resolve) => (open = resolve));
  const call = stage.call('CreateContainer');
  const verdict = call.request(createRequest('p/db', 2));
  await call.cancel();
  open(false);
  await verdict;
  await stage.call('CreateContainer').refuseUnread(14, 'the container runtime does not answer on its socket');
  expect(await collected()).toMatchObject({ history: [], events: [], lines: [], refusals: 0 });
});

describe('a start', () => {
  test('that is refused is in the history until it succeeds', async () => {
    const { stage, collected } = watchRefusals();
    await stage.create('p/db', 2);
    await stage.create('s/web', 0.5);
    stage.writes = false;
    await stage.create('q/other', 2); // changes the shared pool, so that the record of web is outdated
    stage.carryOut = STUBBORN;
    for (let times = 1; times <= 2; times++) {
      expect(await stage.call('StartContainer').request(idOf('s/web'))).toMatch(
        /^UNAVAILABLE: its CPUs could not be set before/,
      );
      expect(await collected()).toMatchObject({
        history: [`s/web start UNAVAILABLE ${times}`],
        events: Array(times).fill('s/web'),
        lines: Array(times).fill('ns/s/web UNAVAILABLE'),
        refusals: times,
        unnamed: [],
      });
    }
    stage.carryOut = () => Promise.resolve(undefined);
    await stage.start('s/web');
    expect((await collected()).history).toEqual([]);
  });
});

describe('a change', () => {
  test.each`
    name                                     | prepare                                                                                | cpus | code
    ${'that does not fit'}                   | ${() => undefined}                                                                     | ${8} | ${'RESOURCE_EXHAUSTED'}
    ${'whose CPUs others can’t leave'}       | ${(stage: Stage) => ((stage.writes = false), (stage.carryOut = STUBBORN))}             | ${4} | ${'UNAVAILABLE'}
    ${'that comes during a synchronization'} | ${(stage: Stage) => void (stage.ready = false)}                                        | ${4} | ${'UNAVAILABLE'}
    ${'that can’t be saved'}                 | ${(stage: Stage) => void (stage.saveProblem = { because: 'no space', onDisk: 'old' })} | ${4} | ${'UNAVAILABLE'}
  `('$name is in the history, an Event and the log, once per attempt', async ({ prepare, cpus, code }) => {
    const { stage, collected } = watchRefusals();
    await stage.run('s/web', 0.5);
    await stage.run('p/db', 2);
    (prepare as (stage: Stage) => void)(stage);
    for (let times = 1; times <= 2; times++) {
      const call = stage.call('UpdateContainerResources');
      expect(await call.request(updateRequest('p/db', resourcesOf(Number(cpus))))).toMatch(/^[A-Z_]+: /);
      expect(await collected()).toMatchObject({
        history: [`p/db change ${String(code)} ${times}`],
        events: Array(times).fill('p/db'),
        lines: Array(times).fill(`ns/p/db ${String(code)}`),
        unnamed: [],
      });
    }
  });
});

test('refusals are made in one place of the adapter, and logged from one place of the transactor', () => {
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
