import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { poll, readStatus } from '../e2e/rig';
import { type ControlPlane, startControlPlane } from '../e2e/rig/api-server';
import {
  type ClusterNode,
  exclusiveCpu,
  kubeletOfTwoCpus,
  oneCpu,
  onOneNode,
  readClusterFacts,
  startNode,
  toContainer,
  useCluster,
} from './rig';

// The manifest of a static pod changes while the API server is away, as that of kube-apiserver itself does in an
// upgrade. The test kills kube-apiserver, so it has a control plane of its own.

onOneNode('a static pod while the API server is away', ({ suite, mode }) => {
  let plane: ControlPlane;
  let node: ClusterNode;
  beforeAll(async () => {
    plane = await startControlPlane('--address', new URL(readClusterFacts().server).hostname);
    useCluster(plane);
    node = await startNode({ suite, mode, kubelet: kubeletOfTwoCpus, kubeconfig: plane.kubeconfigs.admin });
  });
  afterAll(async () => {
    await node?.stop();
    await plane?.stop();
  });

  /** Writes the manifest. Another version is another pod of the same name. */
  const write = (version: string): void => {
    const main = { ...toContainer(oneCpu), env: [{ name: 'VERSION', value: version }] };
    const spec = { hostNetwork: true, terminationGracePeriodSeconds: 0, containers: [main] };
    const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'static', namespace: node.name }, spec };
    writeFileSync(join(node.kubelet.manifests, 'static.json'), JSON.stringify(manifest));
  };

  /** The uid of the pod that has the exclusive CPU, when `isMeant` and cpusetd has heard of so many pods. */
  const owner = (what: string, isMeant: (podUid: string) => boolean, pods: number): Promise<string> =>
    poll(
      what,
      async () => {
        const { node: shown, containers } = await readStatus(node.daemon);
        const found = containers.find(
          ({ placement, promise, verdict }) =>
            placement === 'exclusive' && promise?.cpus === exclusiveCpu && verdict.kind === 'kept',
        );
        return found && isMeant(found.podUid) && shown.kube?.pods === pods ? found.podUid : undefined;
      },
      90_000,
    );

  test('its successor has the CPU, although the API server still has the mirror of the one before', async () => {
    write('1');
    const first = await owner('the first has the CPU, and its mirror is known', () => true, 1);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    await plane.kill('kube-apiserver');
    try {
      write('2');
      const second = await owner('the successor has the CPU', (podUid) => podUid !== first, 1);
      expect(second).toMatch(/^[0-9a-f]{32}$/);
      const { idle } = await readStatus(node.daemon);
      expect(idle).toEqual([]);
    } finally {
      await plane.start('kube-apiserver');
    }
  });
});
