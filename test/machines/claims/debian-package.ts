import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { lstatSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { sampleCpus } from '../guest/sample-cpus';
import { optionsFile, service } from '../guest/service';
import { pinned } from '../guest/specs';
import { listRefusals, readJournal, showUnit } from '../guest/systemd';

const run = promisify(execFile);

const program = '/usr/bin/cpusetd';
const stateDir = '/var/lib/cpusetd';
/** The files that are there while the package is installed and enabled. */
const places = [
  ...[program, optionsFile, stateDir, '/run/cpusetd', '/usr/lib/systemd/system/cpusetd.service'],
  '/etc/systemd/system/multi-user.target.wants/cpusetd.service',
];

/**
 * The Debian package on a machine with systemd and a container that is entitled to exclusive CPUs. With options that
 * are there already, its installation enables and starts the service, which pins the container. An upgrade restarts the
 * service once. A removal stops it and leaves the state, and a purge leaves nothing. The container keeps its CPUs all
 * the time.
 */
export const debianPackage: Claim = {
  name: 'Debian package',
  when: ({ name }) => name === '2x4x2-systemd',
  dependsOn: {
    traits: ['init'],
    because: 'dpkg enables, starts, restarts and stops the service of systemd.',
  },
  async run(context) {
    await context.endUsualDaemon();
    rmSync(stateDir, { recursive: true, force: true });
    const db = await context.startOne(pinned(2));
    assert.equal(await db.firstLine(), context.topology.online.toString()); // no cpusetd yet
    const begun = Date.now();
    try {
      writeFileSync(optionsFile, "reserved-cpus: '0'\nreconcile-period: 1s\n");
      // The options of the administrator are there before those of the package: dpkg would ask which to keep.
      await dpkg('--force-confdef', '--force-confold', '--install', '/in/cpusetd.deb');
      context.step('installed');
      await expectRunning();
      await context.untilVerdict(service, db, 'kept');
      const { stdout: checked } = await run(program, ['check'], { env: { PATH: process.env['PATH'] } }); // rejects when it does not exit with 0
      assert.match(checked, /^options +ok +those of \/etc\/cpusetd\.yaml are valid/m);
      const own = db.cpuset().cpus;
      assert.equal(parseCpuList(own).size, 2);

      const { seen, samples } = await sampleCpus(db, async () => {
        const { version } = (await context.statusOf(service)).node;
        await dpkg('--install', '/in/cpusetd-next.deb');
        context.step('upgraded');
        await expectRunning();
        assert.notEqual((await context.statusOf(service)).node.version, version);
        await context.untilVerdict(service, db, 'kept');
        const journal = await readJournal('cpusetd', begun);
        const starts = journal.filter((line) => line.includes('"msg":"starting with these options"'));
        assert.equal(starts.length, 2); // one of the installation, one of the upgrade
        assert.deepEqual(listRefusals(journal), []);

        await dpkg('--remove', 'cpusetd');
        context.step('removed');
        assert.equal((await showUnit('cpusetd', 'ActiveState')).ActiveState, 'inactive');
        assert.deepEqual([isThere(program), isThere(`${stateDir}/state.json`)], [false, true]);
        await dpkg('--purge', 'cpusetd');
        assert.deepEqual(places.filter(isThere), []);
      });
      assert.deepEqual(seen, [own]);
      context.note(`${own} in all of ${samples} samples`);
    } catch (error) {
      console.log((await readJournal('cpusetd', begun)).slice(-100).join('\n'));
      await dpkg('--purge', 'cpusetd');
      throw error;
    }
  },
};

/** True for a link without its target too. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

/** The machine's node is no package. The dependency on it is tested in test/e2e. */
const dpkg = (...args: string[]) => run('dpkg', ['--ignore-depends=nodejs', ...args]);

/** The service is enabled, and pins containers in its first life since it was started or restarted on purpose. */
async function expectRunning(): Promise<void> {
  const names = ['ActiveState', 'UnitFileState', 'StatusText', 'NRestarts'] as const;
  const shown = await showUnit('cpusetd', ...names);
  assert.deepEqual(shown, {
    ActiveState: 'active',
    UnitFileState: 'enabled',
    StatusText: 'containers are pinned',
    NRestarts: '0',
  });
  assert.deepEqual(places.filter(isThere), places);
}
