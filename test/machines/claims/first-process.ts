import assert from 'node:assert/strict';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned, shared } from '../guest/specs';

/**
 * An exclusive container runs on its CPUs from its first instruction, and shared containers have left them before.
 * Status, cgroup files and processes agree. When it is removed, its CPUs return to the pool.
 */
export const firstProcess: Claim = {
  name: 'first process',
  when: ({ name }) =>
    [
      ...['4x8x2-64cpu', '2x4x2-2numa', '2x4x2-isolated-offline', '2x4x2-systemd'],
      ...['1x4x2-proxy', '1x4x2-v1-crun', '2x4x1-memless-cpuless'],
    ].includes(name),
  dependsOn: {
    traits: ['cores', 'offline', 'kernelArguments', 'cgroup', 'runtime', 'init', 'mode'],
    because:
      'The runtime writes the cpuset before the first instruction: each of cgroup version, cgroup driver, runc or crun, plugin or proxy does it in another way. CPUs above 31 need longer masks, isolated and offline ones are left out.',
  },
  async run(context) {
    const daemon = await context.usualDaemon();
    const { online } = context.topology;
    const web = await context.startOne(shared());
    assert.equal(await web.firstLine(), online.toString());

    const pod = await context.runPod({ containers: [pinned(2)] });
    const db = await pod.createContainer('db');
    const { sharedPool } = (await context.statusOf(daemon)).node;
    assert.equal(web.cpuset().cpus, sharedPool.toString()); // no process of db exists yet
    assert.deepEqual(context.masksOf(web), [sharedPool.toString()]);

    await db.start();
    const first = await db.firstLine();
    const promised = parseCpuList(first);
    assert.equal(promised.size, 2);
    assert.equal(promised.union(sharedPool).toString(), online.toString());
    assert.ok(!promised.overlaps(sharedPool), `${first} overlaps ${sharedPool.toString()}`);
    assert.deepEqual(
      { cpus: db.cpuset().cpus, effective: db.cpuset().effectiveCpus, masks: context.masksOf(db) },
      { cpus: first, effective: first, masks: [first] },
    );
    const shown = await context.shown(daemon, db);
    assert.equal(shown.placement, 'exclusive');
    assert.equal(shown.promise?.cpus.toString(), first);
    await context.untilVerdict(daemon, db, 'kept');
    await context.untilVerdict(daemon, web, 'kept');

    await pod.remove();
    const ms = await context.until('the pool to be whole', () => web.cpuset().cpus === online.toString());
    context.note(`db ${first}, web ${sharedPool.toString()}; whole again ${ms} ms after the removal`);
  },
};
