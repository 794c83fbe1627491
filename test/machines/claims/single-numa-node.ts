import assert from 'node:assert/strict';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { RunningContainer } from '../../e2e/rig/container';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';
import { withMemory } from '../machine';

/**
 * A container that fits no node is refused. One that fits has CPUs and memory of one node. One whose request brought
 * memory nodes is refused when too few CPUs are free there, with these nodes in the reason, while others have them.
 * After a resize to a fraction of a CPU a container is shared, and may have memory of all nodes again.
 */
export const singleNumaNode: Claim = {
  name: 'single-numa-node',
  when: ({ name }) => name === '2x8x2-4numa',
  dependsOn: {
    traits: ['nodes'],
    because: 'There is more than one node with CPUs and memory.',
  },
  async run(context) {
    await context.startDaemon('--topology-manager-policy', 'single-numa-node', '--memory-nodes', 'follow');
    const { numaNodes } = context.topology;
    await assert.rejects(context.startOne(pinned(numaNodes[0]!.cpus.size + 1, 'wide')), (error: Error) => {
      context.note(error.message.slice(-160));
      return /NUMA|node/.test(error.message);
    });
    const seen: string[] = [];
    const near = { ...pinned(5, 'near'), cpusetMems: '0' };
    const pod = await context.runPod({ containers: [pinned(5, 'a'), pinned(5, 'b'), near] });
    let last: RunningContainer | undefined;
    for (const name of ['a', 'b']) {
      const container = (last = await pod.startContainer(name));
      const list = await container.firstLine();
      const nodes = numaNodes.filter(({ cpus }) => cpus.overlaps(parseCpuList(list)));
      assert.equal(nodes.length, 1, list);
      assert.equal(container.cpuset().mems, String(nodes[0]!.id));
      seen.push(`${list} with memory ${container.cpuset().mems}`);
    }
    await assert.rejects(pod.startContainer('near'), (error: Error) => {
      context.note(error.message.slice(error.message.indexOf('topology-manager')));
      return /its request brought memory nodes 0/.test(error.message);
    });
    await last!.update({ cpuShares: 1536n, cpuQuota: 150_000n, cpuPeriod: 100_000n });
    const all = CpuSet.of(withMemory(context.topology)).toString();
    await context.until('its memory to be widened', () => last!.cpuset().mems === all);
    context.note(`${seen.join(', ')}; resized to 1.5 CPUs: memory ${all}`);
  },
};
