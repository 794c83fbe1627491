import { infoOf } from '../../../src/core/model/container';
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

/** A node with its refusal history and metrics. */
class Node {
  nowMs = Date.parse('2026-11-22T10:00:00Z');
  diskIsFull = false;
  readonly changes: string[] = [];
  readonly model: NodeModel;
  readonly metrics = createMetricsOf();
  readonly history: RefusalHistory;
  private readonly transactor: Transactor;
  private containers = 0;

  constructor(rules: Rules = {}) {
    this.model = new NodeModel(EIGHT_CPUS, settingsWith(rules));
    const now = () => new Date(this.nowMs).toISOString();
    this.history = new RefusalHistory({ model: this.model, now, onChange: (change) => this.changes.push(change) });
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
    this.history.note(done);
    this.metrics.count(this.model, done, this.history.of(done));
  }

  send(event: NodeEvent): string {
    const answer = this.transactor.handle(event);
    return answer.kind === 'refuse' ? answer.code : 'ok';
  }

  /** Each creation has a new id, as with the kubelet. */
  create(pod: PodInfo, name: string, cpus: number): string {
    const id = `c${++this.containers}`;
    const resources = resourcesOf(cpus);
    const container = { id, sandboxId: pod.sandboxId, name, phase: 'creating', cgroupsPath: '', resources } as const;
    return this.send({ kind: 'create-container', pod, container });
  }

  change(pod: PodInfo, name: string, resources: CpuResources): string {
    const container = this.model.containersOf(pod.uid).find((each) => each.name === name)!;
    return this.send({ kind: 'update-container', pod, container, resources });
  }

  explain(pod: string, container = '') {
    const status = { containers: [], idle: [] } as never;
    const known = { status, refused: this.history.list(), stepsOf: () => [], view: this.model };
    const explanation = explainPod(known, { kind: 'pod', namespace: '', pod, container });
    return explanation.kind === 'containers' ? explanation.refused : [];
  }

  get names(): string[] {
    return this.history.list().map(({ podUid, containerName, times }) => `${podUid}/${containerName} ${times}`);
  }
}

function countByNamespace(refusals: readonly Refusal[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { podNamespace } of refusals) counts.set(podNamespace, (counts.get(podNamespace) ?? 0) + 1);
  return counts;
}

const inNamespace = (namespace: string, uid: string): PodInfo => ({ ...podOf(uid), namespace });

