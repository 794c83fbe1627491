import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

/** A container needs more CPUs than a node has, and a socket has several nodes: all CPUs are of one socket. */
export const bySocket: Claim = {
  name: 'align-by-socket',
  when: ({ name }) => name === '2x8x2-4numa',
  dependsOn: {
    traits: ['nodes'],
    because: 'A socket has more than one node.',
  },
  async run(context) {
    const options = ['--cpu-manager-policy-options', 'align-by-socket=true'];
    await context.startDaemon(...options, '--topology-manager-policy', 'restricted');
    const lists: string[] = [];
    const pod = await context.runPod({ containers: [pinned(12, 'a'), pinned(12, 'b')] });
    for (const name of ['a', 'b']) {
      const list = await (await pod.startContainer(name)).firstLine();
      const sockets = context.topology.sockets.filter(({ cpus }) => cpus.overlaps(parseCpuList(list)));
      assert.equal(sockets.length, 1, list);
      lists.push(list);
    }
    context.note(lists.join(' and '));
  },
};
