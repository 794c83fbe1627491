import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { RunningContainer } from '../../e2e/rig/container';
import type { ContainerSpec } from '../../e2e/rig/kubelet';
import type { Claim } from '../claim';
import { shared } from '../guest/specs';
import { printMaskThenSleep } from '../../e2e/rig/commands';

/** A container with whole CPUs but without memory: its pod is Burstable, so only the annotation pins it. */
const whole = (name: string, cpus: number): ContainerSpec => ({
  name,
  cpuRequestMilli: cpus * 1000,
  cpuLimitMilli: cpus * 1000,
  command: printMaskThenSleep,
});

/**
 * Crane's policies, chosen by annotation, on more than one NUMA node: `immovable` has fixed CPUs that shared containers
 * use too, `numa` has the shared CPUs of one node, which change with the pool, and `exclusive` has its CPUs alone.
 */
export const cranePolicies: Claim = {
  name: "Crane's policies",
  when: ({ name }) => name === '2x4x2-2numa',
  dependsOn: {
    traits: ['nodes'],
    because: 'The policy numa needs more than one node.',
  },
  async run(context) {
    await context.startDaemon('--pod-policies', 'all');
    const { online, numaNodes } = context.topology;
    const startAs = (policy: string, cpus: number): Promise<RunningContainer> =>
      context.startOne(whole(policy, cpus), { annotations: { 'topology.crane.io/cpu-policy': policy } });

    const immovable = await startAs('immovable', 2);
    const fixed = parseCpuList(await immovable.firstLine());
    assert.equal(fixed.size, 2);
    const web = await context.startOne(shared());
    assert.equal(await web.firstLine(), online.toString()); // both share

    const numa = await startAs('numa', 3);
    const before = parseCpuList(await numa.firstLine());
    const node = numaNodes.find(({ cpus }) => before.isSubsetOf(cpus));
    assert.ok(node, `${before.toString()} is not within a node`);

    const annotations = { 'topology.crane.io/cpu-policy': 'exclusive' };
    const pod = await context.runPod({ annotations, containers: [whole('exclusive', 10)] });
    const exclusive = await pod.startContainer('exclusive'); // more than a node has: it takes CPUs from numa's node
    const own = parseCpuList(await exclusive.firstLine());
    assert.equal(own.size, 10);
    assert.ok(!own.overlaps(fixed), `${own.toString()} overlaps the fixed ${fixed.toString()}`);
    const after = parseCpuList(numa.cpuset().cpus);
    assert.ok(!after.isEmpty && after.isSubsetOf(before.minus(own)), `numa ${after.toString()}`);
    assert.deepEqual(context.masksOf(numa), [after.toString()]);
    assert.deepEqual(context.masksOf(web), [online.minus(own).toString()]);
    assert.deepEqual(context.masksOf(immovable), [fixed.toString()]);

    await pod.remove();
    await context.untilOn(numa, before.toString());
    await context.untilOn(web, online.toString());
    context.note(
      `immovable ${fixed.toString()}, exclusive ${own.toString()}, ` +
        `numa ${before.toString()} on node ${node.id}, then ${after.toString()}, then all of it again`,
    );
  },
};
