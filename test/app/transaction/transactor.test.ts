import { pino } from 'pino';
import { Transactor } from '../../../src/app/transaction/transactor';
import type { MoveFailure } from '../../../src/app/transaction/carry-out';
import type { Timing } from '../../../src/app/transaction/transaction';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { Container } from '../../../src/core/model/container';
import type { ContainerInfo, NodeEvent, RuntimeAnswer, RuntimeEvent } from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import { planChanges, reconcile, type DomainEvent, type Draft } from '../../../src/core/transition';
import { toPodEvent } from '../../../src/app/apiserver/to-pod-event';
import { createRandom, type Random } from '../../support/random';
import { specOf } from '../../support/spec-of';
import { EIGHT_CPUS, podOf, resourcesOf, settingsWith, type Rules } from '../../core/transition/node-driver';

function containerOf(uid: string, name: string, cpus: number): ContainerInfo {
  const pod = podOf(uid);
  return {
    id: `${uid}/${name}`,
    sandboxId: pod.sandboxId,
    name,
    phase: 'creating',
    cgroupsPath: `${pod.cgroupParent}/${name}`,
    resources: resourcesOf(cpus),
  };
}

const create = (uid: string, name: string, cpus: number): RuntimeEvent => ({
  kind: 'create-container',
  pod: podOf(uid),
  container: containerOf(uid, name, cpus),
});
const starting = (uid: string, name: string): RuntimeEvent => ({
  kind: 'container-starting',
  pod: podOf(uid),
  container: containerOf(uid, name, 0),
});
const stopped = (uid: string, name: string): RuntimeEvent => ({
  kind: 'container-stopped',
  containerId: `${uid}/${name}`,
});
const removed = (uid: string): RuntimeEvent => ({ kind: 'pod-removed', sandboxId: `sandbox-${uid}` });

/** A transactor whose effects are listed, on a disk and cgroups that fail on request. */
class Stage {
  readonly effects: string[] = [];
  readonly logged: string[] = [];
  readonly noted: string[] = [];
  lastReported: readonly DomainEvent[] = [];
  readonly kernel = new Map<string, string>();
  disk = '';
  diskIsFull = false;
  onDisk: 'old' | 'unknown' = 'old';
  /** Functions that throw at the effect of that name. */
  failAt: Readonly<Record<string, () => void>> = {};
  failMove: (containerId: string) => MoveFailure | undefined = () => undefined;
  readonly model: NodeModel;
  readonly transactor: Transactor;

  constructor(rules: Rules = {}) {
    this.model = new NodeModel(EIGHT_CPUS, settingsWith(rules));
    this.transactor = new Transactor({
      model: this.model,
      now: () => {
        this.do('decide');
        return '2026-01-01T00:00:00Z';
      },
      save: ({ assignments }) => {
        this.do('save');
        if (this.diskIsFull) return { because: 'no space left', onDisk: this.onDisk };
        this.disk = this.show(assignments);
        return undefined;
      },
      mover: {
        move: ({ containerId, to }) => {
          this.do(`move ${containerId}`);
          const failure = this.failMove(containerId);
          if (!failure) this.kernel.set(containerId, to.cpus.toString());
          return failure;
        },
        widenPod: (pod) => this.do(`widen ${pod.uid}`),
      },
      log: pino(
        { level: 'info' },
        {
          write: (line) => {
            this.failAt['log']?.();
            this.logged.push((JSON.parse(line) as { msg: string }).msg);
          },
        },
      ),
      observer: {
        onTransaction: ({ event, reported }) => {
          this.lastReported = reported;
          this.do(`report ${event}`);
          this.noted.push(...reported.map(({ kind }) => kind));
        },
      },
    });
  }

  private do(effect: string): void {
    this.effects.push(effect);
    this.failAt[effect]?.();
  }

  handle(...events: RuntimeEvent[]): string[] {
    const answers = this.transactor.handleAll(events).map(showAnswer);
    this.effects.push('answer');
    return answers;
  }

