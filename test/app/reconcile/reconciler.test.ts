import { pino } from 'pino';
import { CpusetdError } from '../../../src/core/errors';
import type { Alarms } from '../../../src/app/alarms/alarms';
import { DriftDiagnosis } from '../../../src/app/reconcile/drift-diagnosis';
import type { DaemonEvents } from '../../../src/app/transaction/daemon-events';
import type { Reconciler } from '../../../src/app/reconcile/reconciler';
import { Transactor } from '../../../src/app/transaction/transactor';
import { VerdictStore } from '../../../src/app/status/verdict-store';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { MAX_REPAIRS } from '../../../src/core/verdict/repair-backoff';
import { planChanges, type RuntimeListing } from '../../../src/core/transition';
import type { Cgroups } from '../../../src/host';
import { ShownModel } from '../../../src/app/status/show-status';
import { NodeDriver, podOf, resourcesOf, without } from '../../core/transition/node-driver';
import { contextOf, reconcilerOf } from '../../support/daemon-context';
import { specOf } from '../../support/spec-of';

type CpusetReading = ReturnType<Cgroups['readCpuset']>;

/** A reconciler over cgroups that match the promises, with a runtime whose list the test sets. */
class Stage {
  listing: RuntimeListing | Error = { pods: [], containers: [] };
  /** Called while the runtime makes its list. */
  whileListing = (): void => undefined;
  readonly resynchronized: (readonly string[])[] = [];
  readonly kernel = new Map<string, string>();
  readonly node: NodeDriver;
  readonly reconciler: Reconciler;
  diskIsFull = false;
  /** Another writer that undoes each move at once: the CPUs that it writes. */
  otherWriter: string | undefined;
  /** The CPUs that are active in cgroups. */
  active: CpuSet | undefined;
  /** Every write is refused. */
  refusing = false;
  moves = 0;
  saves = 0;
  readonly repairs: string[] = [];
  readonly drifts: string[] = [];
  readonly alarms: Alarms;
  readonly events: DaemonEvents;
  /** Functions that throw at the step of that name. */
  failAt: Readonly<Record<string, () => void>> = {};
  /** Replaces what is read of a container's cpuset. */
  readAs: (id: string) => CpusetReading | undefined = () => undefined;
  reads = 0;
  readonly verdicts = new VerdictStore();
  readonly logged: string[] = [];
  readonly transactor: Transactor;
  private readonly stop = new AbortController();

  constructor(history: string, { writes = true } = {}) {
    this.node = new NodeDriver().run(history);
    const { model } = this.node;
    const log = pino(
      { level: 'error' },
      { write: (line) => this.logged.push((JSON.parse(line) as { msg: string }).msg) },
    );
    const now = () => '2026-01-01T00:00:00Z';
    const transactor = (this.transactor = new Transactor({
      model,
      log,
      now,
      save: () => {
        this.saves++;
        return this.diskIsFull ? { because: 'ENOSPC', onDisk: 'old' } : undefined;
      },
      mover: {
        move: ({ containerId, to }) => {
          if (!writes) return { kind: 'off', because: 'cgroup-writes is off' };
          if (this.refusing) return { kind: 'refused', because: 'EBUSY' };
          this.moves++;
          this.kernel.set(containerId, this.otherWriter ?? to.cpus.toString());
          return undefined;
        },
      },
    }));
    const cgroups = cgroupsOf(this);
    const context = contextOf({ model, cgroups, writes, log, now, signal: this.stop.signal });
    const { alarms, events } = context;
    this.alarms = alarms;
    this.events = events;
    events.on('drifted', 'counting a drift', ({ action }) => {
      this.failAt['drifted']?.();
      this.drifts.push(action);
    });
    events.on('repaired', 'counting a repair', ({ outcome }) => {
      this.failAt['repaired']?.();
      this.repairs.push(outcome);
    });
    events.on('changed', 'showing a change', () => this.failAt['changed']?.());
    const hasStaticKubelet = (): boolean => {
      this.failAt['diagnosis']?.();
      return false;
    };
    this.reconciler = reconcilerOf(context, {
      transactor,
      verdicts: this.verdicts,
      diagnosis: new DriftDiagnosis({ model, cgroups: context.cgroups, hasStaticKubelet }),
      runtime: {
        list: () => {
          const { listing } = this;
          this.whileListing();
          return listing instanceof Error ? Promise.reject(listing) : Promise.resolve(listing);
        },
        resynchronize: (ids) => {
          this.failAt['resynchronize']?.();
          this.resynchronized.push(ids);
        },
      },
    });
  }

