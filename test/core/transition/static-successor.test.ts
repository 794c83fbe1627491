import type { PodSpec } from '../../../src/core/model/pod-spec';
import { captureBaseline, compareListing } from '../../../src/core/transition/compare-listing';
import { planChanges } from '../../../src/core/transition';
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