  /** The effects of these events alone. */
  effectsOf(...events: RuntimeEvent[]): string[] {
    this.effects.length = 0;
    this.handle(...events);
    return this.effects;
  }

  get assigned(): string {
    return this.show(this.model.assignments.values());
  }

  private show(
    assignments: Iterable<{ podUid: string; containerName: string; cpus: CpuSet; containerId: string | null }>,
  ) {
    return [...assignments]
      .map(
        ({ podUid, containerName, cpus, containerId }) =>
          `${podUid}/${containerName} ${cpus.toString()}${containerId === null ? ' idle' : ''}`,
      )
      .sort()
      .join('; ');
  }
}

function showAnswer(answer: RuntimeAnswer): string {
  if (answer.kind === 'refuse') return `refused ${answer.code}`;
  const updates = (answer.updates ?? []).map(({ containerId, cpus }) => `${containerId}=${cpus?.toString()}`);
  return [answer.adjust?.cpus?.toString() ?? 'ok', ...updates].join(' ');
}

/** A shared container that runs on all CPUs. */
function stageWithSharedContainer(): Stage {
  const stage = new Stage();
  stage.handle(create('q', 's', 0));
  stage.handle(starting('q', 's'));
  stage.kernel.set('q/s', '0-7');
  return stage;
}

test('the time of a decision has the look at the machine that it needs', () => {
  let nowMs = 1_000;
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const timings: (Timing | undefined)[] = [];
  const transactor = new Transactor({
    model: new NodeModel(EIGHT_CPUS, settingsWith()),
    now: () => '2026-01-01T00:00:00Z',
    look: (event) => {
      nowMs += 7;
      return event;
    },
    save: () => {
      nowMs += 3;
      return undefined;
    },
    mover: { move: () => undefined, widenPod: () => undefined },
    log: pino({ level: 'silent' }),
    observer: { onTransaction: ({ timing }) => timings.push(timing) },
  });
  transactor.handle(create('p', 'a', 2));
  expect(timings).toEqual([{ decideMs: 7, saveMs: 3, moveMs: 0 }]);
  clock.mockRestore();
});

describe('the order of a transaction', () => {
  test('is decide, save, move, report to the observer, answer', () => {
    expect(stageWithSharedContainer().effectsOf(create('p', 'a', 2))).toEqual([
      'decide',
      'save',
      'move q/s',
      'report create-container',
      'answer',
    ]);
  });

  test('without a changed assignment has no save', () => {
    const stage = new Stage();
    expect(stage.effectsOf(create('p', 'a', 0))).toEqual(['decide', 'report create-container', 'answer']);
    expect(stage.effectsOf(create('p', 'b', 9))).toEqual(['decide', 'report create-container', 'answer']);
  });

  test('has the decision on disk before the first container moves', () => {
    const stage = stageWithSharedContainer();
    let diskAtMove = '';
    stage.failMove = () => {
      diskAtMove = stage.disk;
      return undefined;
    };
    stage.handle(create('p', 'a', 2));
    expect(diskAtMove).toBe('p/a 1,5');
  });
});

describe('widening the cgroups above a pod', () => {
  const widensOf = (...events: RuntimeEvent[]): string[] =>
    stageWithSharedContainer()
      .effectsOf(...events)
      .filter((effect) => effect.startsWith('widen'));

  test.each`
    name                                                              | events                                                                       | widens
    ${'happens for a new pod'}                                        | ${[{ kind: 'pod-started', pod: podOf('p') }]}                                | ${['widen p']}
    ${'happens for all pods of a synchronization'}                    | ${[{ kind: 'synchronize', pods: [podOf('q'), podOf('r')], containers: [] }]} | ${['widen q', 'widen r']}
    ${'does not happen for a creation, whose pod was widened before'} | ${[create('p', 'a', 2)]}                                                     | ${[]}
    ${'does not happen for a pod that is removed'}                    | ${[{ kind: 'synchronize', pods: [], containers: [] }, removed('q')]}         | ${[]}
  `('$name', ({ events, widens }) => {
    expect(widensOf(...(events as RuntimeEvent[]))).toEqual(widens);
  });

  test('happens before a container of the synchronization moves', () => {
    const stage = stageWithSharedContainer();
    const found = { ...containerOf('q', 's', 0), phase: 'running' as const };
    const effects = stage.effectsOf(create('p', 'a', 2), {
      kind: 'synchronize',
      pods: [podOf('q')],
      containers: [found],
    });
    expect(effects.indexOf('widen q')).toBeGreaterThan(effects.indexOf('save'));
    expect(effects.indexOf('widen q')).toBeLessThan(effects.indexOf('move q/s'));
  });
});