  /** The runtime lists these pods, all ready, and these running containers: `p p/a#1`. */
  has(text: string): this {
    const items = text.split(' ').filter((item) => item !== '');
    this.listing = {
      pods: items
        .filter((item) => !item.includes('/'))
        .map((uid) => ({ uid, sandboxId: `sandbox-${uid}`, ready: true })),
      containers: items
        .filter((item) => item.includes('/'))
        .map((id) => ({ id, sandboxId: `sandbox-${id.split('/')[0]!}`, exited: false })),
    };
    return this;
  }

  end(): void {
    this.stop.abort();
  }
}

/** The cpuset that was written last; before that, the applied one. */
function cgroupsOf(stage: Stage): Cgroups {
  const { kernel, node } = stage;
  const { model } = node;
  const failAt = () => stage.failAt;
  const cpusOf = (dir: string): CpuSet => {
    const container = [...model.allContainers.values()].find(({ cgroupsPath }) => cgroupsPath === dir);
    const written = container && kernel.get(container.id);
    return written === undefined ? (container?.applied?.cpus ?? CpuSet.empty) : parseCpuList(written);
  };
  return {
    readCpuset: (dir: string) => {
      const id = [...model.allContainers.values()].find(({ cgroupsPath }) => cgroupsPath === dir)?.id;
      failAt()[`read ${id}`]?.();
      stage.reads++;
      const reading = stage.readAs(id ?? '');
      if (reading) return reading;
      return { kind: 'found', cpus: cpusOf(dir), effectiveCpus: cpusOf(dir), mems: CpuSet.empty };
    },
    readActive: () => stage.active,
    readCpus: () => ({ kind: 'gone' }),
    readQuota: () => ({ kind: 'gone' }),
    listThreads: () => ({ kind: 'gone' }),
  } as unknown as Cgroups;
}

let stage: Stage;
afterEach(() => stage.end());

describe('pause containers', () => {
  test('are read in each round, and drifted ones are repaired', async () => {
    const pods = Array.from({ length: 100 }, (_, i) => `q${i}`);
    const history = pods.map((uid) => `pod ${uid}; pause ${uid} 0-7`).join('; ');
    stage = new Stage(`${history}; make p/a 2`).has(`p p/a#1 ${pods.join(' ')}`);
    for (const uid of pods) stage.kernel.set(`sandbox-${uid}`, '0-7');
    await stage.reconciler.round();
    for (const uid of pods) {
      expect(stage.kernel.get(`sandbox-${uid}`)).toBe('0');
      expect(stage.verdicts.get(`sandbox-${uid}`)?.verdict.kind).toBe('kept');
    }
    expect([stage.moves, stage.resynchronized]).toEqual([100, []]);
  });

  test('written by another process are repaired at once; the verdicts of removed ones are dropped', async () => {
    stage = new Stage('make p/a 2; pod q; pause q 0-7').has('p p/a#1 q');
    stage.kernel.set('sandbox-q', '0-7');
    stage.reconciler.check(['sandbox-q'], { written: true });
    expect([stage.kernel.get('sandbox-q'), stage.drifts, stage.repairs]).toEqual(['0', ['repair'], ['ok']]);
    stage.has('p p/a#1');
    await stage.reconciler.round();
    expect([...stage.node.model.allContainers.keys()]).toEqual(['p/a#1']);
    await stage.reconciler.round();
    expect(stage.verdicts.get('sandbox-q')).toBeUndefined();
  });
});

