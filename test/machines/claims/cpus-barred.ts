import assert from 'node:assert/strict';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { readCpuset, writeCpuset } from '../../e2e/rig/cgroup-files';
import type { Daemon } from '../../e2e/rig/daemon';
import type { Claim } from '../claim';
import type { GuestContext } from '../guest/context';
import { pinned, shared } from '../guest/specs';
import { systemctl } from '../guest/systemd';

/**
 * The cgroup of all pods has a part of the online CPUs, from the start or from one moment to the next. Shared
 * containers start on what there is, nobody is given anything else, a request that does not fit is refused with the
 * reason, and who has lost CPUs has them again afterwards.
 */
export const cpusBarred: Claim = {
  name: 'CPUs barred by a cgroup',
  when: ({ name }) => name === '2x4x2-2numa' || name === '2x4x2-systemd',
  dependsOn: {
    traits: ['init'],
    because:
      'AllowedCPUs= of a slice reaches the kernel through systemd, another cgroup by a write. On v1 the kernel refuses to narrow a cgroup with pods: test/e2e/confined.test.ts has one that is narrow from the start.',
  },
  async run(context) {
    const { online } = context.topology;
    const daemon = await context.startDaemon('--reconcile-period', '1s');
    const db = await context.startOne(pinned(2));
    const web = await context.startOne(shared());
    const own = parseCpuList(await db.firstLine());
    const pool = online.minus(own);
    const parent = `/${db.cgroupPath.split('/')[1]}`;
    const others = CpuSet.of(pool.toArray().slice(-2));
    const bound = makeBound(context, parent, online);
    try {
      await bound.set(online.minus(others));
      await untilBarred(context, daemon, others);
      await context.untilOn(web, pool.minus(others).toString());
      const late = await context.startOne(shared('late'));
      assert.equal(await late.firstLine(), pool.minus(others).toString());
      const { node } = await context.statusOf(daemon);
      assert.deepEqual([node.online.toString(), node.barred?.by], [online.toString(), parent]);
      assert.ok(!node.free.overlaps(others) && !node.allocatable.overlaps(others));
      await context.untilAsked('the alarm', () => hasAlarm(context, daemon));
      const refused = /asked for \d+ exclusive CPUs.*are online, but the cgroup .* only/;
      await assert.rejects(context.startOne(pinned(pool.size - 1)), refused);
      context.note(`${parent} without ${others.toString()}: the pool is ${pool.minus(others).toString()}`);

      await bound.set(online.minus(others).minus(own));
      await context.untilVerdict(
        daemon,
        db,
        'violated',
        new RegExp(`${own.toString()} are online, but the cgroup ${parent} `),
      );
      await context.untilOn(db, pool.minus(others).toString());
      await daemon.kill();

      const from = daemon.mark();
      daemon.start();
      await context.synchronized(daemon, from);
      const atStart = await context.statusOf(daemon);
      assert.equal(atStart.node.barred?.cpus.toString(), others.union(own).toString());
      await context.untilVerdict(daemon, db, 'violated', /are online, but the cgroup/);

      await bound.set(online);
      await context.untilVerdict(daemon, db, 'kept');
      await context.untilOn(db, own.toString());
      await context.untilOn(web, pool.toString());
      await context.untilAsked('the end of the alarm', async () => !(await hasAlarm(context, daemon)));
      context.note(`with all again: ${own.toString()} and ${pool.toString()}`);
    } finally {
      await bound.restore();
    }
  },
};

/** Narrows the cgroup of all pods as its owner does. */
function makeBound(context: GuestContext, cgroup: string, online: CpuSet) {
  if (context.machine.init === 'systemd') {
    const set = async (list: string): Promise<void> => {
      await systemctl('set-property', '--runtime', cgroup.slice(1), `AllowedCPUs=${list}`);
    };
    return { set: (cpus: CpuSet) => set(cpus.toString()), restore: () => set('') };
  }
  const before = readCpuset(cgroup).cpus;
  const set = (cpus: CpuSet): Promise<void> => Promise.resolve(writeCpuset(cgroup, cpus.toString()));
  // An empty cpuset ("as the parent") can't be written back while the cgroup has processes.
  return { set, restore: () => set(before === '' ? online : parseCpuList(before)) };
}

async function untilBarred(context: GuestContext, daemon: Daemon, cpus: CpuSet): Promise<void> {
  const ms = await context.untilAsked(
    `${cpus.toString()} to be barred`,
    async () => (await context.statusOf(daemon)).node.barred?.cpus.equals(cpus) === true,
  );
  context.note(`known after ${ms} ms`);
}

async function hasAlarm(context: GuestContext, daemon: Daemon): Promise<boolean> {
  return (await context.statusOf(daemon)).node.alarms.some(({ kind }) => kind === 'cpus-barred');
}