describe('a failed save', () => {
  test('refuses the creation, moves no container and changes nothing', () => {
    const stage = stageWithSharedContainer();
    stage.diskIsFull = true;
    expect(stage.handle(create('p', 'a', 2))).toEqual(['refused UNAVAILABLE']);
    expect({ assigned: stage.assigned, disk: stage.disk, kernel: stage.kernel.get('q/s') }).toEqual({
      assigned: '',
      disk: '',
      kernel: '0-7',
    });
    expect([stage.model.containers.has('p/a'), stage.model.pods.has('sandbox-p')]).toEqual([false, false]);
    expect(stage.model.containers.get('q/s')?.promise?.cpus.toString()).toBe('0-7');
  });

  test('names the problem in the log and not in the answer', () => {
    const stage = new Stage();
    stage.diskIsFull = true;
    const answer = stage.transactor.handle(create('p', 'a', 2));
    expect(JSON.stringify(answer)).not.toContain('no space');
    expect(stage.logged).toContain('state could not be saved');
  });

  describe('names the refused container or pod in the log and in the Event:', () => {
    const NOT_SAVED = 'the decision could not be written to disk, so it was not made; the log of cpusetd says why';
    const container = containerOf('p', 'a', 4);
    const spec = specOf('p', 'a 2', { annotations: { 'cpusetd.io/policy': 'exclusive' } });
    test.each`
      event                                                                                  | fields                                                              | message
      ${create('p', 'a', 4)}                                                                 | ${{ podUid: 'p', pod: 'ns/p', container: 'a', containerId: 'p/a' }} | ${`a: ${NOT_SAVED}`}
      ${{ kind: 'update-container', pod: podOf('p'), container, resources: resourcesOf(4) }} | ${{ podUid: 'p', pod: 'ns/p', container: 'a', containerId: 'p/a' }} | ${`a: ${NOT_SAVED}`}
      ${{ kind: 'pod-spec', spec }}                                                          | ${{ podUid: 'p', pod: 'ns/p' }}                                     | ${NOT_SAVED}
    `('$event.kind', ({ event, fields, message }: { event: NodeEvent; fields: object; message: string }) => {
      const stage = new Stage({ podPolicies: ['exclusive'] });
      if (event.kind !== 'create-container') stage.handle(create('p', 'a', 2), starting('p', 'a'));
      stage.diskIsFull = true;
      expect(stage.transactor.handle(event)).toMatchObject({ kind: 'refuse', code: 'UNAVAILABLE' });
      const refused = stage.lastReported.find(({ kind }) => kind === 'refused');
      expect(refused).toEqual({
        kind: 'refused',
        subject: fields,
        code: 'UNAVAILABLE',
        because: NOT_SAVED,
        problem: 'no space left',
      });
      expect(toPodEvent(stage.model, refused!)).toEqual({
        pod: { uid: 'p', namespace: 'ns', name: 'p' },
        ...(event.kind !== 'pod-spec' && { container: 'a' }),
        type: 'Warning',
        reason: 'CpusRefused',
        message,
      });
    });
  });

  test('does not refuse a shared container', () => {
    const stage = new Stage();
    stage.diskIsFull = true;
    expect(stage.handle(create('p', 'a', 1.5))).toEqual(['0-7']);
  });

  test('does not refuse a shared container whose request has CPUs: they are on disk with the next change that is', () => {
    const stage = new Stage();
    stage.diskIsFull = true;
    const [pod, container] = [podOf('p'), containerOf('p', 'a', 1.5)];
    const resources = { ...container.resources, cpus: '2-3' };
    const event = { kind: 'create-container', pod, container: { ...container, resources } } as const;
    expect(stage.transactor.handle(event)).toEqual({ kind: 'ok' });
    expect(stage.model.containers.get('p/a')?.promise?.cpus.toString()).toBe('2-3');
    expect(stage.transactor.hasUnsavedState).toBe(true);
    stage.diskIsFull = false;
    stage.transactor.saveAgain();
    expect(stage.transactor.hasUnsavedState).toBe(false);
  });

  test('refuses a resize, and the container keeps its CPUs', () => {
    const stage = new Stage();
    stage.handle(create('p', 'a', 2));
    stage.diskIsFull = true;
    const container = containerOf('p', 'a', 2);
    const resize = { kind: 'update-container', pod: podOf('p'), container, resources: resourcesOf(4) } as const;
    expect(stage.handle(resize)).toEqual(['refused UNAVAILABLE']);
    expect(stage.assigned).toBe('p/a 1,5');
    expect(stage.model.containers.get('p/a')).toMatchObject({ entitledCpus: 2, resources: resourcesOf(2) });
  });

  test('keeps the end of a container in the model, and the next event saves it', () => {
    const stage = new Stage();
    stage.handle(create('p', 'a', 2));
    stage.handle({ kind: 'container-created', pod: podOf('p'), container: containerOf('p', 'a', 2) });
    stage.diskIsFull = true;
    expect(stage.handle(stopped('p', 'a'))).toEqual(['ok']);
    expect({ assigned: stage.assigned, disk: stage.disk, unsaved: stage.transactor.hasUnsavedState }).toEqual({
      assigned: 'p/a 1,5 idle',
      disk: 'p/a 1,5',
      unsaved: true,
    });
    stage.diskIsFull = false;
    stage.handle(create('q', 's', 0));
    expect({ disk: stage.disk, unsaved: stage.transactor.hasUnsavedState }).toEqual({
      disk: 'p/a 1,5 idle',
      unsaved: false,
    });
  });

  test('leaves nothing unsaved when it was of a batch that was refused as a whole, and is repeated once', () => {
    const stage = new Stage();
    stage.diskIsFull = true;
    expect(stage.handle(create('p', 'a', 2), create('q', 'b', 2))).toEqual([
      'refused UNAVAILABLE',
      'refused UNAVAILABLE',
    ]);
    expect(stage.transactor.hasUnsavedState).toBe(false);
    stage.diskIsFull = false;
    stage.effects.length = 0;
    stage.transactor.saveAgain();
    stage.transactor.saveAgain();
    expect(stage.effects).toEqual(['save']);
  });

  test('rolls back the later of two decisions about one container first', () => {
    const stage = new Stage();
    stage.diskIsFull = true;
    stage.handle(create('p', 'a', 2), create('p', 'a', 2));
    expect([...stage.model.assignments.keys()]).toEqual([]);
    expect([...stage.model.containers.keys()]).toEqual([]);
  });

  test('with an unknown result on disk leaves the state unsaved', () => {
    const stage = new Stage();
    stage.diskIsFull = true;
    stage.onDisk = 'unknown';
    expect(stage.handle(create('p', 'a', 2))).toEqual(['refused UNAVAILABLE']);
    expect(stage.transactor.hasUnsavedState).toBe(true);
  });

  test('leaves earlier unsaved state unsaved', () => {
    const stage = new Stage();
    stage.handle(create('p', 'a', 2));
    stage.diskIsFull = true;
    stage.handle(removed('p'));
    stage.handle(create('q', 'b', 2));
    expect(stage.transactor.hasUnsavedState).toBe(true);
  });

  test('is repeated by saveAgain, once', () => {
    const stage = new Stage();
    stage.handle(create('p', 'a', 2));
    stage.diskIsFull = true;
    stage.handle(removed('p'));
    stage.diskIsFull = false;
    stage.effects.length = 0;
    stage.transactor.saveAgain();
    stage.transactor.saveAgain();
    expect({ effects: stage.effects, disk: stage.disk }).toEqual({ effects: ['save'], disk: '' });
  });
});