describe('a pass over all containers', () => {
  const CONTAINERS = 200;
  const names = Array.from({ length: CONTAINERS }, (_, i) => `p/s${i}`);
  let nowMs: number;
  beforeEach(() => {
    nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  });
  afterEach(() => jest.restoreAllMocks());

  /**
   * Works on many drifted containers, with reads of one millisecond. Returns the maximum number of reads in one turn.
   */
  async function mostReads(work: () => Promise<void>): Promise<number> {
    stage.readAs = () => {
      nowMs++;
      return undefined;
    };
    let [reads, most] = [0, 0];
    const countTurn = (): void => {
      most = Math.max(most, stage.reads - reads);
      reads = stage.reads;
      turn = setImmediate(countTurn);
    };
    let turn = setImmediate(countTurn);
    await work();
    clearImmediate(turn);
    return Math.max(most, stage.reads - reads);
  }

  function manyDrifted(): void {
    stage = new Stage(names.map((name) => `make ${name} 0`).join('; '));
    stage.has(`p ${names.map((name) => `${name}#1`).join(' ')}`);
    for (const name of names) stage.kernel.set(`${name}#1`, '0');
  }

  const repaired = () => names.filter((name) => stage.kernel.get(`${name}#1`) === '0-7').length;

  test.each<[string, () => Promise<void>]>([
    ['a round', () => stage.reconciler.round()],
    ['checkAll', () => stage.reconciler.checkAll()],
  ])('%s repairs 200 containers in several turns of the event loop', async (_what, work) => {
    manyDrifted();
    const most = await mostReads(work);
    // Sixteen containers are read, repaired, and read again.
    expect([repaired(), most]).toEqual([CONTAINERS, 32]);
    expect(names.every((name) => stage.verdicts.get(`${name}#1`)?.verdict.kind === 'kept')).toBe(true);
  });

  test('ends on abort', async () => {
    manyDrifted();
    stage.readAs = () => {
      nowMs++;
      if (stage.reads === 20) stage.end();
      return undefined;
    };
    await stage.reconciler.checkAll();
    expect(stage.reads).toBe(32);
  });

  test('skips a container that ends meanwhile', async () => {
    manyDrifted();
    stage.readAs = () => {
      nowMs++;
      if (stage.reads === 1) setImmediate(() => stage.node.run('end p/s199'));
      return undefined;
    };
    await stage.reconciler.checkAll();
    expect([repaired(), stage.kernel.get('p/s199#1'), stage.verdicts.get('p/s199#1')]).toEqual([199, '0', undefined]);
  });
});

test('a round without changes keeps the objects of the last round', async () => {
  stage = new Stage('make p/a 2; make q/s 0').has('p p/a#1 q q/s#1');
  await stage.reconciler.round();
  // Each round reads the threads of some containers; from now on they do not change.
  await stage.reconciler.round();
  const before = ['p/a#1', 'q/s#1'].map((id) => stage.verdicts.get(id)!);
  await stage.reconciler.round();
  const after = ['p/a#1', 'q/s#1'].map((id) => stage.verdicts.get(id)!);
  expect(after.map(({ verdict }) => verdict.kind)).toEqual(['kept', 'kept']);
  for (const [i, { verdict, observation, basis }] of after.entries()) {
    expect(verdict).toBe(before[i]!.verdict);
    expect(observation).toBe(before[i]!.observation);
    expect(basis).toBe(before[i]!.basis);
  }
});

test('a container that the runtime no longer lists is released', async () => {
  stage = new Stage('make p/a 2; make q/s 0').has('q q/s#1');
  await stage.reconciler.round();
  expect(stage.node.state).toBe('pool 0-7');
});

test('a release lets shared containers use the freed CPUs', async () => {
  stage = new Stage('make q/s 0; make p/a 2').has('q q/s#1');
  await stage.reconciler.round();
  expect(stage.kernel.get('q/s#1')).toBe('0-7');
});

test('a runtime that can’t be listed releases nothing', async () => {
  stage = new Stage('make p/a 2');
  stage.listing = new CpusetdError('UNAVAILABLE', 'nobody answers');
  await stage.reconciler.round();
  expect(stage.node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
});

test('containers created while the list is made are kept', async () => {
  stage = new Stage('pod p').has('p');
  stage.whileListing = () => void stage.node.run('make p/a 2; make q/b 2');
  await stage.reconciler.round();
  expect(stage.node.state).toBe('p/a 1,5; q/b 2,6; pool 0,3-4,7');
});

test('a blocked switch is made by the round that releases CPUs', async () => {
  stage = new Stage('make q/b 6').has('q q/b#1 p p/a#1');
  const { node } = stage;
  node.setRules({ podPolicies: ['none', 'exclusive'] });
  const choosing = (policy: string) => ({ annotations: { 'cpusetd.io/policy': policy } });
  node.podFields.set('p', choosing('none'));
  node.run('make p/a 2').send({ kind: 'pod-spec', spec: specOf('p', 'a 2', choosing('exclusive')) });
  await stage.reconciler.round();
  expect(node.state).toBe('q/b 1-3,5-7; pool 0,4');
  expect(node.container('p/a')).toMatchObject({ blockedSwitch: {} });
  stage.has('p p/a#1'); // no event reported the end of q
  await stage.reconciler.round();
  expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
  expect(stage.kernel.get('p/a#1')).toBe('1,5');
});

test('an unknown container is asked for when two lists have it, and not after one', async () => {
  stage = new Stage('make p/a 2').has('p p/a#1 p/x#1');
  await stage.reconciler.round();
  expect(stage.resynchronized).toEqual([]);
  stage.has('p p/a#1 p/y#1');
  await stage.reconciler.round();
  expect(stage.resynchronized).toEqual([]);
  await stage.reconciler.round();
  expect(stage.resynchronized).toEqual([['p/y#1']]);
});

test('a round repeats a failed save', async () => {
  stage = new Stage('make p/a 2; make q/b 2').has('q q/b#1');
  stage.diskIsFull = true;
  await stage.reconciler.round();
  expect({ saves: stage.saves, state: stage.node.state }).toEqual({ saves: 1, state: 'q/b 2,6; pool 0-1,3-5,7' });
  stage.diskIsFull = false;
  await stage.reconciler.round();
  await stage.reconciler.round();
  expect(stage.saves).toBe(2);
});

test('repairs that are undone before they are read back are limited too', () => {
  jest.useFakeTimers();
  try {
    stage = new Stage('make p/a 2');
    stage.moves = 0;
    stage.otherWriter = '0';
    stage.kernel.set('p/a#1', '0');
    for (let second = 0; second < 600; second++) {
      stage.reconciler.check(['p/a#1'], { written: true });
      jest.advanceTimersByTime(1_000);
    }
    expect(stage.moves).toBe(MAX_REPAIRS);
  } finally {
    jest.useRealTimers();
  }
});

describe('without cgroup writes, a repair counts when the promised cpuset is read', () => {
  test('in a later round: ok', async () => {
    stage = new Stage('make p/a 2', { writes: false }).has('p p/a#1');
    stage.kernel.set('p/a#1', '0');
    stage.reconciler.check(['p/a#1'], { written: true });
    expect(stage.repairs).toEqual([]);
    stage.kernel.set('p/a#1', '1,5'); // the runtime's record was updated
    await stage.reconciler.round();
    await stage.reconciler.round();
    expect(stage.repairs).toEqual(['ok']);
  });

  test('a failed update of a delegated repair: failed; of another container: nothing', () => {
    stage = new Stage('make p/a 2; make q/b 2', { writes: false });
    stage.kernel.set('p/a#1', '0');
    stage.reconciler.check(['p/a#1'], { written: true });
    stage.events.emit('updateFailed', { containerId: 'p/a#1' });
    stage.events.emit('updateFailed', { containerId: 'q/b#1' });
    expect(stage.repairs).toEqual(['failed']);
  });
});

test('a runtime that can’t be listed is no error; an internal fault in listing is an alarm', async () => {
  stage = new Stage('make p/a 1');
  stage.listing = new CpusetdError('UNAVAILABLE', 'nobody answers');
  for (let rounds = 0; rounds < 3; rounds++) await stage.reconciler.round();
  expect([stage.logged, stage.alarms.list()]).toEqual([[], []]); // only errors are collected
  stage.listing = new TypeError('x is undefined');
  for (let rounds = 0; rounds < 3; rounds++) await stage.reconciler.round();
  expect(stage.logged).toContain('a fault of cpusetd; everything else goes on');
  expect(stage.alarms.list()).toMatchObject([
    { kind: 'internal-fault', because: expect.stringContaining('comparing with the runtime: x is undefined') },
  ]);
});

describe('an internal fault', () => {
  const fault = (): never => {
    throw new Error('an internal fault');
  };
  /** Runs a round with this fault over two drifted containers. */
  async function roundWith(failAt: Stage['failAt']): Promise<void> {
    stage = new Stage('make p/a 2; make q/b 2').has('p p/a#1 q q/b#1');
    stage.kernel.set('p/a#1', '0').set('q/b#1', '0');
    stage.failAt = failAt;
    await stage.reconciler.round();
  }

  test('in reading one container: the others are repaired, and its verdict is unknown with the reason', async () => {
    await roundWith({ 'read p/a#1': fault });
    expect(stage.kernel.get('q/b#1')).toBe('2,6');
    expect(stage.verdicts.get('q/b#1')?.verdict.kind).toBe('kept');
    expect(stage.verdicts.get('p/a#1')?.verdict).toEqual({
      kind: 'unknown',
      because: expect.stringContaining('an internal fault'),
    });
  });

  test.each(['diagnosis', 'drifted', 'repaired', 'changed', 'resynchronize'])(
    'in %s: both containers are repaired, and later rounds run',
    async (where) => {
      await roundWith({ [where]: fault });
      expect([stage.kernel.get('p/a#1'), stage.kernel.get('q/b#1')]).toEqual(['1,5', '2,6']);
      expect(stage.verdicts.get('q/b#1')?.verdict.kind).toBe('kept');
      stage.has('p p/a#1 q q/b#1 q/x#1');
      await stage.reconciler.round();
      await stage.reconciler.round();
      expect(stage.logged).toContain('a fault of cpusetd; everything else goes on');
    },
  );

  test('in judging one container: the others are judged and repaired once', async () => {
    stage = new Stage('make p/a 2; make q/b 2').has('p p/a#1 q q/b#1');
    stage.kernel.set('p/a#1', '0').set('q/b#1', '0');
    const { containers, allContainers } = stage.node.model;
    const broken = Object.defineProperty({ ...containers.get('p/a#1')! }, 'entitledCpus', { get: fault });
    for (const map of [containers, allContainers] as Map<string, typeof broken>[])
      map.set('p/a#1', broken).set('q/b#1', { ...containers.get('q/b#1')! });
    await stage.reconciler.round();
    expect([stage.kernel.get('q/b#1'), stage.drifts]).toEqual(['2,6', ['repair']]);
    expect(stage.verdicts.get('p/a#1')?.verdict.kind).toBe('unknown');
  });

  test('in several rounds is logged once, and is an alarm until it is over', async () => {
    await roundWith({ 'read p/a#1': fault });
    for (let i = 0; i < 9; i++) await stage.reconciler.round();
    expect(stage.alarms.list()).toMatchObject([
      { kind: 'internal-fault', subject: 'looking at p/a#1', because: expect.stringContaining('an internal fault') },
    ]);
    expect(stage.logged).toEqual(['a fault of cpusetd; everything else goes on', 'alarm']);
    stage.failAt = {};
    await stage.reconciler.round();
    expect(stage.alarms.list()).toEqual([]);
    expect(stage.kernel.get('p/a#1')).toBe('1,5');
  });

  test('in several rounds is forgotten with its container', async () => {
    await roundWith({ 'read p/a#1': fault });
    for (let i = 0; i < 3; i++) await stage.reconciler.round();
    expect(stage.alarms.list()).toHaveLength(1);
    stage.has('q q/b#1');
    await stage.reconciler.round();
    await stage.reconciler.round();
    expect(stage.alarms.list()).toEqual([]);
  });
});

test('a creation that the runtime does not list for ten minutes is released', async () => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] });
  try {
    stage = new Stage('pod p; ask p/a 2').has('p');
    await stage.reconciler.round();
    jest.advanceTimersByTime(9 * 60_000);
    await stage.reconciler.round();
    expect(stage.node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
    jest.advanceTimersByTime(60_000);
    await stage.reconciler.round();
    expect(stage.node.state).toBe('pool 0-7');
  } finally {
    jest.useRealTimers();
  }
});

