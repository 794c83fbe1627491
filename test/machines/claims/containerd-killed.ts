import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

/** containerd is killed and started again: cpusetd connects again, promises stay, and new containers get other CPUs. */
export const containerdKilled: Claim = {
  name: 'containerd killed',
  when: ({ name }) => name === '2x4x2-systemd',
  dependsOn: {
    traits: ['init'],
    because:
      'systemd holds the scopes of the containers while containerd is away. test/e2e shows it with cgroupfs on each runtime, and with the proxy.',
  },
  async run(context) {
    const daemon = await context.usualDaemon();
    const db = await context.startOne(pinned(2));
    const own = await db.firstLine();
    const from = daemon.mark();
    await context.runtime.kill();
    assert.equal(db.cpuset().effectiveCpus, own);
    await context.runtime.start();
    const start = performance.now();
    await context.synchronized(daemon, from);
    const ms = Math.round(performance.now() - start);
    const next = await context.startOne(pinned(2, 'next'));
    const its = await next.firstLine();
    assert.ok(!parseCpuList(its).overlaps(parseCpuList(own)), `${its} overlaps ${own}`);
    assert.equal(db.cpuset().effectiveCpus, own);
    await context.untilVerdict(daemon, db, 'kept');
    context.note(`synchronized ${ms} ms after containerd answered; db ${own}, next ${its}`);
  },
};