describe('a batch', () => {
  test('shares one save, and answers in the order of its events', () => {
    const stage = new Stage();
    expect(stage.handle(create('p', 'a', 2), create('q', 'b', 2), create('r', 'c', 9))).toEqual([
      '1,5',
      '2,6',
      'refused RESOURCE_EXHAUSTED',
    ]);
    expect(stage.effects.filter((effect) => effect === 'save')).toHaveLength(1);
    expect(stage.disk).toBe('p/a 1,5; q/b 2,6');
  });

  test('decides each event on the result of the earlier ones', () => {
    expect(new Stage().handle(create('p', 'a', 4), create('q', 'b', 4))).toEqual([
      '1-2,5-6',
      'refused RESOURCE_EXHAUSTED',
    ]);
  });

  test('with a failed save is rolled back as a whole, last event first', () => {
    const stage = new Stage();
    stage.handle(create('p', 'a', 2));
    stage.diskIsFull = true;
    // The second event takes over the assignment of the first, so only the reverse order restores both.
    expect(stage.handle(stopped('p', 'a'), create('p', 'a', 2), create('q', 'b', 2))).toEqual([
      'ok',
      'refused UNAVAILABLE',
      'refused UNAVAILABLE',
    ]);
    expect(stage.disk).toBe('p/a 1,5');
    stage.diskIsFull = false;
    stage.transactor.saveAgain();
    expect({ assigned: stage.assigned, disk: stage.disk }).toEqual({ assigned: '', disk: '' });
  });

  test('does not leave shared containers on CPUs that it releases and assigns again', () => {
    const stage = stageWithSharedContainer();
    stage.handle(create('p', 'a', 2));
    expect(stage.kernel.get('q/s')).toBe('0,2-4,6-7');
    stage.handle(removed('p'), create('r', 'b', 2));
    expect(stage.assigned).toBe('r/b 1,5');
    expect(stage.kernel.get('q/s')).toBe('0,2-4,6-7');
  });

  test('moves shared containers once, not once per event', () => {
    const countChanges = (shared: number): number => {
      const stage = new Stage();
      const names = Array.from({ length: shared }, (_, i) => `s${i}`);
      stage.handle(...names.flatMap((name) => [create('q', name, 0), starting('q', name)]));
      const before = stage.model.revision;
      stage.handle(create('p', 'a', 2), create('r', 'b', 2), create('t', 'c', 2));
      for (const name of names) expect(stage.kernel.get(`q/${name}`)).toBe('0,4');
      return stage.model.revision - before;
    };
    // Two changes per container: the promise and the applied set.
    expect(countChanges(40) - countChanges(0)).toBe(2 * 40);
  });

  test('with failed moves has them in each answer that needs them', () => {
    const stage = stageWithSharedContainer();
    stage.failMove = () => ({ kind: 'off', because: 'off' });
    expect(stage.handle(create('p', 'a', 2), create('r', 'b', 2), create('q', 't', 0), create('v', 'c', 9))).toEqual([
      '1,5 q/s=0,3-4,7',
      '2,6 q/s=0,3-4,7',
      '0,3-4,7',
      'refused RESOURCE_EXHAUSTED',
    ]);
  });

  test('with a failed save and a refused last event leaves shared containers unmoved', () => {
    const stage = stageWithSharedContainer();
    const before = showContainers(stage.model);
    stage.diskIsFull = true;
    expect(stage.handle(create('p', 'a', 2), create('v', 'c', 9))).toEqual([
      'refused UNAVAILABLE',
      'refused RESOURCE_EXHAUSTED',
    ]);
    expect(showContainers(stage.model)).toBe(before);
    expect(stage.kernel.get('q/s')).toBe('0-7');
  });

  test('is decided event by event when its moves can’t be planned together', () => {
    const stage = stageWithSharedContainer();
    const all = stage.model.allContainers as Map<string, Container>;
    all.values = () => {
      Reflect.deleteProperty(all, 'values');
      throw new Error('an internal fault');
    };
    expect(stage.handle(create('p', 'a', 2), create('r', 'b', 2))).toEqual(['1,5', '2,6']);
    expect(stage.disk).toBe('p/a 1,5; r/b 2,6');
    expect(stage.kernel.get('q/s')).toBe('0,3-4,7');
    expect(stage.logged).toHaveLength(1);
  });

  test('at random has the same result as its events one by one', () => {
    let pinned = 0;
    for (let seed = 1; seed <= 300; seed++) {
      const random = createRandom(seed);
      const [together, oneByOne] = [new Stage(), new Stage()];
      for (let batch = 0; batch < 4; batch++) {
        const events = Array.from({ length: random.int(2, 6) }, () => pickEvent(random));
        expect(together.handle(...events)).toEqual(events.flatMap((event) => oneByOne.handle(event)));
        expect(together.assigned).toBe(oneByOne.assigned);
        expect(together.disk).toBe(oneByOne.disk);
        expect(showContainers(together.model)).toBe(showContainers(oneByOne.model));
        pinned += together.model.assignments.size;
      }
    }
    expect(pinned).toBeGreaterThan(500);
  });
});