describe('a repeated drift', () => {
  /** Another process writes once a second until the repairs stop. */
  function repairUntilStopped(): void {
    stage = new Stage('make p/a 2').has('p p/a#1');
    stage.otherWriter = '0';
    stage.kernel.set('p/a#1', '0');
    for (let second = 0; second < 300 && stage.alarms.list().length === 0; second++) {
      stage.reconciler.check(['p/a#1'], { written: true });
      jest.advanceTimersByTime(1_000);
    }
    expect(stage.alarms.list()).toMatchObject([{ kind: 'repairs-stopped', subject: 'p/a#1' }]);
  }
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] }));
  afterEach(() => jest.useRealTimers());

  test('is counted once per repair, and not while it lasts', () => {
    repairUntilStopped();
    const before = stage.drifts.length;
    expect(stage.drifts.filter((action) => action === 'repair')).toHaveLength(MAX_REPAIRS);
    for (let i = 0; i < 5; i++) stage.reconciler.check(['p/a#1'], { written: true });
    expect(stage.drifts.length).toBe(before);
  });

  test('is an alarm until the container matches its promise', () => {
    repairUntilStopped();
    stage.kernel.set('p/a#1', '1,5');
    stage.reconciler.check(['p/a#1']);
    expect(stage.alarms.list()).toEqual([]);
  });

  test('is an alarm until its container is gone', async () => {
    repairUntilStopped();
    stage.has('p');
    await stage.reconciler.round(); // the runtime no longer lists it
    await stage.reconciler.round();
    expect(stage.alarms.list()).toEqual([]);
  });

  test('is not repaired after abort', () => {
    stage = new Stage('make p/a 2');
    stage.kernel.set('p/a#1', '0');
    stage.moves = 0;
    stage.end();
    stage.reconciler.check(['p/a#1'], { written: true });
    expect(stage.moves).toBe(0);
  });
});

