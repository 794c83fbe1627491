import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

/** What fits no node is refused, what fits is in one node, and its memory with it. */
export const singleNumaNode: Claim = {
  name: 'single-numa-node',
  when: ({ name }) => ['2x4x2-2numa', '2x8x2-4numa'].includes(name),
  async run(context) {
    await context.startDaemon('--topology-manager-policy', 'single-numa-node', '--memory-nodes', 'follow');
    const { numaNodes } = context.topology;
    await assert.rejects(context.startOne(pinned(numaNodes[0]!.cpus.size + 1, 'wide')), (error: Error) => {
      context.note(error.message.slice(-160));
      return /NUMA|node/.test(error.message);
    });
    const seen: string[] = [];
    const pod = await context.runPod({ containers: [pinned(5, 'a'), pinned(5, 'b')] });
    for (const name of ['a', 'b']) {
      const container = await pod.startContainer(name);
      const list = await container.firstLine();
      const nodes = numaNodes.filter(({ cpus }) => cpus.overlaps(parseCpuList(list)));
      assert.equal(nodes.length, 1, list);
      assert.equal(container.cpuset().mems, String(nodes[0]!.id));
      seen.push(`${list} with memory ${container.cpuset().mems}`);
    }
    context.note(seen.join(', '));
  },
};
