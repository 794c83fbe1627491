import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { CpuSet } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned, shared } from '../guest/specs';

/**
 * A CPU goes offline and returns while a QoS class has no container. On cgroup v1 the kernel removes it from the
 * class's cgroup and does not add it again, so a container with this CPU can start only if cpusetd adds it.
 */
export const cpuBackToClass: Claim = {
  name: 'CPU back; class empty',
  when: ({ name }) => name === '1x4x2-v1-crun',
  dependsOn: {
    traits: ['cgroup'],
    because: 'Only v1 takes the CPU out of a cgroup without containers.',
  },
  async run(context) {
    const daemon = await context.usualDaemon();
    const early = await context.runPod({ containers: [shared('early')] });
    await early.startContainer('early');
    await early.remove(); // /kubepods/burstable stays

    const db = await context.startOne(pinned(2));
    const pool = context.topology.online.minus(CpuSet.of((await context.shown(daemon, db)).promise!.cpus));
    const other = pool.toArray().at(-1)!;
    const setOnline = async (online: boolean) => {
      writeFileSync(`/sys/devices/system/cpu/cpu${other}/online`, online ? '1' : '0');
      await context.untilAsked(
        'cpusetd to know',
        async () => (await context.statusOf(daemon)).node.online.has(other) === online,
      );
    };
    await setOnline(false);
    await setOnline(true);
    const late = await context.startOne(shared('late'));
    assert.equal(await late.firstLine(), pool.toString());
    context.note(`${other} left and returned; a container of the class starts on ${pool.toString()}`);
  },
};
