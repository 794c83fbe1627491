import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned, shared } from '../guest/specs';

/** Reserved CPUs are given to no container, and the pool keeps a CPU of its own, however many are exclusive. */
export const strictReservation: Claim = {
  name: 'strict-cpu-reservation',
  when: ({ name }) => name === '1x4x2',
  dependsOn: {
    traits: ['cores'],
    because: 'All CPUs but one can be exclusive only where there are several: the host may have two.',
  },
  async run(context) {
    const reserved = parseCpuList('0-1');
    const args = ['--reserved-cpus', '0-1', '--cpu-manager-policy-options', 'strict-cpu-reservation=true'];
    await context.startDaemon(...args);
    const allocatable = context.topology.online.minus(reserved);
    const web = await context.startOne(shared());
    assert.equal(await web.firstLine(), allocatable.toString());

    const pod = await context.runPod({
      containers: [pinned(allocatable.size, 'all'), pinned(allocatable.size - 1, 'most'), pinned(1, 'last')],
    });
    await assert.rejects(pod.startContainer('all'), /exclusive CPUs/);
    const most = await pod.startContainer('most');
    const taken = parseCpuList(await most.firstLine());
    const left = allocatable.minus(taken);
    assert.equal(left.size, 1);
    assert.deepEqual(context.masksOf(web), [left.toString()]);
    await assert.rejects(pod.startContainer('last'), /exclusive CPU/);
    const late = await context.startOne(shared('late'));
    assert.equal(await late.firstLine(), left.toString());
    context.note(`reserved ${reserved.toString()}, exclusive ${taken.toString()}, pool ${left.toString()}`);
  },
};