test('after a refused unsaved request, the next round saves once although nothing has changed', async () => {
  stage = new Stage('pod p').has('p');
  stage.diskIsFull = true;
  const container = {
    id: 'p/a#1', sandboxId: 'sandbox-p', name: 'a', phase: 'creating', cgroupsPath: '/x', resources: resourcesOf(2),
  } as const; // prettier-ignore
  const answer = stage.transactor.handle({ kind: 'create-container', pod: podOf('p'), container });
  expect(answer).toMatchObject({ kind: 'refuse', code: 'UNAVAILABLE' });
  expect([stage.saves, stage.transactor.hasUnsavedState]).toEqual([1, false]);
  stage.diskIsFull = false;
  await stage.reconciler.round();
  await stage.reconciler.round();
  expect(stage.saves).toBe(2);
});

describe('the read-back after a move', () => {
  /** A shared container that was read, and whose pool has become smaller since. */
  function moved(options: { writes?: boolean } = {}): void {
    stage = new Stage('make q/s 0', options);
    stage.reconciler.check(['q/s#1']);
    stage.transactor.change((draft) => {
      const topology = without(stage.node.model.topology, '7');
      draft.put({ kind: 'set-topology', topology });
      return planChanges(draft);
    });
  }
  const verdict = () => {
    const { model } = stage.node;
    const shown = new ShownModel({ model, verdicts: stage.verdicts, now: () => '' });
    const { kind, reason } = shown.containers()[0]!.verdict;
    return `${kind}: ${reason}`;
  };

  test('changes the verdict from pending to kept', () => {
    moved();
    expect(verdict()).toBe('pending: promised 0-6 since it was last read: not read back yet');
    stage.reconciler.readBack(['q/s#1']);
    expect(verdict()).toBe('kept: in the shared pool');
  });

  test('happens once; `always` reads again', () => {
    moved();
    stage.reconciler.readBack();
    const { reads } = stage;
    stage.reconciler.readBack();
    expect(stage.reads).toBe(reads);
    stage.reconciler.readBack(undefined, { always: true });
    expect(stage.reads).toBe(reads + 1);
  });

  test('repairs a cpuset that another process wrote meanwhile', () => {
    moved();
    stage.kernel.set('q/s#1', '0');
    stage.reconciler.readBack(['q/s#1']);
    expect([verdict(), stage.drifts, stage.repairs]).toEqual(['kept: in the shared pool', ['repair'], ['ok']]);
  });

  test.each`
    where                                   | writes
    ${'where the runtime writes'}           | ${false}
    ${'where the kernel refused the write'} | ${true}
  `('$where, leaves the verdict pending, and is no drift', ({ writes }: { writes: boolean }) => {
    stage = new Stage('make q/s 0', { writes });
    stage.kernel.set('q/s#1', '0-7');
    stage.reconciler.check(['q/s#1']);
    stage.refusing = true;
    stage.transactor.change((draft) => {
      draft.put({ kind: 'set-topology', topology: without(stage.node.model.topology, '7') });
      return planChanges(draft);
    });
    expect(verdict()).toBe('pending: promised 0-6 since it was last read: not carried out yet');
    stage.reconciler.readBack(['q/s#1']);
    expect(verdict()).toBe('pending: promised 0-6, the kernel has cpuset.cpus 0-7: not carried out yet');
    expect(stage.drifts).toEqual([]);
    stage.kernel.set('q/s#1', '0-6'); // the runtime wrote
    stage.reconciler.noteWritten(['q/s#1']);
    expect([verdict(), stage.drifts, stage.repairs]).toEqual(['kept: in the shared pool', [], []]);
  });

  test('skips a container without a cgroup and one that is gone', () => {
    stage = new Stage('create p/a 2');
    stage.reconciler.readBack(['p/a#1', 'p/b#1'], { always: true });
    expect(stage.reads).toBe(0);
    expect(verdict()).toBe('pending: the container has not started');
  });

  test('gives a left-alone container its verdict without a change of the model', () => {
    stage = new Stage('');
    stage.node.setRules({ cpuManagerPolicy: 'none' });
    stage.node.run('make p/a 2');
    const { revision } = stage.node.model;
    stage.reconciler.readBack();
    expect([stage.reads, stage.node.model.revision]).toEqual([1, revision]);
    expect(verdict()).toMatch(/^left-alone: the policy is none/);
  });

  test('a round says that the CPUs of a left-alone container cannot be read, until they are', async () => {
    stage = new Stage('');
    stage.node.setRules({ leaveAlone: [{ text: 'ns/p', namespace: 'ns', pod: 'p' }] });
    stage.node.run('make p/a 2; make q/b 2');
    stage.has('p p/a#1 q q/b#1');
    stage.readAs = (id) => (id === 'p/a#1' ? { kind: 'error', errno: 'EACCES', because: 'EACCES' } : undefined);
    await stage.reconciler.round();
    expect(stage.alarms.list()).toMatchObject([
      {
        kind: 'left-alone-disturbs',
        because: 'ns/p a: it is left alone, and it is not known if it may run on exclusive CPUs of others: EACCES',
      },
    ]);
    expect(verdict()).toMatch(/^left-alone: .*; it is not known if it may run on CPUs that others own: EACCES$/);
    stage.readAs = () => undefined;
    stage.kernel.set('p/a#1', '0');
    await stage.reconciler.round();
    expect([stage.alarms.list(), verdict()]).toEqual([[], "left-alone: left alone: the operator's rule ns/p says so"]);
  });
});

