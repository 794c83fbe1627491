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

/** A reconciler over cgroups that are as promised, with a runtime that lists what the test says. */
class Stage {
  listing: RuntimeListing | Error = { pods: [], containers: [] };
  /** Called while the runtime makes its list. */
  meanwhile = (): void => undefined;
  readonly resynchronized: (readonly string[])[] = [];
  readonly kernel = new Map<string, string>();
  readonly node: NodeDriver;
  readonly reconciler: Reconciler;
  diskIsFull = false;
  /** Somebody who undoes each move before it can be read back: what is in the kernel then. */
  saboteur: string | undefined;
  /** The CPUs that any cgroup can have. */
  active: CpuSet | undefined;
  /** The kernel takes no write. */
  refusing = false;
  moves = 0;
  saves = 0;
  readonly repairs: string[] = [];
  readonly drifts: string[] = [];
  readonly alarms: Alarms;
  readonly events: DaemonEvents;
  /** Throws where something of that name is done. */
  failAt: Readonly<Record<string, () => void>> = {};
  /** Readings of a container's cpuset that are not what was written. */
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
          this.kernel.set(containerId, this.saboteur ?? to.cpus.toString());
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
          this.meanwhile();
          return listing instanceof Error ? Promise.reject(listing) : Promise.resolve(listing);
        },
        resynchronize: (ids) => {
          this.failAt['resynchronize']?.();
          this.resynchronized.push(ids);
        },
      },
    });
  }

  /** The runtime has these pods, all ready, and these running containers: `p p/a#1`. */
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

