import type { Claim } from '../claim';
import { pinned, shared } from '../guest/specs';

/**
 * A foreign write to the cpuset of a running container is detected, explained and repaired, long before the next round.
 */
export const driftRepaired: Claim = {
  name: 'drift repaired',
  when: ({ name }) => ['2x4x2-2numa', '2x4x2-v1'].includes(name),
  dependsOn: {
    traits: ['cgroup'],
    because:
      'The kernel reports the write to a file of a cgroup, of which v1 and v2 have different ones. The claims of the service and of daemon-reload show it with systemd.',
  },
  async run(context) {
    const daemon = await context.startDaemon('--reconcile-period', '60s');
    const web = await context.startOne(shared());
    const db = await context.startOne(pinned(2));
    const promised = await db.firstLine();
    const pool = web.cpuset().cpus;
    await context.untilVerdict(daemon, db, 'kept');

    const times: number[] = [];
    for (const [container, wrong, right] of [
      [db, pool, promised],
      [web, promised, pool],
    ] as const) {
      const from = daemon.mark();
      container.writeCpuset(wrong);
      times.push(await context.untilOn(container, right));
      for (const msg of ['drifted', 'repaired'])
        await context.waitForLog(daemon, (line) => line.msg === msg && line.containerId === container.id, from);
      await context.untilVerdict(daemon, container, 'kept');
    }
    context.note(`pinned ${times[0]} ms, shared ${times[1]} ms after the write`);
  },
};