function pickEvent(random: Random): RuntimeEvent {
  const [uid, name] = [random.pick(['p', 'q', 'r']), random.pick(['a', 'b'])];
  return random.pick([
    create(uid, name, random.pick([0, 0, 1, 2, 3])),
    starting(uid, name),
    stopped(uid, name),
    removed(uid),
  ]);
}

/** The fields of each container, with CPU sets as lists. */
function showContainers({ containers }: NodeModel): string {
  return JSON.stringify([...containers].map(([id, container]) => [id, Object.entries(container).sort()]).sort());
}

describe('failed moves', () => {
  test.each`
    name                                                           | failure                                  | answer
    ${'a cgroup that can’t be written: the answer has the update'} | ${{ kind: 'refused', because: 'EROFS' }} | ${'1,5 q/s=0,2-4,6-7'}
    ${'cgroup writes off: the answer has the update'}              | ${{ kind: 'off', because: 'off' }}       | ${'1,5 q/s=0,2-4,6-7'}
    ${'a container that is gone: no update'}                       | ${{ kind: 'gone', because: 'ENOENT' }}   | ${'1,5'}
  `('$name', ({ failure, answer }: { failure: MoveFailure; answer: string }) => {
    const stage = stageWithSharedContainer();
    stage.failMove = () => failure;
    expect(stage.handle(create('p', 'a', 2))).toEqual([answer]);
  });

  test('after a second of slow writes: the answer has the rest, so that the runtime does not wait longer', () => {
    let nowMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const stage = new Stage();
    for (const name of ['s1', 's2', 's3']) stage.handle(create('s', name, 0), starting('s', name));
    stage.failMove = () => {
      nowMs += 500; // a kernel under load
      return undefined;
    };
    expect(stage.handle(create('a', 'x', 2))).toEqual(['1,5 s/s3=0,2-4,6-7']);
    expect(stage.kernel.size).toBe(2);
    expect(stage.logged.filter((line) => line === 'moves were not made here')).toHaveLength(1);
    clock.mockRestore();
  });

  test('do not affect other moves', () => {
    const stage = stageWithSharedContainer();
    stage.handle(create('q', 't', 0));
    stage.handle(starting('q', 't'));
    stage.failMove = (id) => (id === 'q/s' ? { kind: 'refused', because: 'EBUSY' } : undefined);
    expect(stage.handle(create('p', 'a', 2))).toEqual(['1,5 q/s=0,2-4,6-7']);
    expect(stage.kernel.get('q/t')).toBe('0,2-4,6-7');
  });

  test('leave the kernel’s state unknown, so that a move to the last seen set is made as well', () => {
    const stage = stageWithSharedContainer();
    stage.failMove = () => ({ kind: 'off', because: 'off' });
    stage.handle(create('p', 'a', 2));
    const seen = CpuSet.of([0, 2, 3, 4, 6, 7]);
    stage.transactor.change((draft) => {
      const observation = { kind: 'seen', cpus: seen, effective: seen, mems: CpuSet.of([0]) } as const;
      return reconcile(draft, new Map([['q/s', observation]])).moves;
    });
    stage.handle(stopped('p', 'a'), removed('p')); // the runtime was asked to let it have all CPUs again
    expect(stage.handle(create('r', 'a', 2))).toEqual(['1,5 q/s=0,2-4,6-7']);
  });

  test('are in the next plan again', () => {
    const stage = stageWithSharedContainer();
    stage.failMove = () => ({ kind: 'refused', because: 'EBUSY' });
    stage.handle(create('p', 'a', 2));
    stage.failMove = () => undefined;
    stage.transactor.change((draft) => {
      draft.put({ kind: 'set-topology', topology: EIGHT_CPUS });
      return planChanges(draft);
    });
    expect(stage.kernel.get('q/s')).toBe('0,2-4,6-7');
  });
});