/** What was written last; before that, what was promised. */
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
  test('are looked at in each round, and what drifted is repaired', async () => {
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

  test('that somebody wrote are repaired at once, and verdicts on those that are gone are forgotten', async () => {
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

describe('work over all containers', () => {
  const CONTAINERS = 200;
  const names = Array.from({ length: CONTAINERS }, (_, i) => `p/s${i}`);
  let nowMs: number;
  beforeEach(() => {
    nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  });
  afterEach(() => jest.restoreAllMocks());

  /** Looks at many containers that have drifted; reading one takes a millisecond. Returns the most that were read in a turn. */
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
    ['a look at all', () => stage.reconciler.checkAll()],
  ])('%s does some of it in each turn of the event loop, and all of it', async (_what, work) => {
    manyDrifted();
    const most = await mostReads(work);
    // Sixteen are read, repaired, and read again.
    expect([repaired(), most]).toEqual([CONTAINERS, 32]);
    expect(names.every((name) => stage.verdicts.get(`${name}#1`)?.verdict.kind === 'kept')).toBe(true);
  });

  test('it ends with the daemon', async () => {
    manyDrifted();
    stage.readAs = () => {
      nowMs++;
      if (stage.reads === 20) stage.end();
      return undefined;
    };
    await stage.reconciler.checkAll();
    expect(stage.reads).toBe(32);
  });

  test('who ends while others are looked at is passed over', async () => {
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

test('a round in which nothing has changed keeps the objects of the round before', async () => {
  stage = new Stage('make p/a 2; make q/s 0').has('p p/a#1 q q/s#1');
  await stage.reconciler.round();
  // The threads of each are looked at in turn, and these are the same from now on.
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

test('what the runtime no longer has is released', async () => {
  stage = new Stage('make p/a 2; make q/s 0').has('q q/s#1');
  await stage.reconciler.round();
  expect(stage.node.state).toBe('pool 0-7');
});

test('and the pool grows by it for those who run', async () => {
  stage = new Stage('make q/s 0; make p/a 2').has('q q/s#1');
  await stage.reconciler.round();
  expect(stage.kernel.get('q/s#1')).toBe('0-7');
});

test('a runtime that cannot be asked releases nothing', async () => {
  stage = new Stage('make p/a 2');
  stage.listing = new CpusetdError('UNAVAILABLE', 'nobody answers');
  await stage.reconciler.round();
  expect(stage.node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
});

test('what is made while the list is on its way is not judged by it', async () => {
  stage = new Stage('pod p').has('p');
  stage.meanwhile = () => void stage.node.run('make p/a 2; make q/b 2');
  await stage.reconciler.round();
  expect(stage.node.state).toBe('p/a 1,5; q/b 2,6; pool 0,3-4,7');
});

test('a switch that could not be made is made by the round that finds CPUs given back', async () => {
  stage = new Stage('make q/b 6').has('q q/b#1 p p/a#1');
  const { node } = stage;
  node.setRules({ podPolicies: ['none', 'exclusive'] });
  const saying = (policy: string) => ({ annotations: { 'cpusetd.io/policy': policy } });
  node.podFields.set('p', saying('none'));
  node.run('make p/a 2').send({ kind: 'pod-spec', spec: specOf('p', 'a 2', saying('exclusive')) });
  await stage.reconciler.round();
  expect(node.state).toBe('q/b 1-3,5-7; pool 0,4');
  expect(node.container('p/a')).toMatchObject({ blockedSwitch: {} });
  stage.has('p p/a#1'); // nobody told of the end of q
  await stage.reconciler.round();
  expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
  expect(stage.kernel.get('p/a#1')).toBe('1,5');
});

test('a stranger that is there in two lists is asked for, one that is there once is not', async () => {
  stage = new Stage('make p/a 2').has('p p/a#1 p/x#1');
  await stage.reconciler.round();
  expect(stage.resynchronized).toEqual([]);
  stage.has('p p/a#1 p/y#1');
  await stage.reconciler.round();
  expect(stage.resynchronized).toEqual([]);
  await stage.reconciler.round();
  expect(stage.resynchronized).toEqual([['p/y#1']]);
});

test('a round tries to save what could not be saved before', async () => {
  stage = new Stage('make p/a 2; make q/b 2').has('q q/b#1');
  stage.diskIsFull = true;
  await stage.reconciler.round();
  expect({ saves: stage.saves, state: stage.node.state }).toEqual({ saves: 1, state: 'q/b 2,6; pool 0-1,3-5,7' });
  stage.diskIsFull = false;
  await stage.reconciler.round();
  await stage.reconciler.round();
  expect(stage.saves).toBe(2);
});

test('repairs that are undone before they can be read back are bounded all the same', () => {
  jest.useFakeTimers();
  try {
    stage = new Stage('make p/a 2');
    stage.moves = 0;
    stage.saboteur = '0';
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

describe('where the runtime does the writing, a repair counts when it is seen', () => {
  test('the kernel has what was promised again', async () => {
    stage = new Stage('make p/a 2', { writes: false }).has('p p/a#1');
    stage.kernel.set('p/a#1', '0');
    stage.reconciler.check(['p/a#1'], { written: true });
    expect(stage.repairs).toEqual([]);
    stage.kernel.set('p/a#1', '1,5'); // the runtime's recorder was told to
    await stage.reconciler.round();
    await stage.reconciler.round();
    expect(stage.repairs).toEqual(['ok']);
  });

  test('an update that the runtime did not take is a repair that failed; others are no repairs', () => {
    stage = new Stage('make p/a 2; make q/b 2', { writes: false });
    stage.kernel.set('p/a#1', '0');
    stage.reconciler.check(['p/a#1'], { written: true });
    stage.events.emit('updateFailed', { containerId: 'p/a#1' });
    stage.events.emit('updateFailed', { containerId: 'q/b#1' });
    expect(stage.repairs).toEqual(['failed']);
  });
});

test('a runtime that can’t be listed is a warning; a fault of our own in asking it is told as that', async () => {
  stage = new Stage('make p/a 1');
  stage.listing = new CpusetdError('UNAVAILABLE', 'nobody answers');
  for (let rounds = 0; rounds < 3; rounds++) await stage.reconciler.round();
  expect([stage.logged, stage.alarms.list()]).toEqual([[], []]); // errors only
  stage.listing = new TypeError('x is undefined');
  for (let rounds = 0; rounds < 3; rounds++) await stage.reconciler.round();
  expect(stage.logged).toContain('a fault of cpusetd; everything else goes on');
  expect(stage.alarms.list()).toMatchObject([
    { kind: 'internal-fault', because: expect.stringContaining('comparing with the runtime: x is undefined') },
  ]);
});

describe('a fault of our own', () => {
  const fault = (): never => {
    throw new Error('a fault of our own');
  };
  /** Two containers that have drifted, and what a round makes of them with this fault. */
  async function roundWith(failAt: Stage['failAt']): Promise<void> {
    stage = new Stage('make p/a 2; make q/b 2').has('p p/a#1 q q/b#1');
    stage.kernel.set('p/a#1', '0').set('q/b#1', '0');
    stage.failAt = failAt;
    await stage.reconciler.round();
  }

  test('in looking at one container leaves the others repaired, and its own verdict says so', async () => {
    await roundWith({ 'read p/a#1': fault });
    expect(stage.kernel.get('q/b#1')).toBe('2,6');
    expect(stage.verdicts.get('q/b#1')?.verdict.kind).toBe('kept');
    expect(stage.verdicts.get('p/a#1')?.verdict).toEqual({
      kind: 'unknown',
      because: expect.stringContaining('a fault of our own'),
    });
  });

  test.each(['diagnosis', 'drifted', 'repaired', 'changed', 'resynchronize'])(
    'in %s leaves both repaired, and ends no round',
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

  test('in the judgement of one container leaves the others judged and repaired, once each', async () => {
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

  test('that lasts is logged once, and an alarm until it is over', async () => {
    await roundWith({ 'read p/a#1': fault });
    for (let i = 0; i < 9; i++) await stage.reconciler.round();
    expect(stage.alarms.list()).toMatchObject([
      { kind: 'internal-fault', subject: 'looking at p/a#1', because: expect.stringContaining('a fault of our own') },
    ]);
    expect(stage.logged).toEqual(['a fault of cpusetd; everything else goes on', 'alarm']);
    stage.failAt = {};
    await stage.reconciler.round();
    expect(stage.alarms.list()).toEqual([]);
    expect(stage.kernel.get('p/a#1')).toBe('1,5');
  });

  test('that lasts is forgotten with its container', async () => {
    await roundWith({ 'read p/a#1': fault });
    for (let i = 0; i < 3; i++) await stage.reconciler.round();
    expect(stage.alarms.list()).toHaveLength(1);
    stage.has('q q/b#1');
    await stage.reconciler.round();
    await stage.reconciler.round();
    expect(stage.alarms.list()).toEqual([]);
  });
});

test('a creation that is ten minutes old, and that the runtime does not list, has failed', async () => {
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

describe('a fight over a cpuset', () => {
  /** Somebody writes once a second, until the repairs have stopped. */
  function fight(): void {
    stage = new Stage('make p/a 2').has('p p/a#1');
    stage.saboteur = '0';
    stage.kernel.set('p/a#1', '0');
    for (let second = 0; second < 300 && stage.alarms.list().length === 0; second++) {
      stage.reconciler.check(['p/a#1'], { written: true });
      jest.advanceTimersByTime(1_000);
    }
    expect(stage.alarms.list()).toMatchObject([{ kind: 'repairs-stopped', subject: 'p/a#1' }]);
  }
  beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick'] }));
  afterEach(() => jest.useRealTimers());

  test('each repair is one drift, and what merely lasts is none', () => {
    fight();
    const before = stage.drifts.length;
    expect(stage.drifts.filter((action) => action === 'repair')).toHaveLength(MAX_REPAIRS);
    for (let i = 0; i < 5; i++) stage.reconciler.check(['p/a#1'], { written: true });
    expect(stage.drifts.length).toBe(before);
  });

  test('the alarm is cleared when the container is as promised', () => {
    fight();
    stage.kernel.set('p/a#1', '1,5');
    stage.reconciler.check(['p/a#1']);
    expect(stage.alarms.list()).toEqual([]);
  });

  test('the alarm goes with its container', async () => {
    fight();
    stage.has('p');
    await stage.reconciler.round(); // the runtime has it no more
    await stage.reconciler.round();
    expect(stage.alarms.list()).toEqual([]);
  });

  test('nothing is repaired when all is to end', () => {
    stage = new Stage('make p/a 2');
    stage.kernel.set('p/a#1', '0');
    stage.moves = 0;
    stage.end();
    stage.reconciler.check(['p/a#1'], { written: true });
    expect(stage.moves).toBe(0);
  });
});

test('after a request that could not be saved, a round learns whether the disk takes state again, though nothing is to be written', async () => {
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

describe('who was moved is read back', () => {
  /** A shared container that was looked at, and whose pool was made smaller since. */
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

  test('and kept from then on, not before', () => {
    moved();
    expect(verdict()).toBe('pending: promised 0-6 since it was last read: not read back yet');
    stage.reconciler.readBack(['q/s#1']);
    expect(verdict()).toBe('kept: in the shared pool');
  });

  test('once: a second look has nothing to say, unless somebody asks for it', () => {
    moved();
    stage.reconciler.readBack();
    const { reads } = stage;
    stage.reconciler.readBack();
    expect(stage.reads).toBe(reads);
    stage.reconciler.readBack(undefined, { always: true });
    expect(stage.reads).toBe(reads + 1);
  });

  test('and put right where somebody has written something else meanwhile', () => {
    moved();
    stage.kernel.set('q/s#1', '0');
    stage.reconciler.readBack(['q/s#1']);
    expect([verdict(), stage.drifts, stage.repairs]).toEqual(['kept: in the shared pool', ['repair'], ['ok']]);
  });

  test.each`
    where                                         | writes
    ${'where the runtime does the writing'}       | ${false}
    ${'where the kernel did not take the change'} | ${true}
  `('$where it is on its way, and nobody has drifted', ({ writes }: { writes: boolean }) => {
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

  test('one that has no cgroup yet, and one that is gone, is not', () => {
    stage = new Stage('create p/a 2');
    stage.reconciler.readBack(['p/a#1', 'p/b#1'], { always: true });
    expect(stage.reads).toBe(0);
    expect(verdict()).toBe('pending: the container has not started');
  });

  test('one that is left alone has its verdict without a change of anything', () => {
    stage = new Stage('');
    stage.node.setRules({ cpuManagerPolicy: 'none' });
    stage.node.run('make p/a 2');
    const { revision } = stage.node.model;
    stage.reconciler.readBack();
    expect([stage.reads, stage.node.model.revision]).toEqual([1, revision]);
    expect(verdict()).toMatch(/^kept: left alone/);
  });
});

describe('a repair is told when the kernel was read after it, and has what is promised now', () => {
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
    ['can not be read', { kind: 'error', errno: 'EACCES', because: 'EACCES' }],
    ['lost a CPU that is going offline', reading('1')],
  ])('not where the cgroup %s', (_what, after) => {
    stage = new Stage('make p/a 2');
    stage.kernel.set('p/a#1', '0');
    if (after.kind === 'found') stage.active = parseCpuList('0-4');
    let reads = 0;
    stage.readAs = () => (++reads > 1 ? after : undefined);
    stage.reconciler.check(['p/a#1'], { written: true });
    expect([stage.moves, stage.repairs]).toEqual([1, []]);
  });

  test('later, where it could not be read at first', () => {
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
