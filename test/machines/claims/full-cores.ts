import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

export const fullCores: Claim = {
  name: 'full-pcpus-only',
  when: ({ name }) => name === '1x4x2',
  dependsOn: {
    traits: ['threads'],
    because: 'A core has more than one thread.',
  },
  async run(context) {
    await context.startDaemon('--cpu-manager-policy-options', 'full-pcpus-only=true');
    const pod = await context.runPod({ containers: [pinned(3, 'odd'), pinned(2, 'a'), pinned(4, 'b')] });
    await assert.rejects(pod.startContainer('odd'), (error: Error) => {
      context.note(error.message.slice(error.message.indexOf('asked')));
      return /core/.test(error.message);
    });
    const cores = context.topology.cores.map(({ cpus }) => cpus.toString());
    const first = await (await pod.startContainer('a')).firstLine();
    const second = await (await pod.startContainer('b')).firstLine();
    const taken = [first, second].flatMap((list) =>
      cores.filter((core) => parseCpuList(core).isSubsetOf(parseCpuList(list))),
    );
    assert.equal(taken.length, 3, `${first} and ${second} are not whole cores`);
    context.note(`2: ${first}, 4: ${second}`);
  },
};
