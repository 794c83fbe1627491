import { DriftDiagnosis } from '../../../src/app/reconcile/drift-diagnosis';
import { updateRequestAlarms } from '../../../src/app/reconcile/request-alarms';
import { Sweep } from '../../../src/app/reconcile/sweep';
import { VerdictStore } from '../../../src/app/status/verdict-store';
import { Transactor } from '../../../src/app/transaction/transactor';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { GONE_LIMIT_MS } from '../../../src/core/verdict/observation';
import type { DaemonContext } from '../../../src/app/context';
import type { Cgroups, ContainerToLocate, Located } from '../../../src/host';
import { NodeDriver, type Rules } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

/** A container with CPUs 1 and 5, on a kernel whose cpusets the test sets. */
class Stage {
  readonly node: NodeDriver;
  readonly verdicts = new VerdictStore();
  readonly end = new AbortController();
  kernel = '1,5';
  place: 'found' | 'absent' = 'found';
  readonly context: DaemonContext;
  reads = 0;
  readonly drifts: string[] = [];
  readonly sweep: Sweep;

  constructor(rules: Rules = {}) {
    this.node = new NodeDriver(undefined, rules).run('make p/a 2');
    const { model } = this.node;
    const cgroups = {
      version: 2,
      locate: ({ cgroupsPath: path }: ContainerToLocate): Located =>
        this.place === 'found'
          ? { kind: 'found', path, cpuPath: path }
          : { kind: 'absent', because: 'its cgroup is not at /x' },
      readCpuset: () => {
        if (this.place === 'absent') return { kind: 'gone' };
        this.reads++;
        const cpus = parseCpuList(this.kernel);
        return { kind: 'found', cpus, effectiveCpus: cpus, mems: CpuSet.empty };
      },
      writeCpuset: (_dir: string, { cpus }: { cpus: CpuSet }) => {
        if (this.place === 'absent') return { kind: 'gone' };
        this.kernel = cpus.toString();
        return { kind: 'ok', changed: true };
      },
      readActive: () => undefined,
      readCpus: () => ({ kind: 'gone' }),
      readQuota: () => ({ kind: 'gone' }),
      listThreads: () => ({ kind: 'gone' }),
    } as unknown as Cgroups;
    const context = (this.context = contextOf({ model, cgroups, signal: this.end.signal }));
    context.events.on('drifted', 'counting', ({ action }) => this.drifts.push(action));
    const transactor = new Transactor({ ...context, model, save: () => undefined, mover: context.cgroups });
    const diagnosis = new DriftDiagnosis({
      ...context,
      hasStaticKubelet: () => false,
      listProcessNames: () => new Set(),
    });
    this.sweep = new Sweep({ context, transactor, verdicts: this.verdicts, diagnosis });
  }

  get verdict(): string | undefined {
    return this.verdicts.get('p/a#1')?.verdict.kind;
  }
}

let stage: Stage;
beforeEach(() => (stage = new Stage()));

test('a container with its promised cpuset is kept', () => {
  stage.sweep.run(['p/a#1']);
  expect([stage.verdict, stage.drifts]).toEqual(['kept', []]);
});

test('a container that drifted is repaired, read again and kept', () => {
  stage.kernel = '0-7';
  stage.sweep.run(['p/a#1']);
  expect([stage.kernel, stage.verdict, stage.drifts, stage.reads]).toEqual(['1,5', 'kept', ['repair'], 2]);
});

test('an unknown container is skipped, and after abort nothing is read', () => {
  stage.sweep.run(['other']);
  stage.end.abort();
  stage.sweep.run(['p/a#1']);
  expect(stage.reads).toBe(0);
});

test('readBack reads a container once unless always is set, and leaves a drift to a sweep', () => {
  const request = { containerId: 'p/a#1', always: false };
  expect(stage.sweep.readBack([request])).toEqual({ read: 1, unsettled: [] });
  expect(stage.sweep.readBack([request])).toEqual({ read: 0, unsettled: [] });
  stage.kernel = '0-7';
  expect(stage.sweep.readBack([{ ...request, always: true }])).toEqual({ read: 1, unsettled: ['p/a#1'] });
  expect(stage.kernel).toBe('0-7');
});

describe('a container whose cgroup is not found', () => {
  let nowMs: number;
  beforeEach(() => {
    nowMs = 1_000;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  });
  afterEach(() => jest.restoreAllMocks());

  const look = (): [string | undefined, readonly string[]] => {
    stage.sweep.run(['p/a#1']);
    return [stage.verdict, stage.context.alarms.list().map(({ kind }) => kind)];
  };
  const confirm = (): void => stage.context.cgroups.finder.confirm(nowMs);

  test('is pending for a moment, then unknown with an alarm as long as it lasts', () => {
    expect(look()).toEqual(['kept', []]);
    stage.place = 'absent';
    expect(look()).toEqual(['pending', []]);
    nowMs += GONE_LIMIT_MS;
    confirm();
    expect(look()).toEqual(['unknown', ['cgroup-not-found']]);
    expect(stage.context.alarms.list()).toMatchObject([
      { subject: '', because: expect.stringMatching(/among them ns\/p a: its cgroup is not at \/x; it runs so/) },
    ]);
    stage.place = 'found';
    expect(look()).toEqual(['kept', []]);
  });

  test('is not in this alarm when it is left alone: nothing is to be repaired, and left-alone-disturbs tells of it', () => {
    stage = new Stage({ leaveAlone: [{ text: 'ns/p', namespace: 'ns', pod: 'p' }] });
    stage.place = 'absent';
    look();
    nowMs += GONE_LIMIT_MS;
    confirm();
    expect(look()).toEqual(['left-alone', []]);
    stage.node.run('make q/b 2');
    updateRequestAlarms(stage.context, stage.verdicts);
    expect(look()).toEqual(['left-alone', ['left-alone-disturbs']]);
  });

  test('is no alarm when the runtime did not say since that it runs: it may have ended', () => {
    confirm();
    nowMs += 1;
    stage.place = 'absent';
    look();
    nowMs += 10 * GONE_LIMIT_MS;
    expect(look()).toEqual(['unknown', []]);
    stage.sweep.keepOnly(new Map());
  });

  test('is no alarm any more when it is gone itself', () => {
    stage.place = 'absent';
    look();
    nowMs += GONE_LIMIT_MS;
    confirm();
    look();
    stage.sweep.keepOnly(new Map());
    expect(stage.context.alarms.list()).toEqual([]);
  });

  test('is moved by the runtime, which knows its cgroup', () => {
    const container = stage.node.container('p/a')!;
    const move = () =>
      stage.context.cgroups.move({
        containerId: container.id,
        cgroupsPath: container.cgroupsPath,
        to: container.promise!,
        because: '',
      })?.kind;
    stage.place = 'absent';
    expect(move()).toBe('gone');
    nowMs += GONE_LIMIT_MS;
    expect(move()).toBe('gone');
    confirm();
    expect(move()).toBe('refused');
  });
});
