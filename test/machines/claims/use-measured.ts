import assert from 'node:assert/strict';
import type { PromisedSetStatus, UsageStatus } from '../../../src/admin/model/qos-status';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Daemon } from '../../e2e/rig/daemon';
import type { Claim } from '../claim';
import type { GuestContext } from '../guest/context';
import { pinned } from '../guest/specs';

/** Three loops that never sleep, on two CPUs. */
const burnThree = 'for i in 1 2 3; do while :; do :; done & done; wait';

/**
 * With `--collect-interval`, the use of each promised set, its waiting threads and its idle time are measured, on both
 * cgroup versions.
 */
export const useMeasured: Claim = {
  name: 'use measured',
  when: ({ name }) => ['2x4x2-2numa', '2x4x2-v1'].includes(name),
  dependsOn: {
    traits: ['cgroup'],
    because: 'Use and waiting are read from files that v1 and v2 have under other names.',
  },
  async run(context) {
    const daemon = await context.startDaemon('--collect-interval', '2s');
    const idle = await context.startOne(pinned(1, 'idle'));
    const own = await idle.firstLine();
    const busy = pinned(2, 'busy');
    await context.startOne({ ...busy, command: ['sh', '-c', burnThree] });

    const isMeasured = (usage: UsageStatus | undefined): usage is UsageStatus => {
      const [busySet, idleSet] = [setOf(usage, 'busy'), setOf(usage, 'idle')];
      if (!usage || !busySet || !idleSet) return false;
      const { exclusiveIdleMilliCpu: idleMilli = 0 } = usage;
      return (
        isWithin(busySet.usedMilliCpu, 1_600, 2_050) &&
        isWithin(busySet.waitMsPerSecond ?? 0, 600, 1_400) &&
        isWithin(idleSet.usedMilliCpu, 0, 100) &&
        isWithin(idleMilli, 700, 1_450)
      );
    };
    let last: UsageStatus | undefined;
    await context
      .untilAsked('the use of both sets', async () => isMeasured((last = await usageOf(context, daemon))))
      .catch((error: unknown) => assert.fail(`${String(error)}; last: ${JSON.stringify(last)}`));
    const [busySet, idleSet] = [setOf(last, 'busy')!, setOf(last, 'idle')!];
    assert.equal(busySet.cpus.size, 2);
    assert.ok(idleSet.cpus.equals(parseCpuList(own)));
    context.note(
      `three loops on ${busySet.cpus.toString()}: ${Math.round(busySet.usedMilliCpu)} milli-CPU used, ${Math.round(busySet.waitMsPerSecond!)} ms waited in a second; ` +
        `idle on ${own}: ${Math.round(idleSet.usedMilliCpu)}`,
    );
  },
};

const isWithin = (value: number, from: number, to: number): boolean => value >= from && value <= to;

function setOf(usage: UsageStatus | undefined, container: string): PromisedSetStatus | undefined {
  return usage?.sets.find((set) => set.container === container);
}

async function usageOf(context: GuestContext, daemon: Daemon): Promise<UsageStatus | undefined> {
  return (await context.statusOf(daemon)).node.usage;
}
