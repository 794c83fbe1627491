import { pino } from 'pino';
import { createMetricsOf } from './refusal-metrics';
import { explainPod } from '../../../src/app/status/explain';
import { MOST_REFUSALS, RefusalHistory } from '../../../src/app/status/refusal-history';
import { Transactor } from '../../../src/app/transaction/transactor';
import type { Transaction } from '../../../src/app/transaction/transaction';
import type { CpuResources, NodeEvent, PodInfo } from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import { keyOfRefusal, type Refusal } from '../../../src/core/model/refusal';
import { createRandom } from '../../support/random';
import { specOf } from '../../support/spec-of';
import { EIGHT_CPUS, podOf, resourcesOf, settingsWith, type Rules } from '../../core/transition/node-driver';

const HOUR_MS = 3_600_000;

/** A node that events are sent to, with the book of what it refused and the metrics of it. */
class Node {
  nowMs = Date.parse('2026-11-22T10:00:00Z');
  diskIsFull = false;
  readonly changes: string[] = [];
  readonly model: NodeModel;
  readonly metrics = createMetricsOf();
  readonly book: RefusalHistory;
  private readonly transactor: Transactor;
  private containers = 0;

  constructor(rules: Rules = {}) {
    this.model = new NodeModel(EIGHT_CPUS, settingsWith(rules));
    const now = () => new Date(this.nowMs).toISOString();
    this.book = new RefusalHistory({ model: this.model, now, onChange: (change) => this.changes.push(change) });
    this.transactor = new Transactor({
      model: this.model,
      now,
      log: pino({ level: 'silent' }),
      save: () => (this.diskIsFull ? { because: 'no space left', onDisk: 'old' } : undefined),
      mover: { move: () => undefined },
      observer: { onTransaction: (done) => this.onTransaction(done) },
    });
  }

  private onTransaction(done: Transaction): void {
    this.book.note(done);
    this.metrics.count(this.model, done, this.book.of(done));
  }

  send(event: NodeEvent): string {
    const answer = this.transactor.handle(event);
    return answer.kind === 'refuse' ? answer.code : 'ok';
  }

  /** Each creation has a new id, as those of the kubelet have. */
  create(pod: PodInfo, name: string, cpus: number): string {
    const id = `c${++this.containers}`;
    const resources = resourcesOf(cpus);
    const container = { id, sandboxId: pod.sandboxId, name, phase: 'creating', cgroupsPath: '', resources } as const;
    return this.send({ kind: 'create-container', pod, container });
  }

  change(pod: PodInfo, name: string, resources: CpuResources): string {
    const container = this.model.containersOf(pod.uid).find((of) => of.name === name)!;
    return this.send({ kind: 'update-container', pod, container, resources });
  }

  explain(pod: string, container = '') {
    const status = { containers: [], idle: [] } as never;
    const known = { status, refused: this.book.list(), stepsOf: () => [], view: this.model };
    const explanation = explainPod(known, { kind: 'pod', namespace: '', pod, container });
    return explanation.kind === 'containers' ? explanation.refused : [];
  }

  get names(): string[] {
    return this.book.list().map(({ podUid, containerName, times }) => `${podUid}/${containerName} ${times}`);
  }
}

function countByNamespace(refusals: readonly Refusal[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { podNamespace } of refusals) counts.set(podNamespace, (counts.get(podNamespace) ?? 0) + 1);
  return counts;
}

const inNamespace = (namespace: string, uid: string): PodInfo => ({ ...podOf(uid), namespace });

