import { TopologyReporting } from '../../../src/app/apiserver/topology-reporting';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';
import { waitUntil } from '../../support/wait-until';
import { withKubeAccess, type KubeStage } from './kube-access-of';

const COMMUNITY = '/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies';
const CRANE = '/apis/topology.crane.io/v1alpha1/noderesourcetopologies';

function report({ access, end }: KubeStage, nodeResourceTopology: string) {
  const node = new NodeDriver();
  let asked = 0;
  const reporting = new TopologyReporting({
    context: contextOf({
      model: node.model,
      cgroups: {} as Cgroups,
      signal: end.signal,
      config: { nodeResourceTopology, topologyPodFingerprint: 'off' },
    }),
    access,
    kubelet: { isStatic: false, config: undefined, accept: () => undefined },
    pods: { list: [] },
    node: () => (asked++, { name: 'n1', uid: 'node-uid', labels: {} }),
  });
  return { node, reporting, timesAsked: () => asked, ended: reporting.run() };
}

const kindsOn = ({ server }: KubeStage) => [COMMUNITY, CRANE].filter((kind) => server.get(kind, 'n1') !== undefined);

test('the object is published after the first synchronization with the runtime, and not before', async () => {
  await withKubeAccess(async (stage) => {
    const { node, reporting, timesAsked, ended } = report(stage, 'community');
    reporting.touch();
    await waitUntil('a report was asked for', () => timesAsked() > 0);
    expect(kindsOn(stage)).toEqual([]);
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    reporting.touch();
    await waitUntil('published', () => kindsOn(stage).length > 0);
    expect(kindsOn(stage)).toEqual([COMMUNITY]);
    stage.end.abort();
    await ended;
  });
});

test('with nodeResourceTopology both, two objects are published', async () => {
  await withKubeAccess(async (stage) => {
    const { node, reporting, ended } = report(stage, 'both');
    node.send({ kind: 'synchronize', pods: [], containers: [] });
    reporting.touch();
    await waitUntil('published', () => kindsOn(stage).length === 2);
    stage.end.abort();
    await ended;
  });
});

test('with nodeResourceTopology off, the API server is not called', async () => {
  await withKubeAccess(async (stage) => {
    const { ended } = report(stage, 'off');
    await ended;
    expect(stage.server.requests).toEqual([]);
  });
});
