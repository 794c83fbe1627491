import { infoOf } from '../../../src/core/model/container';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { captureBaseline, compareListing } from '../../../src/core/transition/compare-listing';
import { planChanges } from '../../../src/core/transition';
import { createRandom, type Random } from '../../support/random';
import { specOf } from '../../support/spec-of';
import { NodeDriver, podOf } from './node-driver';

const OLD = '0'.repeat(31) + 'a';
const NEW = '0'.repeat(31) + 'b';
const OF_THE_API = '11111111-2222-3333-4444-555555555555';

const mirrorOf = (hash: string, name = 'sys'): PodSpec =>
  specOf(`mirror-${hash}`, 'a 4', {
    name,
    annotations: { 'kubernetes.io/config.mirror': hash, 'kubernetes.io/config.hash': hash },
  });

/** Eight CPUs, one of them reserved: two pods of four do not fit. All uids have the name `sys`. */
function emptyNode(): NodeDriver {
  const node = new NodeDriver();
  for (const uid of [OLD, NEW, OF_THE_API]) node.podFields.set(uid, { name: 'sys' });
  return node;
}

/** The last word of the API server is the mirror of the old pod, which runs. */
function nodeOfTheOldPod(): NodeDriver {
  const node = emptyNode();
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  node.send({ kind: 'pod-specs', specs: [mirrorOf(OLD)] });
  return node.run(`pod ${OLD}; make ${OLD}/a 4`);
}

const ofSuccessor = (node: NodeDriver): boolean => new RegExp(`^${NEW}/a \\S+; pool`).test(node.state);

/** The orders in which the kubelet ends the old pod, and the runtime tells of it. */
const ENDS: readonly (readonly [string, string])[] = [
  ['stopped and removed before its successor comes', `end ${OLD}/a; stop ${OLD}; remove ${OLD}; pod ${NEW}`],
  ['stopped, and removed later', `end ${OLD}/a; stop ${OLD}; pod ${NEW}; remove ${OLD}`],
  ['stopped when its successor is there', `end ${OLD}/a; pod ${NEW}; stop ${OLD}`],
  ['its last container ends when its successor is there', `pod ${NEW}; stop ${OLD}; end ${OLD}/a`],
  ['no event of its successor before a container of it', `end ${OLD}/a; stop ${OLD}`],
];

describe('given a static pod whose manifest changes while the API server is away', () => {
  test.each(ENDS)('%s: its successor gets its CPUs', (_name, history) => {
    const node = nodeOfTheOldPod().run(history).run(`make ${NEW}/a 4`);
    expect(ofSuccessor(node)).toBe(true);
  });

  test('then the mirror of the old pod never claims CPUs again, also after a synchronization', () => {
    const node = nodeOfTheOldPod().run(`end ${OLD}/a; stop ${OLD}; remove ${OLD}; make ${NEW}/a 1`);
    const { pod, container } = node.infoOf(`${NEW}/a`);
    node.send({ kind: 'synchronize', pods: [pod], containers: [{ ...container, phase: 'running' }] });
    expect(node.state).toBe(`${NEW}/a 4; pool 0-3,5-7`);
    node.send({ kind: 'pod-spec', spec: mirrorOf(OLD) });
    expect(node.state).toBe(`${NEW}/a 4; pool 0-3,5-7`);
  });

  test('when cpusetd starts with the successor there, then the old pod gives its CPUs back without the API server', () => {
    const remembered = nodeOfTheOldPod().model.assignments;
    const node = emptyNode();
    for (const assignment of remembered.values()) node.model.apply({ kind: 'put-assignment', assignment });
    node.model.apply({ kind: 'set-spec-source', source: { hasReported: false, awaited: new Set([OLD]) } });
    node.send({ kind: 'synchronize', pods: [{ ...podOf(NEW), name: 'sys' }], containers: [] });
    expect(ofSuccessor(node.run(`make ${NEW}/a 4`))).toBe(true);
  });

  test('when the runtime no longer lists the old pod, then its CPUs go back', () => {
    const node = nodeOfTheOldPod().run(`pod ${NEW}; end ${OLD}/a`);
    node.change((draft) => {
      const listing = { pods: [{ sandboxId: `sandbox-${NEW}`, uid: NEW, ready: true }], containers: [] };
      compareListing(draft, listing, captureBaseline(node.model));
      return planChanges(draft);
    });
    expect(node.state).toBe('pool 0-7');
  });

  test('given a node that restarts with the old manifest, then the pod gets its own CPUs back', () => {
    const node = nodeOfTheOldPod();
    const before = node.state;
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    expect(node.run('make rival/x 4').reply).toBe('refused RESOURCE_EXHAUSTED');
    expect(node.run(`pod ${OLD} s2; make ${OLD}/a 4`).state).toBe(before);
  });
});