describe('a refused container', () => {
  test('is remembered with when, what it asked for, under which policy, and what was free where', () => {
    const node = new Node({ podPolicies: ['exclusive'] });
    node.create(podOf('a'), 'app', 5);
    const pod = { ...podOf('b'), annotations: { 'cpusetd.io/policy': 'exclusive' } };
    expect(node.create(pod, 'app', 4)).toBe('RESOURCE_EXHAUSTED');
    node.nowMs += 1_000;
    expect(node.create(pod, 'app', 4)).toBe('RESOURCE_EXHAUSTED');
    expect(node.book.list()).toEqual([
      {
        podUid: 'b',
        podNamespace: 'ns',
        podName: 'b',
        containerName: 'app',
        asked: 'creation',
        requested: 4,
        policy: 'exclusive',
        chosenBy: 'cpusetd.io/policy',
        code: 'RESOURCE_EXHAUSTED',
        because: expect.stringMatching(/^asked for 4 exclusive CPUs, 2 can be given now/) as string,
        zones: [{ node: 0, allocatable: 7, free: 2 }],
        firstAt: '2026-11-22T10:00:00.000Z',
        lastAt: '2026-11-22T10:00:01.000Z',
        times: 2,
      },
    ]);
  });

  test('is one whose change was refused, too', () => {
    const node = new Node();
    node.create(podOf('a'), 'app', 5);
    expect(node.change(podOf('a'), 'app', resourcesOf(9))).toBe('RESOURCE_EXHAUSTED');
    expect(node.book.list()).toMatchObject([{ asked: 'change', requested: 9, times: 1 }]);
    expect(node.change(podOf('a'), 'app', resourcesOf(6))).toBe('ok');
    expect(node.names).toEqual([]);
  });

  test('is one that a full disk refused', () => {
    const node = new Node();
    node.diskIsFull = true;
    expect(node.create(podOf('a'), 'app', 2)).toBe('UNAVAILABLE');
    expect(node.book.list()).toMatchObject([{ code: 'UNAVAILABLE', requested: 2, policy: 'static' }]);
    expect(node.explain('a')).toMatchObject([
      { fitsNow: true, remedy: expect.stringMatching(/what could not be written/) as string },
    ]);
  });

  test('is forgotten when it is served', () => {
    const node = new Node();
    node.create(podOf('a'), 'app', 6);
    node.create(podOf('b'), 'app', 2);
    node.create(podOf('b'), 'side', 2);
    expect(node.names).toEqual(['b/app 1', 'b/side 1']);
    node.send({ kind: 'pod-removed', sandboxId: 'sandbox-a' });
    expect(node.create(podOf('b'), 'app', 2)).toBe('ok');
    expect(node.names).toEqual(['b/side 1']);
  });

  test('is forgotten when it was made while cpusetd was away', () => {
    const node = new Node();
    node.create(podOf('b'), 'app', 9);
    node.create(podOf('b'), 'side', 9);
    const container = {
      id: 'x',
      sandboxId: 'sandbox-b',
      name: 'app',
      phase: 'running',
      cgroupsPath: '/x',
      resources: {},
    } as const;
    node.send({ kind: 'synchronize', pods: [podOf('b')], containers: [container] });
    expect(node.names).toEqual(['b/side 1']);
  });

  test('is forgotten when the API server has its pod no more, and not while the runtime has it and the API server is behind', () => {
    const node = new Node();
    node.send({ kind: 'pod-started', pod: podOf('new') });
    for (const uid of ['gone', 'told', 'new', 'missing']) node.create(podOf(uid), 'app', 9);
    node.send({ kind: 'pod-specs', specs: [specOf('told', 'app 9'), specOf('gone', 'app 9')] });
    expect(node.names).toEqual(['gone/app 1', 'told/app 1', 'new/app 1']);
    node.send({ kind: 'pod-spec-gone', uid: 'gone' });
    expect(node.names).toEqual(['told/app 1', 'new/app 1']);
  });

  describe('of a static pod', () => {
    const mirror = specOf('mirror-1', 'app 9', {
      name: 'static',
      annotations: { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.hash': 'static' },
    });
    const refuse = (): Node => {
      const node = new Node();
      node.send({ kind: 'pod-started', pod: podOf('static') });
      node.send({ kind: 'pod-specs', specs: [mirror] });
      expect(node.create(podOf('static'), 'app', 9)).toBe('RESOURCE_EXHAUSTED');
      return node;
    };
    const MIRROR_GONE = { kind: 'pod-spec-gone', uid: 'mirror-1' } as const;
    const SANDBOX_GONE = { kind: 'pod-removed', sandboxId: 'sandbox-static' } as const;

    test('stays while the kubelet has the pod: it makes a mirror anew, and tries again', () => {
      const node = refuse();
      node.send(MIRROR_GONE);
      expect(node.names).toEqual(['static/app 1']);
      node.send({ kind: 'pod-spec', spec: { ...mirror, uid: 'mirror-2' } });
      node.send({ kind: 'pod-specs', specs: [{ ...mirror, uid: 'mirror-2' }] });
      node.send(SANDBOX_GONE); // the kubelet makes a sandbox anew
      expect(node.names).toEqual(['static/app 1']);
    });

    test.each([
      ['the mirror first', [MIRROR_GONE, SANDBOX_GONE]],
      ['the sandbox first', [SANDBOX_GONE, MIRROR_GONE]],
      ['the mirror first, its sandbox stopped', [MIRROR_GONE, { kind: 'pod-stopped', sandboxId: 'sandbox-static' }]],
    ] as const)('goes when both are gone, %s', (_order, events) => {
      const node = refuse();
      for (const event of events) node.send(event);
      expect(node.names).toEqual([]);
    });

    test('stays without an API server: nobody tells whether its file is still there', () => {
      const node = new Node();
      node.send({ kind: 'pod-started', pod: podOf('static') });
      node.create(podOf('static'), 'app', 9);
      node.send(SANDBOX_GONE);
      expect(node.names).toEqual(['static/app 1']);
    });
  });

  test('is forgotten when another pod has its name', () => {
    const node = new Node();
    for (const uid of ['db-1', 'db-2', 'web']) node.create({ ...podOf(uid), name: uid.slice(0, 2) }, 'app', 9);
    node.send({ kind: 'pod-started', pod: { ...podOf('db-2'), name: 'db' } });
    expect(node.names).toEqual(['db-2/app 1', 'web/app 1']);
  });

  test('of a clock that was far ahead is forgotten when the clock is put right', () => {
    const node = new Node();
    const now = node.nowMs;
    node.nowMs = Date.parse('2099-01-01T00:00:00Z');
    node.create(podOf('a'), 'app', 9);
    expect(node.book.list()).toHaveLength(1);
    node.nowMs = now;
    expect(node.book.list()).toEqual([]);
    node.create(podOf('b'), 'app', 9);
    expect(node.book.list()).toMatchObject([{ podUid: 'b' }]);
  });

  test('is forgotten after a day without a try', () => {
    const node = new Node();
    node.create(podOf('a'), 'app', 9);
    node.nowMs += 23 * HOUR_MS;
    node.create(podOf('b'), 'app', 9);
    node.nowMs += HOUR_MS + 1;
    expect(node.names).toEqual(['b/app 1']);
    node.create(podOf('c'), 'app', 9);
    node.nowMs -= 2 * HOUR_MS; // whatever the clock does, it is gone
    expect(node.names).toEqual(['b/app 1', 'c/app 1']);
  });

  test('is told to whoever keeps the book, once as news and then as a repetition', () => {
    const node = new Node();
    for (let i = 0; i < 3; i++) node.create(podOf('a'), 'app', 9);
    node.create(podOf('b'), 'app', 1);
    expect(node.changes).toEqual(['entries', 'repeated', 'repeated']);
  });
});

describe('the book is bounded, and fair', () => {
  test('one container that is refused without end has one entry', () => {
    const node = new Node();
    node.create(podOf('quiet'), 'app', 9);
    for (let i = 0; i < 2 * MOST_REFUSALS; i++) node.create(podOf('loud'), 'app', 9);
    expect(node.names).toEqual(['quiet/app 1', `loud/app ${2 * MOST_REFUSALS}`]);
  });

  test('a namespace with thousands of refused pods, or a pod with thousands of containers, pushes nobody else out', () => {
    const node = new Node();
    node.create(inNamespace('other', 'quiet'), 'app', 9);
    node.create(inNamespace('loud', 'small'), 'app', 9);
    for (let i = 0; i < 2_000; i++) node.create(inNamespace('loud', 'large'), `c${i}`, 9);
    expect(node.names).toHaveLength(MOST_REFUSALS);
    expect(node.names.slice(0, 2)).toEqual(['quiet/app 1', 'small/app 1']);
    for (let i = 0; i < 2_000; i++) node.create(inNamespace('loud', `p${i}`), 'app', 9);
    expect(node.names).toHaveLength(MOST_REFUSALS);
    expect(node.names[0]).toBe('quiet/app 1');
  });

  const live = (node: Node, namespace: string, uid = namespace): PodInfo => {
    const pod = inNamespace(namespace, uid);
    node.send({ kind: 'pod-started', pod });
    return pod;
  };

  test('a tenant with more namespaces than there are places pushes nobody out who is alone in his', () => {
    const node = new Node();
    node.create(live(node, 'quiet'), 'app', 9);
    for (let i = 0; i < 2 * MOST_REFUSALS; i++) {
      node.nowMs += 1;
      node.create(live(node, `tenant-${i}`), 'app', 9);
    }
    expect(node.names).toHaveLength(MOST_REFUSALS);
    expect(node.names[0]).toBe('quiet/app 1');
  });

  test('where each namespace has one, pods that are gone make room, the latest of them first', () => {
    const node = new Node();
    for (let i = 0; i < MOST_REFUSALS; i++) {
      node.nowMs += 1;
      node.create(live(node, `n${i}`), 'app', 9);
    }
    for (const uid of ['n3', 'n200']) node.send({ kind: 'pod-removed', sandboxId: `sandbox-${uid}` });
    for (const name of ['first', 'second', 'third']) {
      node.nowMs += 1;
      node.create(live(node, name), 'app', 9);
    }
    expect(node.names).toHaveLength(MOST_REFUSALS);
    expect(node.names).toEqual(expect.arrayContaining(['n2/app 1', 'first/app 1', 'second/app 1']));
    expect(node.names.filter((name) => /^(n3|n200|third)\//.test(name))).toEqual([]);
  });

  test('who has two loses one of them before anybody loses his only one, and the namespace that came last begins', () => {
    const node = new Node();
    for (let i = 0; i < MOST_REFUSALS / 2; i++) {
      node.nowMs += 1;
      const pod = live(node, `n${i}`);
      for (const name of ['app', 'side']) node.create(pod, name, 9);
    }
    node.create(live(node, 'newcomer'), 'app', 9);
    expect(node.names).toHaveLength(MOST_REFUSALS);
    expect(node.names.filter((name) => name.startsWith(`n${MOST_REFUSALS / 2 - 1}/`))).toEqual([
      `n${MOST_REFUSALS / 2 - 1}/side 1`,
    ]);
    expect(node.names).toContain('newcomer/app 1');
  });

  test('who finds no place changes nothing in the book, and is a refusal all the same', async () => {
    const node = new Node();
    for (let i = 0; i < MOST_REFUSALS; i++) node.create(live(node, `n${i}`), 'app', 9);
    node.nowMs += 1;
    const before = node.changes.length;
    expect(node.create(live(node, 'late'), 'app', 9)).toBe('RESOURCE_EXHAUSTED');
    expect(node.changes).toHaveLength(before);
    expect((await node.metrics.read()).refusals).toBe(MOST_REFUSALS + 1);
  });

  test('at random: who loses his place was one of most in his namespace, or of a pod that is gone, or came last', () => {
    const random = createRandom(20);
    const node = new Node();
    const gone = new Set<string>();
    for (let i = 0; i < 3_000; i++) {
      node.nowMs += 1;
      const namespace = `n${random.int(0, random.pick([5, 300, 2_000]))}`;
      const uid = `${namespace}-${random.int(0, 3)}`;
      const before = node.book.list();
      const pod = live(node, namespace, uid);
      gone.delete(uid);
      node.create(pod, random.pick(['app', 'side']), 9);
      const after = new Set(node.book.list().map(keyOfRefusal));
      const lost = before.filter((refusal) => !after.has(keyOfRefusal(refusal)));
      expect(after.size).toBeLessThanOrEqual(MOST_REFUSALS);
      const most = Math.max(...countByNamespace(before).values());
      for (const { podUid, podNamespace } of lost) {
        const share = countByNamespace(before).get(podNamespace)! + (podNamespace === namespace ? 1 : 0);
        if (share > 1) expect(share).toBeGreaterThanOrEqual(most);
        else expect([...gone]).toContain(podUid);
      }
      if (random.chance(0.3)) {
        node.send({ kind: 'pod-removed', sandboxId: pod.sandboxId });
        gone.add(uid);
      }
    }
    expect(node.book.list()).toHaveLength(MOST_REFUSALS);
  });

  test('texts are bounded, and characters whole', () => {
    const node = new Node();
    const long = '𝒳'.repeat(10_000);
    const pod = { ...podOf(long), namespace: long, name: long };
    node.create(pod, long, 2);
    const [entry] = node.book.list();
    expect(entry).toMatchObject({ code: 'INVALID_ARGUMENT', podName: '𝒳'.repeat(126) });
    expect(JSON.stringify(entry).length).toBeLessThan(3_000);
    expect(JSON.stringify(entry)).not.toMatch(/\\ud/);
  });
});

describe('counted', () => {
  test('a refused creation is one container that got no CPUs, however often it is tried; every try is a refusal', async () => {
    const node = new Node();
    for (let i = 0; i < 5; i++) node.create(podOf('a'), 'app', 9);
    node.create(podOf('a'), 'side', 9);
    expect(await node.metrics.read()).toEqual({ requests: 2, errors: 2, refusals: 6 });
  });

  test('one that was served in between counts anew', async () => {
    const node = new Node();
    node.create(podOf('a'), 'app', 9);
    node.create(podOf('a'), 'app', 2);
    node.create(podOf('a'), 'app', 9);
    node.create(podOf('a'), 'app', 9);
    expect(await node.metrics.read()).toEqual({ requests: 3, errors: 2, refusals: 3 });
  });

  test('one that a full disk refused counts once, and one that was to share does not count', async () => {
    const node = new Node();
    node.create(podOf('b'), 'app', 2);
    node.diskIsFull = true;
    for (let i = 0; i < 3; i++) node.create(podOf('a'), 'app', 2);
    node.create(podOf('b'), 'app', 0); // gives up the CPUs of its name, which would have to be written
    expect(await node.metrics.read()).toEqual({ requests: 2, errors: 1, refusals: 4 });
  });
});

describe('explain', () => {
  test('tells then and now, and what helps', () => {
    const node = new Node();
    node.create(podOf('a'), 'app', 5);
    node.create(podOf('b'), 'app', 4);
    expect(node.explain('b')).toMatchObject([
      {
        namespace: 'ns',
        pod: 'b',
        container: 'app',
        zones: [{ node: 0, allocatable: 7, free: 2, freeNow: 2, podsNow: 1 }],
        now: expect.stringMatching(/^it would be refused: asked for 4 exclusive CPUs, 2 can be given now/) as string,
        fitsNow: false,
        remedy: expect.stringMatching(
          /^2 more CPUs have to come free: end a pod .* the kubelet tries again by itself$/,
        ) as string,
      },
    ]);
    node.send({ kind: 'pod-removed', sandboxId: 'sandbox-a' });
    expect(node.explain('ns/b'.slice(3))).toMatchObject([
      {
        zones: [{ free: 2, freeNow: 7, podsNow: 0 }],
        now: '4 CPUs would fit: 1-2,5-6',
        fitsNow: true,
        remedy: 'none is needed any more: the kubelet tries again by itself',
      },
    ]);
  });

  test.each`
    cpus | options                    | code                     | remedy
    ${9} | ${{}}                      | ${'RESOURCE_EXHAUSTED'}  | ${/^this node has 7 CPUs to give out, and never 9: ask for fewer/}
    ${3} | ${{ fullPcpusOnly: true }} | ${'FAILED_PRECONDITION'} | ${/^ask for what the reason says: trying again does not help/}
  `('$cpus CPUs that can never be given: $code', ({ cpus, options, code, remedy }) => {
    const node = new Node({ options: options as object });
    expect(node.create(podOf('a'), 'app', Number(cpus))).toBe(code);
    expect(node.explain('a')).toMatchObject([{ remedy: expect.stringMatching(remedy as RegExp) as string }]);
  });

  test('tells whose the CPUs are that are kept for pods still to be created', () => {
    const node = new Node();
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    node.send({ kind: 'pod-spec', spec: specOf('p', 'a 5') });
    node.create(podOf('b'), 'app', 4);
    expect(node.explain('b')).toMatchObject([
      {
        because: expect.stringMatching(
          /; 5 CPUs are kept for 1 pod that the scheduler has bound to this node/,
        ) as string,
        now: expect.stringMatching(/; 5 CPUs are kept for 1 pod \(ns\/p\) that the scheduler/) as string,
      },
    ]);
  });

  test('one CPU is one CPU', () => {
    const node = new Node();
    node.diskIsFull = true;
    node.create(podOf('a'), 'app', 1);
    expect(node.explain('a')).toMatchObject([{ now: '1 CPU would fit: 4' }]);
  });

  test('one container of several, and none that nobody knows', () => {
    const node = new Node();
    for (const name of ['app', 'side']) node.create(podOf('a'), name, 9);
    expect(node.explain('a', 'side').map(({ container }) => container)).toEqual(['side']);
    expect(() => node.explain('a', 'nobody')).toThrow(
      /no running container nobody in pod a .* refused in the last day/,
    );
    expect(() => node.explain('b')).toThrow(/no running pod b/);
  });

  test('pods of one name in two namespaces are ambiguous also where they were refused', () => {
    const node = new Node();
    for (const namespace of ['one', 'two']) node.create({ ...inNamespace(namespace, namespace), name: 'db' }, 'app', 9);
    expect(() => node.explain('db')).toThrow(/pod db is ambiguous: one\/db \(uid one\), two\/db \(uid two\)/);
    expect(node.explain('two')).toHaveLength(1);
  });
});