test('a change that throws changes nothing', () => {
  const stage = new Stage();
  stage.handle(create('p', 'a', 2));
  expect(() =>
    stage.transactor.change((draft) => {
      draft.put({ kind: 'drop-assignment', key: 'p/a' });
      throw new Error('an internal fault');
    }),
  ).toThrow('an internal fault');
  expect(stage.assigned).toBe('p/a 1,5');
});

describe('an internal fault', () => {
  const fault = (): never => {
    throw new Error('an internal fault');
  };
  const container = Object.defineProperty({ ...containerOf('q', 'b', 2) }, 'resources', { get: fault });
  const broken: RuntimeEvent = { kind: 'create-container', pod: podOf('q'), container };

  test('in one decision refuses that event alone and changes nothing', () => {
    const stage = new Stage();
    expect(stage.handle(create('p', 'a', 2), broken, create('r', 'c', 2))).toEqual(['1,5', 'refused INTERNAL', '2,6']);
    expect({ assigned: stage.assigned, disk: stage.disk }).toEqual({
      assigned: 'p/a 1,5; r/c 2,6',
      disk: 'p/a 1,5; r/c 2,6',
    });
    expect([...stage.model.pods.keys()]).toEqual(['sandbox-p', 'sandbox-r']);
    expect(stage.logged).toEqual(['an event could not be decided; nothing of it remains']);
    stage.handle(broken);
    expect(stage.lastReported).toMatchObject([{ kind: 'refused', subject: { pod: 'ns/q', container: 'b' } }]);
  });

  test('in a decision has no details in the answer', () => {
    expect(JSON.stringify(new Stage().transactor.handle(broken))).not.toContain('an internal fault');
  });

  test('in the clock refuses the event', () => {
    const stage = new Stage();
    stage.failAt = { decide: fault };
    expect(stage.handle(create('p', 'a', 2))).toEqual(['refused INTERNAL']);
    expect(stage.assigned).toBe('');
  });

  test('in the save is a failed save with an unknown result on disk', () => {
    const stage = stageWithSharedContainer();
    stage.failAt = { save: fault };
    expect(stage.handle(create('p', 'a', 2), create('q', 't', 0))).toEqual(['refused UNAVAILABLE', '0-7']);
    expect({ assigned: stage.assigned, unsaved: stage.transactor.hasUnsavedState }).toEqual({
      assigned: '',
      unsaved: true,
    });
    expect(stage.kernel.get('q/s')).toBe('0-7');
    expect(() => stage.transactor.saveAgain()).not.toThrow();
    stage.failAt = {};
    stage.transactor.saveAgain();
    expect(stage.transactor.hasUnsavedState).toBe(false);
  });

  test('in one move leaves that move to the runtime, and the others are made', () => {
    const stage = stageWithSharedContainer();
    stage.handle(create('q', 't', 0));
    stage.handle(starting('q', 't'));
    stage.failMove = (id) => (id === 'q/s' ? fault() : undefined);
    expect(stage.handle(create('p', 'a', 2))).toEqual(['1,5 q/s=0,2-4,6-7']);
    expect({ assigned: stage.assigned, disk: stage.disk }).toEqual({ assigned: 'p/a 1,5', disk: 'p/a 1,5' });
    expect([stage.kernel.get('q/t'), stage.model.containers.get('q/s')?.applied]).toEqual(['0,2-4,6-7', undefined]);
  });

  test('in a move makes the runtime’s record of that container unknown', () => {
    const stage = stageWithSharedContainer();
    expect(stage.model.containers.get('q/s')?.runtimeRecord?.cpus.toString()).toBe('0-7');
    stage.failMove = () => fault();
    expect(stage.handle(create('p', 'a', 2))).toEqual(['1,5 q/s=0,2-4,6-7']);
    expect(stage.model.containers.get('q/s')?.runtimeRecord).toBeUndefined();
  });

  test('in the move of a pause container asks nothing of the runtime, which has no update for it', () => {
    const stage = stageWithSharedContainer();
    const pause = { sandboxId: 'sandbox-q', cgroupsPath: '/kubepods/podq/pause', found: parseCpuList('0-7') };
    stage.failMove = (id) => (id === 'sandbox-q' ? fault() : undefined);
    expect(stage.handle({ kind: 'pauses-found', pauses: [pause] })).toEqual(['ok']);
    expect(stage.model.allContainers.get('sandbox-q')?.applied).toBeUndefined();
  });

  test('in widening above one pod does not affect the others', () => {
    const stage = stageWithSharedContainer();
    stage.failAt = { 'widen q': fault };
    expect(stage.effectsOf({ kind: 'synchronize', pods: [podOf('q'), podOf('r')], containers: [] })).toEqual(
      expect.arrayContaining(['widen q', 'widen r', 'answer']),
    );
  });

  test.each(['report create-container', 'log'])('after the save, in %s, changes no answer', (effect) => {
    const stage = stageWithSharedContainer();
    stage.failAt = { [effect]: fault };
    stage.failMove = () => ({ kind: 'refused', because: 'EROFS' });
    expect(stage.handle(create('p', 'a', 2), create('r', 'b', 2))).toEqual(['1,5 q/s=0,3-4,7', '2,6 q/s=0,3-4,7']);
    expect(stage.disk).toBe('p/a 1,5; r/b 2,6');
    stage.diskIsFull = true;
    expect(stage.handle(create('r', 'c', 1))).toEqual(['refused UNAVAILABLE']);
  });
});

