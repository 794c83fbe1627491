import { FollowedPods } from '../../../src/app/apiserver/pod-source';
import type { NodeEvent } from '../../../src/core/model/events';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';
import { waitUntil } from '../../support/wait-until';
import { withKubeAccess, type KubeStage } from './kube-access-of';

function follow({ access, end }: KubeStage) {
  const events: NodeEvent['kind'][] = [];
  let updates = 0;
  const pods = new FollowedPods({
    context: contextOf({ model: new NodeDriver().model, cgroups: {} as Cgroups, signal: end.signal }),
    access,
    transactor: { handle: (event) => (events.push(event.kind), { kind: 'ok' }) },
    onUpdate: () => updates++,
  });
  return { pods, events, updates: () => updates };
}

const podOn = (nodeName: string, name: string) => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  spec: { nodeName, containers: [{ name: 'c', image: 'x' }] },
  status: { phase: 'Running', qosClass: 'BestEffort' },
});

test('before start there are no pods', async () => {
  await withKubeAccess(async (stage) => {
    const { pods } = follow(stage);
    expect([pods.list, pods.source.pods, pods.source.heardAt]).toEqual([undefined, 0, undefined]);
  });
});

test('the list and later changes reach the transactor, and each is an update', async () => {
  await withKubeAccess(async (stage) => {
    stage.server.put('/api/v1/pods', podOn('n1', 'a'));
    const { pods, events, updates } = follow(stage);
    pods.start();
    await waitUntil('the list', () => events.length === 1);
    expect([events, updates(), pods.source.pods]).toEqual([['pod-specs'], 1, 1]);
    stage.server.put('/api/v1/pods', podOn('n1', 'b'));
    await waitUntil('the change', () => events.length === 2);
    expect([events[1], updates()]).toEqual(['pod-spec', 2]);
    expect(pods.source).toMatchObject({ state: 'ready', pods: 2, heardAt: '2026-01-01T00:00:00Z' });
  });
});
