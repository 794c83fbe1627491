import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeServiceDefinition } from '../gen/cri/v1/cri';
import { readStatus, type ShownContainer } from '../e2e/rig';
import { defineUnless } from '../support/not-run';
import { type ClusterNode, type ClusterPod, exclusiveCpu, expectOwner, onOneNode, oneCpu, startNode } from './rig';

const { containerStatus } = RuntimeServiceDefinition.methods;

const memory = '128Mi';
/** The static policy wants the memory that is reserved on the nodes to be all that the kubelet reserves. */
const kubelet = {
  memoryManagerPolicy: 'Static',
  topologyManagerPolicy: 'single-numa-node',
  systemReserved: { memory },
  reservedMemory: [{ numaNode: 0, limits: { memory } }],
};
const mems = '0';
/**
 * The only exclusive CPU is the last one. With several nodes it would not be near the memory, which is of the first
 * one.
 */
const severalNodes =
  readFileSync('/sys/devices/system/node/online', 'utf8').trim() === mems
    ? undefined
    : 'a machine of one NUMA node is needed';
const broughtMemory = `memory nodes ${mems}, which its request brought`;

/** The memory that the kubelet's manager gave out, by pod and container. */
interface MemoryManagerState {
  readonly entries?: Readonly<Record<string, Record<string, readonly MemoryBlock[]>>>;
}
interface MemoryBlock {
  readonly numaAffinity: readonly number[];
  readonly type: string;
}

defineUnless(severalNodes, () =>
  onOneNode("the kubelet's memory manager", ({ suite, mode }) => {
    let node: ClusterNode;
    beforeAll(async () => {
      node = await startNode({ suite, mode, kubelet });
    });
    afterAll(() => node?.stop());

    const shownOf = async ({ uid }: ClusterPod): Promise<ShownContainer | undefined> =>
      (await readStatus(node.daemon)).containers.find(
        ({ podUid, container }) => podUid === uid && container === 'main',
      );
    /** The nodes of the pod's memory, in the state file of the kubelet. */
    const kubeletNodesOf = ({ uid }: ClusterPod): readonly (readonly number[])[] | undefined => {
      const file = join(node.kubelet.rootDir, 'memory_manager_state');
      const { entries = {} } = JSON.parse(readFileSync(file, 'utf8')) as MemoryManagerState;
      return entries[uid]?.['main']?.map(({ numaAffinity }) => numaAffinity);
    };
    /** The memory nodes in the specification that the runtime made the container from. */
    const specMemsOf = async (pod: ClusterPod): Promise<string | undefined> => {
      const { containerID = '' } = await pod.container('main');
      const request = { containerId: containerID.replace(/^.*:\/\//, ''), verbose: true };
      const { info } = await node.runtime.kubelet.channel.call(containerStatus, request);
      const { runtimeSpec } = JSON.parse(info['info'] ?? '') as {
        runtimeSpec: { linux: { resources: { cpu?: { mems?: string } } } };
      };
      return runtimeSpec.linux.resources.cpu?.mems;
    };
    /** The entries of cpusetd's state file about what the pod brought. */
    const broughtOnDisk = ({ uid }: ClusterPod): object[] => {
      const text = readFileSync(join(node.daemon.stateDir, 'state.json'), 'utf8');
      const { brought = [] } = JSON.parse(text) as { brought?: { readonly podUid: string }[] };
      return brought.filter(({ podUid }) => podUid === uid);
    };

    test('gives memory to a Guaranteed pod: its CPUs are near, and its state, the kernel and cpusetd agree, after a restart of cpusetd and of the container too', async () => {
      const pinned = await node.runPod({ name: 'pinned', containers: [oneCpu] });
      const expectBrought = async (): Promise<void> => {
        await expectOwner(node, pinned);
        expect(await pinned.cpuset('main')).toMatchObject({ cpus: exclusiveCpu, mems });
        const shown = await shownOf(pinned);
        expect(shown).toMatchObject({ promise: { cpus: exclusiveCpu, mems }, verdict: { kind: 'kept' } });
        expect(shown?.because).toContain(broughtMemory);
        expect(shown?.verdict.reason).toContain(broughtMemory);
        expect(kubeletNodesOf(pinned)).toEqual([[Number(mems)]]);
        expect(await specMemsOf(pinned)).toBe(mems);
        expect(broughtOnDisk(pinned)).toEqual([{ podUid: pinned.uid, containerName: 'main', mems }]);
      };
      await expectBrought();
      await node.restart('cpusetd');
      await expectBrought();
      const before = await pinned.container('main');
      await pinned.killProcesses('main');
      await pinned.restarted(before);
      await expectBrought();
    });

    test('gives none to a pod that shares, and cpusetd promises none', async () => {
      const shared = await node.runPod({ name: 'shared', containers: [{ name: 'main' }] });
      expect(kubeletNodesOf(shared)).toBeUndefined();
      expect(await specMemsOf(shared)).toBeUndefined();
      expect(await shownOf(shared)).toMatchObject({ placement: 'shared', promise: { mems: '' } });
      expect(broughtOnDisk(shared)).toEqual([]);
    });
  }),
);
