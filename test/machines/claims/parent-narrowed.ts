import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { parseCpuList } from '../../../src/core/cpuset';
import { readCpuset, writeCpuset } from '../../e2e/rig/cgroup-files';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

/**
 * The cgroup of a pod loses the CPUs of a pinned container. On v2 the container's own cpuset stays unchanged, and only
 * its effective set shows that. (v1 refuses such a write.) For the cgroup of all pods see cpus-barred.ts.
 */
export const parentNarrowed: Claim = {
  name: 'parent narrowed',
  when: ({ name }) => name === '2x4x2-2numa',
  dependsOn: {
    traits: ['cgroup'],
    because: 'The kernel lets a parent be narrower than its children on v2 only.',
  },
  async run(context) {
    const daemon = await context.usualDaemon();
    const db = await context.startOne(pinned(2));
    const own = parseCpuList(await db.firstLine());
    const { online } = context.topology;
    const parent = dirname(db.cgroupPath);
    const before = readCpuset(parent).cpus;
    await context.untilVerdict(daemon, db, 'kept');
    try {
      writeCpuset(parent, online.minus(own).toString());
      const { cpus, effectiveCpus } = db.cpuset();
      assert.equal(cpus, own.toString());
      assert.ok(!parseCpuList(effectiveCpus).overlaps(own)); // the kernel moved it
      const { reason, ms } = await context.untilVerdict(daemon, db, 'violated', /a parent cgroup is narrower/);
      context.note(
        `noticed after ${ms} ms while the kernel has cpus "${cpus}" effective "${effectiveCpus}": ${reason}`,
      );
    } finally {
      // An empty cpuset ("as the parent") can't be written back while the cgroup has processes.
      writeCpuset(parent, before === '' ? online.toString() : before);
    }
    await context.untilVerdict(daemon, db, 'kept');
    assert.deepEqual(context.masksOf(db), [own.toString()]);
  },
};