describe('given a static pod between two sandboxes', () => {
  const between = (): NodeDriver => nodeOfTheOldPod().run(`end ${OLD}/a; stop ${OLD}; remove ${OLD}`);
  const KEPT = between().state;

  test('then its CPUs stay', () => expect(KEPT).toContain(`${OLD}/a`));

  test.each([
    ['a pod of the API server with its name', OF_THE_API, { name: 'sys' }],
    [
      'one that claims to be from a file, with the hash of another',
      OF_THE_API,
      {
        name: 'sys',
        annotations: {
          'kubernetes.io/config.source': 'file',
          'kubernetes.io/config.hash': NEW,
          'kubernetes.io/config.mirror': NEW,
        },
      },
    ],
    ['a static pod of another name', NEW, { name: 'other' }],
    ['a static pod of another namespace', NEW, { name: 'sys', namespace: 'elsewhere' }],
  ])('%s takes nothing from it', (_name, uid, fields) => {
    const node = between();
    node.podFields.set(uid, fields);
    node.run(`pod ${uid}`);
    expect(node.state).toBe(KEPT);
    expect(node.run(`make ${uid}/a 4`).reply).toBe('refused RESOURCE_EXHAUSTED');
  });

  test('a spec that claims to be the mirror of a successor takes nothing from it', () => {
    const node = between();
    node.send({ kind: 'pod-spec', spec: mirrorOf(NEW) });
    expect(node.state).toBe(KEPT);
  });

  test('a successor that has stopped takes nothing from it', () => {
    const node = nodeOfTheOldPod().run(`pod ${NEW}; stop ${NEW}; end ${OLD}/a; stop ${OLD}`);
    expect(node.state).toBe(KEPT);
  });
});

test('given a static pod that runs beside another of its name, then nothing is taken from it', () => {
  const node = nodeOfTheOldPod();
  const before = node.state;
  expect(node.run(`pod ${NEW}`).state).toBe(before);
  expect(node.run(`make ${NEW}/a 4`).reply).toBe('refused RESOURCE_EXHAUSTED');
});

/** The kubelet's view of one static pod, whose manifest changes, and an API server that goes away and returns. */
class StaticPodHistory {
  readonly node = emptyNode();
  private version = 0;
  private isAway = false;
  /** The hashes of which the API server has told a mirror last. */
  private reportedUid: string | undefined;
  private state: 'no sandbox' | 'sandbox' | 'runs' = 'no sandbox';
  private sandboxes = 0;
  private rivals = 0;

  constructor(private readonly random: Random) {
    this.node.send({ kind: 'synchronize', pods: [], containers: [] });
    this.report();
  }

  get uid(): string {
    return this.version.toString(16).padStart(32, '0');
  }

  step(): void {
    const { node, uid, state } = this;
    switch (this.random.pick(['kubelet', 'kubelet', 'kubelet', 'end', 'change', 'api', 'rival', 'forge', 'sync'])) {
      case 'kubelet': // it brings the pod of the manifest one step nearer to its goal
        if (state === 'no sandbox') {
          node.podFields.set(uid, { name: 'sys' });
          node.run(`pod ${uid} s${++this.sandboxes}`);
          this.state = 'sandbox';
        } else if (state === 'sandbox') {
          node.run(`make ${uid}/a 4`);
          if (node.answer?.kind === 'ok') this.state = 'runs';
        }
        break;
      case 'end': // its sandbox has to be made again
        this.end();
        break;
      case 'change':
        this.end();
        this.version++;
        this.report();
        break;
      case 'api':
        this.isAway = !this.isAway;
        this.report();
        break;
      case 'rival': {
        const rival = `rival-${++this.rivals}`;
        node.run(`pod ${rival}; make ${rival}/x 4; end ${rival}/x; stop ${rival}; remove ${rival}`);
        break;
      }
      case 'forge': {
        const rival = `00000000-0000-0000-0000-00000000${String(++this.rivals).padStart(4, '0')}`;
        const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': uid };
        node.podFields.set(rival, { name: 'sys', annotations });
        node.run(`pod ${rival}; stop ${rival}; remove ${rival}`);
        break;
      }
      case 'sync': {
        const running = [...node.model.containers.values()].map(infoOf);
        const pods = [...node.model.pods.values()].filter(({ stopped }) => !stopped);
        node.send({ kind: 'synchronize', pods, containers: running });
        break;
      }
    }
  }

  /** Sentences about what is broken. */
  get broken(): string[] {
    const { node, uid, state, reportedUid } = this;
    const holders = new Set([...node.model.assignments.values()].map(({ podUid }) => podUid));
    return [
      ...(state === 'runs' && !holders.has(uid) ? ['the pod runs and has no CPUs'] : []),
      ...(state !== 'no sandbox' && [...holders].some((holder) => holder !== uid)
        ? ['a pod that is gone holds CPUs']
        : []),
      ...(state === 'no sandbox' && reportedUid === uid && !holders.has(uid)
        ? ['a pod that the API server has lost its CPUs']
        : []),
      ...(state === 'sandbox' && node.answer?.kind === 'refuse' && this.rivals === 0
        ? ['its own old CPUs keep it out']
        : []),
    ];
  }

  private end(): void {
    const { node, uid } = this;
    if (this.state === 'runs') node.run(`end ${uid}/a`);
    const sandbox = `s${this.sandboxes}`;
    if (this.state !== 'no sandbox') node.run(`stop ${uid} ${sandbox}; remove ${uid} ${sandbox}`);
    this.state = 'no sandbox';
  }

  private report(): void {
    if (this.isAway) return;
    this.reportedUid = this.uid;
    this.node.send({ kind: 'pod-specs', specs: [mirrorOf(this.uid)] });
  }
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'random histories of a static pod while the API server goes away and returns, seed %i',
  (seed) => {
    const history = new StaticPodHistory(createRandom(seed));
    for (let i = 0; i < 400; i++) {
      history.step();
      expect(history.broken).toEqual([]);
    }
  },
);
