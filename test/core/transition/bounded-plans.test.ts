import type { NodeEvent } from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import { buildTopology } from '../../../src/core/topology';
import { Draft, handle } from '../../../src/core/transition';
import { leastCpuMsOf } from '../../support/cpu-time';
import { specOf } from '../../support/spec-of';
import { podOf, resourcesOf, settingsWith } from './node-driver';

/** Eight NUMA nodes, 512 CPUs. */
const topology = buildTopology({
  cpus: Array.from({ length: 512 }, (_, id) => {
    const numaNode = Math.floor((id % 256) / 32);
    return { id, core: id % 256, numaNode, socket: numaNode >> 2, uncoreCache: numaNode };
  }),
});

/** Maximum processor time of a turn of the event loop. */
const MOST_MS = 20;

function startModel(busyPods = 0): NodeModel {
  const topologyManager = {
    policy: 'restricted',
    scope: 'container',
    options: { preferClosestNumaNodes: false, maxAllowableNumaNodes: 8 },
  } as const;
  const model = new NodeModel(topology, settingsWith({ topologyManager }));
  send(model, { kind: 'synchronize', pods: [], containers: [] });
  for (let i = 0; i < busyPods; i++) create(model, `busy${i}`, 'c', 1);
  return model;
}

function send(model: NodeModel, event: NodeEvent): Draft {
  const draft = new Draft(model, '2026-11-22T00:00:00Z');
  handle(draft, event);
  return draft;
}

function create(model: NodeModel, uid: string, name: string, cpus: number): Draft {
  const container = {
    id: `${uid}/${name}`,
    sandboxId: `sandbox-${uid}`,
    name,
    phase: 'creating',
    cgroupsPath: '',
    resources: resourcesOf(cpus),
  } as const;
  return send(model, { kind: 'create-container', pod: podOf(uid), container });
}

const containersOf = (count: number, cpus = 1): string =>
  Array.from({ length: count }, (_, i) => `c${i} ${cpus}`).join(',');

test.each`
  what                                                      | containers
  ${'one container'}                                        | ${1}
  ${'as many containers as one transaction decides on'}     | ${32}
  ${'more containers than one transaction decides on'}            | ${33}
  ${'thousands'}                                            | ${3000}
`('given the spec of a pod of $what, then planning it takes less than one turn may take', ({ containers }: { containers: number }) => {
  const spec = specOf('p', containersOf(containers));
  const ms = leastCpuMsOf(
    () => startModel(100),
    (model) => send(model, { kind: 'pod-spec', spec }),
    { limitMs: MOST_MS },
  );
  expect(ms).toBeLessThan(MOST_MS);
}); // prettier-ignore

test('given planned pods of 64 and of 2 containers, then a creation in either costs about the same', () => {
  const costOf = (containers: number): number =>
    leastCpuMsOf(
      () => {
        const model = startModel(100);
        send(model, { kind: 'pod-spec', spec: specOf('p', containersOf(containers)) });
        return model;
      },
      (model) => create(model, 'p', 'c0', 1),
      { tries: 15 },
    );
  const [two, many] = [costOf(2), costOf(64)];
  expect(many).toBeLessThan(3 * two + 2);
});

test('given 3,000 queued pods that do not fit, then no event takes longer than one turn may take', () => {
  const ms = leastCpuMsOf(
    () => {
      const model = startModel();
      const specs = Array.from({ length: 3000 }, (_, i) => specOf(`q${i}`, 'a 300, b 300'));
      send(model, { kind: 'pod-specs', specs });
      return model;
    },
    (model) => create(model, 'x', 'c', 2),
    { tries: 4, limitMs: MOST_MS },
  );
  expect(ms).toBeLessThan(MOST_MS);
});

test('given many pods that fit by number but not aligned, then each transaction tries some of them, the longest queued first', () => {
  // Each fits by number, but not aligned, which takes a decision to find out.
  const model = startModel();
  for (let i = 0; i < 8; i++) create(model, `busy${i}`, 'c', 40);
  const specs = Array.from({ length: 200 }, (_, i) => specOf(`q${i}`, 'a 60, b 60'));
  send(model, { kind: 'pod-specs', specs });
  expect(model.unplanned.size).toBe(200);
  const ms = leastCpuMsOf(
    () => model,
    () => expect(create(model, 'x', `c${model.revision}`, 1).isCut).toBe(true),
    { limitMs: MOST_MS },
  );
  expect(ms).toBeLessThan(MOST_MS);
});