describe('a repair is reported when the promised cpuset was read after it', () => {
  const reading = (cpus: string, effective = cpus): CpusetReading => {
    const mems = CpuSet.empty;
    return {
      kind: 'found',
      cpus: parseCpuList(cpus),
      effectiveCpus: parseCpuList(effective),
      mems,
      effectiveMems: mems,
    };
  };

  test.each<[string, CpusetReading]>([
    ['is gone', { kind: 'gone' }],
    ['can’t be read', { kind: 'error', errno: 'EACCES', because: 'EACCES' }],
    ['lost a CPU that is going offline', reading('1')],
  ])('not when the cgroup %s', (_what, after) => {
    stage = new Stage('make p/a 2');
    stage.kernel.set('p/a#1', '0');
    if (after.kind === 'found') stage.active = parseCpuList('0-4');
    let reads = 0;
    stage.readAs = () => (++reads > 1 ? after : undefined);
    stage.reconciler.check(['p/a#1'], { written: true });
    expect([stage.moves, stage.repairs]).toEqual([1, []]);
  });

  test('later, when the first read fails', () => {
    stage = new Stage('make p/a 2');
    stage.kernel.set('p/a#1', '0');
    let reads = 0;
    stage.readAs = () => (++reads === 2 ? { kind: 'error', errno: 'EACCES', because: 'EACCES' } : undefined);
    stage.reconciler.check(['p/a#1'], { written: true });
    expect(stage.repairs).toEqual([]);
    stage.reconciler.check(['p/a#1']);
    stage.reconciler.check(['p/a#1']);
    expect(stage.repairs).toEqual(['ok']);
  });
});
