import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

/**
 * The second container gets an L3 cache of its own. Without the option it would share one with the first, across two
 * caches.
 */
export const byUncoreCache: Claim = {
  name: 'prefer-align-cpus-by-uncorecache',
  when: ({ cachesPerSocket }) => cachesPerSocket > 1,
  dependsOn: {
    traits: ['cachesPerSocket'],
    because: 'A socket has more than one L3 cache.',
  },
  async run(context) {
    await context.startDaemon('--cpu-manager-policy-options', 'prefer-align-cpus-by-uncorecache=true');
    const lists: string[] = [];
    const pod = await context.runPod({ containers: [pinned(4, 'a'), pinned(6, 'b')] });
    for (const name of ['a', 'b']) {
      const list = await (await pod.startContainer(name)).firstLine();
      const caches = context.topology.uncoreCaches.filter(({ cpus }) => cpus.overlaps(parseCpuList(list)));
      assert.equal(caches.length, 1, list);
      lists.push(list);
    }
    context.note(lists.join(' and '));
  },
};
