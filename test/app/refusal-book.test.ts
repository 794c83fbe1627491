import { pino } from 'pino';
import { createMetricsOf } from '../support/refusal-metrics';
import { explainPod } from '../../src/app/explain';
import { MOST_REFUSALS, RefusalBook } from '../../src/app/refusal-book';
import { Transactor, type Transaction } from '../../src/app/transactor';
import type { CpuResources, PodInfo } from '../../src/core/model/events';
import { NodeModel } from '../../src/core/model/node-model';
import type { NodeEvent } from '../../src/core/model/pod-event';

import { specOf } from '../support/spec-of';
import { EIGHT_CPUS, podOf, resourcesOf, settingsWith, type Rules } from '../core/transition/node-driver';

const HOUR_MS = 3_600_000;

/** A node that events are sent to, with the book of what it refused and the metrics of it. */
class Node {
  nowMs = Date.parse('2026-11-22T10:00:00Z');
  diskIsFull = false;
  readonly changes: string[] = [];
  readonly model: NodeModel;
  readonly metrics = createMetricsOf();
  readonly book: RefusalBook;
  private readonly transactor: Transactor;
  private containers = 0;

  constructor(rules: Rules = {}) {
    this.model = new NodeModel(EIGHT_CPUS, settingsWith(rules));
    const now = () => new Date(this.nowMs).toISOString();
    this.book = new RefusalBook({ model: this.model, now, onChange: (change) => this.changes.push(change) });
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