describe('a refusal', () => {
  test('has its times, the request, the policy and the free CPUs per NUMA node', () => {
    const node = new Node({ podPolicies: ['exclusive'] });
    node.create(podOf('a'), 'app', 5);
    const pod = { ...podOf('b'), annotations: { 'cpusetd.io/policy': 'exclusive' } };
    expect(node.create(pod, 'app', 4)).toBe('RESOURCE_EXHAUSTED');
    node.nowMs += 1_000;
    expect(node.create(pod, 'app', 4)).toBe('RESOURCE_EXHAUSTED');
    expect(node.history.list()).toEqual([
      {
        podUid: 'b',
        podNamespace: 'ns',
        podName: 'b',
        containerName: 'app',
        asked: 'creation',
        requested: 4,
        memoryBytes: 64 * 1024 ** 2,
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

  test('may be that of a change', () => {
    const node = new Node();
    node.create(podOf('a'), 'app', 5);
    expect(node.change(podOf('a'), 'app', resourcesOf(9))).toBe('RESOURCE_EXHAUSTED');
    expect(node.history.list()).toMatchObject([{ asked: 'change', requested: 9, times: 1 }]);
    expect(node.change(podOf('a'), 'app', resourcesOf(6))).toBe('ok');
    expect(node.names).toEqual([]);
  });

  test('may come from a full disk', () => {
    const node = new Node();
    node.diskIsFull = true;
    expect(node.create(podOf('a'), 'app', 2)).toBe('UNAVAILABLE');
    expect(node.history.list()).toMatchObject([{ code: 'UNAVAILABLE', requested: 2, policy: 'static' }]);
    expect(node.explain('a')).toMatchObject([
      { fitsNow: true, remedy: expect.stringMatching(/what could not be written/) as string },
    ]);
  });

  test('ends when the container is created', () => {
    const node = new Node();
    node.create(podOf('a'), 'app', 6);
    node.create(podOf('b'), 'app', 2);
    node.create(podOf('b'), 'side', 2);
    expect(node.names).toEqual(['b/app 1', 'b/side 1']);
    node.send({ kind: 'pod-removed', sandboxId: 'sandbox-a' });
    expect(node.create(podOf('b'), 'app', 2)).toBe('ok');
    expect(node.names).toEqual(['b/side 1']);
  });

  test('ends when a synchronization finds the container', () => {
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

  test('ends when the API server deletes the pod, but not while the runtime has a pod that the API server lacks', () => {
    const node = new Node();
    node.send({ kind: 'pod-started', pod: podOf('new') });
    for (const uid of ['gone', 'listed', 'new', 'missing']) node.create(podOf(uid), 'app', 9);
    node.send({ kind: 'pod-specs', specs: [specOf('listed', 'app 9'), specOf('gone', 'app 9')] });
    expect(node.names).toEqual(['gone/app 1', 'listed/app 1', 'new/app 1']);
    node.send({ kind: 'pod-spec-gone', uid: 'gone' });
    expect(node.names).toEqual(['listed/app 1', 'new/app 1']);
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

    test('stays while the runtime has the pod: the kubelet makes a new mirror and tries again', () => {
      const node = refuse();
      node.send(MIRROR_GONE);
      expect(node.names).toEqual(['static/app 1']);
      node.send({ kind: 'pod-spec', spec: { ...mirror, uid: 'mirror-2' } });
      node.send({ kind: 'pod-specs', specs: [{ ...mirror, uid: 'mirror-2' }] });
      node.send(SANDBOX_GONE); // the kubelet makes a new sandbox
      expect(node.names).toEqual(['static/app 1']);
    });

    test.each([
      ['the mirror first', [MIRROR_GONE, SANDBOX_GONE]],
      ['the sandbox first', [SANDBOX_GONE, MIRROR_GONE]],
      ['the mirror first, its sandbox stopped', [MIRROR_GONE, { kind: 'pod-stopped', sandboxId: 'sandbox-static' }]],
    ] as const)('ends when mirror and sandbox are gone, %s', (_order, events) => {
      const node = refuse();
      for (const event of events) node.send(event);
      expect(node.names).toEqual([]);
    });

    test('stays without an API server, because the deletion of its file is unknown', () => {
      const node = new Node();
      node.send({ kind: 'pod-started', pod: podOf('static') });
      node.create(podOf('static'), 'app', 9);
      node.send(SANDBOX_GONE);
      expect(node.names).toEqual(['static/app 1']);
    });
  });

  test('ends when another pod of its name starts', () => {
    const node = new Node();
    for (const uid of ['db-1', 'db-2', 'web']) node.create({ ...podOf(uid), name: uid.slice(0, 2) }, 'app', 9);
    node.send({ kind: 'pod-started', pod: { ...podOf('db-2'), name: 'db' } });
    expect(node.names).toEqual(['db-2/app 1', 'web/app 1']);
  });

  test('with a time far in the future ends when the clock is set back', () => {
    const node = new Node();
    const now = node.nowMs;
    node.nowMs = Date.parse('2099-01-01T00:00:00Z');
    node.create(podOf('a'), 'app', 9);
    expect(node.history.list()).toHaveLength(1);
    node.nowMs = now;
    expect(node.history.list()).toEqual([]);
    node.create(podOf('b'), 'app', 9);
    expect(node.history.list()).toMatchObject([{ podUid: 'b' }]);
  });

  test('ends after a day without an attempt', () => {
    const node = new Node();
    node.create(podOf('a'), 'app', 9);
    node.nowMs += 23 * HOUR_MS;
    node.create(podOf('b'), 'app', 9);
    node.nowMs += HOUR_MS + 1;
    expect(node.names).toEqual(['b/app 1']);
    node.create(podOf('c'), 'app', 9);
    node.nowMs -= 2 * HOUR_MS; // a clock that is set back restores nothing
    expect(node.names).toEqual(['b/app 1', 'c/app 1']);
  });

  test('calls onChange with entries the first time, and with repeated afterwards', () => {
    const node = new Node();
    for (let i = 0; i < 3; i++) node.create(podOf('a'), 'app', 9);
    node.create(podOf('b'), 'app', 1);
    expect(node.changes).toEqual(['entries', 'repeated', 'repeated']);
  });
});

describe('the limit of the history', () => {
  test('one container has one entry, however often it is refused', () => {
    const node = new Node();
    node.create(podOf('quiet'), 'app', 9);
    for (let i = 0; i < 2 * MOST_REFUSALS; i++) node.create(podOf('loud'), 'app', 9);
    expect(node.names).toEqual(['quiet/app 1', `loud/app ${2 * MOST_REFUSALS}`]);
  });

  test('thousands of refused pods of one namespace, or containers of one pod, push out no other namespace', () => {
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

  const startPod = (node: Node, namespace: string, uid = namespace): PodInfo => {
    const pod = inNamespace(namespace, uid);
    node.send({ kind: 'pod-started', pod });
    return pod;
  };

  test('more namespaces than places: the only entry of an earlier namespace with a running pod stays', () => {
    const node = new Node();
    node.create(startPod(node, 'quiet'), 'app', 9);
    for (let i = 0; i < 2 * MOST_REFUSALS; i++) {
      node.nowMs += 1;
      node.create(startPod(node, `tenant-${i}`), 'app', 9);
    }
    expect(node.names).toHaveLength(MOST_REFUSALS);
    expect(node.names[0]).toBe('quiet/app 1');
  });

  test('one entry per namespace: entries of pods that are gone are dropped, the latest first', () => {
    const node = new Node();
    for (let i = 0; i < MOST_REFUSALS; i++) {
      node.nowMs += 1;
      node.create(startPod(node, `n${i}`), 'app', 9);
    }
    for (const uid of ['n3', 'n200']) node.send({ kind: 'pod-removed', sandboxId: `sandbox-${uid}` });
    for (const name of ['first', 'second', 'third']) {
      node.nowMs += 1;
      node.create(startPod(node, name), 'app', 9);
    }
    expect(node.names).toHaveLength(MOST_REFUSALS);
    expect(node.names).toEqual(expect.arrayContaining(['n2/app 1', 'first/app 1', 'second/app 1']));
    expect(node.names.filter((name) => /^(n3|n200|third)\//.test(name))).toEqual([]);
  });

  test('a namespace with two entries loses one before another loses its only one, beginning with the latest namespace', () => {
    const node = new Node();
    for (let i = 0; i < MOST_REFUSALS / 2; i++) {
      node.nowMs += 1;
      const pod = startPod(node, `n${i}`);
      for (const name of ['app', 'side']) node.create(pod, name, 9);
    }
    node.create(startPod(node, 'newcomer'), 'app', 9);
    expect(node.names).toHaveLength(MOST_REFUSALS);
    expect(node.names.filter((name) => name.startsWith(`n${MOST_REFUSALS / 2 - 1}/`))).toEqual([
      `n${MOST_REFUSALS / 2 - 1}/side 1`,
    ]);
    expect(node.names).toContain('newcomer/app 1');
  });

  test('a refusal without a place changes no entry, and is counted in the metrics', async () => {
    const node = new Node();
    for (let i = 0; i < MOST_REFUSALS; i++) node.create(startPod(node, `n${i}`), 'app', 9);
    node.nowMs += 1;
    const before = node.changes.length;
    expect(node.create(startPod(node, 'late'), 'app', 9)).toBe('RESOURCE_EXHAUSTED');
    expect(node.changes).toHaveLength(before);
    expect((await node.metrics.read()).refusals).toBe(MOST_REFUSALS + 1);
  });

  test('random refusals: a dropped entry was of the largest namespace, of a pod that is gone, or the latest', () => {
    const random = createRandom(20);
    const node = new Node();
    const gone = new Set<string>();
    for (let i = 0; i < 3_000; i++) {
      node.nowMs += 1;
      const namespace = `n${random.int(0, random.pick([5, 300, 2_000]))}`;
      const uid = `${namespace}-${random.int(0, 3)}`;
      const before = node.history.list();
      const pod = startPod(node, namespace, uid);
      gone.delete(uid);
      node.create(pod, random.pick(['app', 'side']), 9);
      const after = new Set(node.history.list().map(keyOfRefusal));
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
    expect(node.history.list()).toHaveLength(MOST_REFUSALS);
  });

  test('long texts are cut at whole characters', () => {
    const node = new Node();
    const long = '𝒳'.repeat(10_000);
    const pod = { ...podOf(long), namespace: long, name: long };
    node.create(pod, long, 2);
    const [entry] = node.history.list();
    expect(entry).toMatchObject({ code: 'INVALID_ARGUMENT', podName: '𝒳'.repeat(126) });
    expect(JSON.stringify(entry).length).toBeLessThan(3_000);
    expect(JSON.stringify(entry)).not.toMatch(/\\ud/);
  });
});

describe('the metrics', () => {
  test('count a refused creation as one request and one error, and each attempt as a refusal', async () => {
    const node = new Node();
    for (let i = 0; i < 5; i++) node.create(podOf('a'), 'app', 9);
    node.create(podOf('a'), 'side', 9);
    expect(await node.metrics.read()).toEqual({ requests: 2, errors: 2, refusals: 6 });
  });

  test('count a container again that was served in between', async () => {
    const node = new Node();
    node.create(podOf('a'), 'app', 9);
    node.create(podOf('a'), 'app', 2);
    node.create(podOf('a'), 'app', 9);
    node.create(podOf('a'), 'app', 9);
    expect(await node.metrics.read()).toEqual({ requests: 3, errors: 2, refusals: 3 });
  });

  test('count a creation refused by a full disk once, and a shared container not at all', async () => {
    const node = new Node();
    node.create(podOf('b'), 'app', 2);
    node.diskIsFull = true;
    for (let i = 0; i < 3; i++) node.create(podOf('a'), 'app', 2);
    node.create(podOf('b'), 'app', 0); // gives up the CPUs of its name, and that has to be saved
    expect(await node.metrics.read()).toEqual({ requests: 2, errors: 1, refusals: 4 });
  });
});

describe('explain', () => {
  test('shows the free CPUs then and now, and the remedy', () => {
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
  `('$cpus CPUs, which never fit: $code with its remedy', ({ cpus, options, code, remedy }) => {
    const node = new Node({ options: options as object });
    expect(node.create(podOf('a'), 'app', Number(cpus))).toBe(code);
    expect(node.explain('a')).toMatchObject([{ remedy: expect.stringMatching(remedy as RegExp) as string }]);
  });

  test('names the pods for which CPUs are kept', () => {
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

  test('names CPUs that only the API server keeps, and says where to look', () => {
    const node = new Node();
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    node.send({ kind: 'pod-specs', specs: [specOf('p', 'a 5')] });
    node.create(podOf('p'), 'a', 5);
    const [container] = node.model.containers.values();
    node.send({ kind: 'container-started', pod: podOf('p'), container: infoOf(container!) });
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    expect(node.create(podOf('b'), 'app', 4)).toBe('RESOURCE_EXHAUSTED');
    const kept =
      'that the API server (--kubeconfig) had when it last sent its pods, and of which the runtime has nothing any more';
    expect(node.explain('b')).toMatchObject([
      {
        because: expect.stringContaining(`; 5 CPUs are kept for 1 pod ${kept}`) as string,
        now: expect.stringContaining(`; 5 CPUs are kept for 1 pod (ns/p) ${kept}`) as string,
        remedy: expect.stringMatching(
          /; 5 CPUs are kept on the word of the API server alone: see in cpusetd status that it answers$/,
        ) as string,
      },
    ]);
  });

  test('writes 1 CPU in the singular', () => {
    const node = new Node();
    node.diskIsFull = true;
    node.create(podOf('a'), 'app', 1);
    expect(node.explain('a')).toMatchObject([{ now: '1 CPU would fit: 4' }]);
  });

  test('selects one container; an unknown container or pod is NOT_FOUND', () => {
    const node = new Node();
    for (const name of ['app', 'side']) node.create(podOf('a'), name, 9);
    expect(node.explain('a', 'side').map(({ container }) => container)).toEqual(['side']);
    expect(() => node.explain('a', 'nobody')).toThrow(
      /no running container nobody in pod a .* refused in the last day/,
    );
    expect(() => node.explain('b')).toThrow(/no running pod b/);
  });

  test('two pods of one name in two namespaces are ambiguous', () => {
    const node = new Node();
    for (const namespace of ['one', 'two']) node.create({ ...inNamespace(namespace, namespace), name: 'db' }, 'app', 9);
    expect(() => node.explain('db')).toThrow(/pod db is ambiguous: one\/db \(uid one\), two\/db \(uid two\)/);
    expect(node.explain('two')).toHaveLength(1);
  });
});
