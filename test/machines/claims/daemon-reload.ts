import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { parseCpuList } from '../../../src/core/cpuset';
import type { RunningContainer } from '../../e2e/rig/container';
import { nameScope } from '../../e2e/rig/systemd-cgroups';
import type { Claim } from '../claim';
import { pinned, shared } from '../guest/specs';

const run = promisify(execFile);

/**
 * `systemctl daemon-reload` makes systemd write its own record of each scope into the cgroup. cpusetd moves shared
 * containers by writing the cgroup at once and the record after it: once the record is right, a reload changes nothing.
 */
export const daemonReload: Claim = {
  name: 'systemctl daemon-reload',
  when: ({ init }) => init === 'systemd',
  dependsOn: {
    traits: ['init'],
    because: 'systemd writes its own records into the cgroups.',
  },
  async run(context) {
    const daemon = await context.usualDaemon();
    const web = await context.startOne(shared());
    const all = web.cpuset().cpus;
    const db = await context.startOne(pinned(2));
    const own = await db.firstLine();
    const pool = web.cpuset().cpus;
    assert.ok(!parseCpuList(pool).overlaps(parseCpuList(own)), `${pool} overlaps ${own}; all are ${all}`);

    const before = `records before: web "${await recordOf(web)}", db "${await recordOf(db)}"`;
    const ms = await context.untilAsked("systemd's record to follow", async () => (await recordOf(web)) === pool);
    context.note(`${before}; right after ${ms} ms`);

    let from = daemon.mark();
    await reload();
    assert.deepEqual([web.cpuset().cpus, db.cpuset().cpus], [pool, own]);
    const drifts = () => daemon.log.lines.slice(from).filter(({ msg }) => msg === 'drifted').length;
    context.note(`a reload then: ${drifts()} drifts`);

    // A wrong record, as between the two writes: the reload writes it into the cgroup.
    await run('systemctl', ['set-property', '--runtime', nameScope(db.id), `AllowedCPUs=${pool}`]);
    await context.until('the repair', () => db.cpuset().cpus === own);
    await context.untilAsked("systemd's record to be put right", async () => (await recordOf(db)) === own);
    from = daemon.mark();
    await reload();
    assert.equal(db.cpuset().cpus, own);
    context.note(`after set-property was repaired, a reload: ${drifts()} drifts`);
    await context.untilVerdict(daemon, db, 'kept');
  },
};

/** systemd writes its values when the call has been answered, and before it answers the next one. */
async function reload(): Promise<void> {
  await run('systemctl', ['daemon-reload']);
  await run('systemctl', ['show', '--property', 'Version']);
}

/** AllowedCPUs of a container's scope in kernel list format; systemd separates by blanks. */
async function recordOf(container: RunningContainer): Promise<string> {
  const { stdout } = await run('systemctl', ['show', '--property', 'AllowedCPUs', '--value', nameScope(container.id)]);
  return parseCpuList(stdout.trim().replaceAll(/\s+/g, ',')).toString();
}
