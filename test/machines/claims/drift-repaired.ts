import type { Claim } from '../claim';
import { pinned, shared } from '../guest/specs';

/** A foreign write to the cpuset of a running container is detected, explained and repaired, long before the next round. */
export const driftRepaired: Claim = {
  name: 'drift repaired',
  when: ({ name }) => name === '2x4x2-2numa',
  dependsOn: {
    traits: ['cgroup'],
    because:
      'The kernel reports the write to a file of cgroup v2. test/e2e/drift shows it on v1 with each runtime, and the claims of the service and of daemon-reload with systemd.',
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
