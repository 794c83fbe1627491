import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned, shared } from '../guest/specs';

/** cpusetd is killed and started again: no container moves, and one that started meanwhile is found and moved. */
export const daemonKilled: Claim = {
  name: 'cpusetd killed',
  when: ({ name }) => ['2x4x2-systemd', '1x4x2-proxy'].includes(name),
  dependsOn: {
    traits: ['init', 'mode'],
    because:
      'A container that was made meanwhile is moved through the runtime, where systemd may take part, and a proxy learns of it from the list of the runtime. test/e2e shows it with cgroupfs on each runtime.',
  },
  async run(context) {
    const daemon = await context.usualDaemon();
    const db = await context.startOne(pinned(2));
    const own = await db.firstLine();
    const pool = context.topology.online.minus(parseCpuList(own)).toString();
    await daemon.kill();
    assert.equal(db.cpuset().effectiveCpus, own);

    const unseen = await context.startOneUnseen(shared());
    assert.ok(parseCpuList(await unseen.firstLine()).overlaps(parseCpuList(own))); // cpusetd was away
    const from = daemon.mark();
    const start = performance.now();
    daemon.start();
    await context.synchronized(daemon, from);
    const synchronizedMs = Math.round(performance.now() - start);
    await context.untilOn(unseen, pool);
    const ms = Math.round(performance.now() - start);
    assert.equal(db.cpuset().effectiveCpus, own);
    await context.waitForLog(daemon, 'started', from);
    await context.untilVerdict(daemon, db, 'kept');
    context.note(
      `db stays on ${own}; a container made meanwhile was off them ${ms} ms after the start, ${ms - synchronizedMs} ms after the runtime's list`,
    );
  },
};