test('an unsaved decision is not logged as pinned', () => {
  const stage = new Stage();
  stage.diskIsFull = true;
  stage.handle(create('p', 'a', 2));
  expect([stage.logged, stage.noted]).toEqual([['state could not be saved'], ['refused']]);
});

describe('record', () => {
  const withRecord = (stage: Stage) => stage.model.containers.get('p/a')?.runtimeRecord?.cpus.toString();
  const forget = (draft: Draft): void => {
    const { runtimeRecord: _recorded, ...rest } = draft.model.containers.get('p/a')!;
    draft.put({ kind: 'put-container', container: rest });
  };

  test('changes the model without a save, a move or a report', () => {
    const stage = new Stage();
    stage.handle(create('p', 'a', 2));
    expect(withRecord(stage)).toBe('1,5');
    stage.effects.length = 0;
    stage.transactor.record(forget);
    expect([withRecord(stage), stage.effects]).toEqual([undefined, ['decide']]);
  });

  test('that throws changes nothing', () => {
    const stage = new Stage();
    stage.handle(create('p', 'a', 2));
    const fail = (draft: Draft): void => {
      forget(draft);
      throw new Error('an internal fault');
    };
    expect(() => stage.transactor.record(fail)).toThrow('an internal fault');
    expect(withRecord(stage)).toBe('1,5');
  });
});
