import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { printMaskThenSleep } from '../../e2e/rig/commands';
import type { RunningContainer } from '../../e2e/rig/container';
import type { Claim } from '../claim';
import { pinned, shared } from '../guest/specs';

/**
 * CPUs go offline and come back while pinned and shared containers run. The rest of a promise is kept, a broken promise
 * has that verdict, no other container gets the CPUs, and everything is as before when they are back.
 */
export const cpuOffline: Claim = {
  name: 'CPU offline and back',
  when: ({ name }) => ['1x4x2', '2x4x2-v1', '2x4x2-systemd'].includes(name),
  dependsOn: {
    traits: ['cgroup', 'init'],
    because:
      'The kernel itself changes cgroups: v1 takes the CPU out of every one for good, v2 out of the effective sets for the time. systemd has a record of its own of each cgroup.',
  },
  async run(context) {
    const { online } = context.topology;
    const daemon = await context.startDaemon('--reconcile-period', '1s');
    const web = await context.startOne(shared());
    const db = await context.startOne(pinned(2));
    const own = parseCpuList(await db.firstLine());
    const pool = parseCpuList(web.cpuset().cpus);
    const hasPool = (want: CpuSet) =>
      context.until(
        `the pool to be ${want.toString()}`,
        () => effective(web).equals(want) && parseCpuList(web.cpuset().cpus).equals(want),
      );

    try {
      const [first, last] = own.toArray() as [number, number];
      setOnline(last, false);
      context.note(`one of ${own.toString()} off: kernel has ${show(db)}`);
      await context.untilVerdict(daemon, db, 'violated', new RegExp(`\\b${last}\\b.*offline`));
      await hasPool(pool);
      await context.until(`it to be on ${first}`, () => effective(db).toString() === String(first));

      setOnline(first, false);
      await context.untilVerdict(daemon, db, 'violated', new RegExp(`\\b${own.toString()}\\b.*offline`));
      // It has to run on the shared pool, and on no other CPUs.
      await context.until('it to be with the shared', () => pool.equals(effective(db)));
      context.note(`both off: ${show(db)}`);

      for (const cpu of own) setOnline(cpu, true);
      await context.untilVerdict(daemon, db, 'kept');
      await context.untilOn(db, own.toString()); // its processes too, which v1 had moved out of its cgroup
      await hasPool(pool);
      context.note(`back: ${show(db)}`);

      const other = pool.toArray().at(-1)!;
      setOnline(other, false);
      await hasPool(pool.minus(CpuSet.of([other])));
      assert.equal(effective(db).toString(), own.toString());
      // On v1 the kernel moved it; cpusetd has to know that too.
      await context.untilAsked(
        `${other} to be missed`,
        async () => !(await context.statusOf(daemon)).node.online.has(other),
      );
      setOnline(other, true);
      const ms = await hasPool(pool);
      context.note(`the pool has ${other} again after ${ms} ms`);
      await context.untilVerdict(daemon, web, 'kept');

      // The class had no container meanwhile. On v1 the kernel removes the CPU from all cgroups, and adds it to none
      // again.
      const late = await context.startOne({ name: 'late', command: printMaskThenSleep });
      assert.equal(await late.firstLine(), pool.toString());
    } finally {
      for (const cpu of online) setOnline(cpu, true);
    }
  },
};

const effective = (container: RunningContainer): CpuSet => parseCpuList(container.cpuset().effectiveCpus);

function show(container: RunningContainer): string {
  const { cpus, effectiveCpus } = container.cpuset();
  return `cpus "${cpus}" effective "${effectiveCpus}"`;
}

/** Takes a CPU offline or online. CPU 0 of most machines has no such file, and is left alone. */
function setOnline(cpu: number, online: boolean): void {
  const file = `/sys/devices/system/cpu/cpu${cpu}/online`;
  try {
    if (readFileSync(file, 'utf8').trim() === (online ? '1' : '0')) return;
  } catch (error) {
    if (cpu === 0) return;
    throw error;
  }
  writeFileSync(file, online ? '1' : '0');
}
