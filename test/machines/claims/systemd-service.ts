import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { type CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { RunningContainer } from '../../e2e/rig/container';
import type { Claim } from '../claim';
import type { GuestContext } from '../guest/context';
import { guestPatienceMs } from '../guest/patience';
import { replaceIn } from '../guest/replace-in';
import { installService, optionsFile, service, uninstallService } from '../guest/service';
import { pinned, shared } from '../guest/specs';
import { listRefusals, readJournal, showUnit, systemctl } from '../guest/systemd';
import { readAffinities } from './irqs-steered';

const dropIn = '/etc/systemd/system/kubelet.service.d/10-cpusetd.conf';
/** The place where the page installs the uploaded files. */
const installed: Readonly<Record<string, string>> = {
  'cpusetd.service': '/etc/systemd/system/cpusetd.service',
  '10-cpusetd.conf': dropIn,
};
/** A fortieth of the patience, which is measured in boots of this machine: a slow machine ends a round late. */
const watchdogSeconds = Math.max(12, Math.ceil(guestPatienceMs / 40_000));
const kubeletWaitSeconds = 2;
/** Of the test: a unit that stands for the kubelet, and a shorter limit of the watchdog. */
const ours: Readonly<Record<string, string>> = {
  '/etc/systemd/system/kubelet.service': '[Service]\nExecStart=/bin/sleep infinity\n',
  '/etc/systemd/system/cpusetd.service.d/test.conf': `[Service]\nWatchdogSec=${watchdogSeconds}s\n`,
};
const options = ['reconcile-period: 1s', 'irq-affinity: steer'];

/**
 * cpusetd installed as a hardened service, as docs/install.md says. It is ready when it has registered, and a kubelet
 * starts after that. It pins, repairs and steers interrupts. After SIGKILL, and after SIGSTOP and the watchdog, it is
 * back, and no container has moved. A kubelet starts without a cpusetd that cannot start. Upgrades: see
 * debian-package.ts.
 */
export const systemdService: Claim = {
  name: 'systemd service',
  when: ({ name }) => name === '2x4x2-systemd',
  dependsOn: {
    traits: ['init'],
    because: 'systemd starts, watches and confines the service.',
  },
  async run(context) {
    await context.endUsualDaemon();
    const affinities = readAffinities();
    await installService(installed, ours, options);
    try {
      await startWithKubelet(context);
      context.step('kubelet started');
      const db = await context.startOne(pinned(2));
      const web = await context.startOne(shared());
      const own = await db.firstLine();
      const pool = await web.firstLine();
      assert.equal(pool, context.topology.online.minus(parseCpuList(own)).toString());
      await context.untilVerdict(service, db, 'kept');
      await repairDrift(context, db, { own, pool });
      await steerInterrupts(context, parseCpuList(own));

      const held = async (): Promise<void> => {
        assert.deepEqual([db.cpuset().cpus, web.cpuset().cpus, ...context.masksOf(db)], [own, pool, own]);
        for (const container of [db, web]) await context.untilVerdict(service, container, 'kept');
        assert.deepEqual((await context.statusOf(service)).node.alarms, []);
      };
      context.step('SIGKILL');
      const killedMs = await untilRestarted(context, 1, () => systemctl('kill', '--signal=KILL', 'cpusetd'));
      await held();
      context.step('SIGSTOP');
      await stopByWatchdog(context);
      await held();
      context.note(`back ${killedMs} ms after SIGKILL; ${own} and ${pool} unchanged`);

      await expectNoRefusal();
      context.step('stop');
      await systemctl('stop', 'cpusetd');
      assert.deepEqual(readAffinities(), affinities);
      assert.equal((await showUnit('cpusetd', 'Result')).Result, 'success');
      context.step('kubelet alone');
      await startKubeletAlone(context);
      context.step('done');
    } catch (error) {
      console.log((await readJournal('cpusetd')).slice(-100).join('\n'));
      throw error;
    } finally {
      await systemctl('stop', 'kubelet', 'cpusetd');
      await uninstallService([...Object.values(installed), ...Object.keys(ours)]);
    }
  },
};

/**
 * The start of the kubelet starts cpusetd, which is ready when it is registered; only then the kubelet's own process
 * begins.
 */
async function startWithKubelet(context: GuestContext): Promise<void> {
  await systemctl('start', 'kubelet');
  const { ActiveEnterTimestampMonotonic: ready, StatusText } = await showUnit(
    'cpusetd',
    'ActiveEnterTimestampMonotonic',
    'StatusText',
  );
  const { ExecMainStartTimestampMonotonic: begun } = await showUnit('kubelet', 'ExecMainStartTimestampMonotonic');
  assert.equal(StatusText, 'containers are pinned');
  assert.ok(Number(begun) > Number(ready), `the kubelet began at ${begun} us, cpusetd was ready at ${ready} us`);
  const registeredMs = await whenLogged('synchronized with the runtime');
  assert.ok(Number(ready) / 1000 + 1 >= registeredMs, `ready at ${ready} us, registered at ${registeredMs} ms`);
  const beganMs = await whenLogged('starting with these options');
  context.note(
    `registered ${Math.round(registeredMs - beganMs)} ms, ready ${Math.round(Number(ready) / 1000 - beganMs)} ms, kubelet ${Math.round(Number(begun) / 1000 - beganMs)} ms after the start`,
  );
}

/** The time of the first line with this message, in ms since the boot, as systemd counts. */
async function whenLogged(message: string): Promise<number> {
  const line = (await readJournal('cpusetd')).find((text) => text.includes(`"msg":"${message}"`));
  assert.ok(line !== undefined, `the journal has no line "${message}"`);
  const { time } = JSON.parse(line) as { time: string | number };
  return new Date(time).getTime() - (Date.now() - Number(process.hrtime.bigint()) / 1e6);
}

async function repairDrift(
  context: GuestContext,
  db: RunningContainer,
  { own, pool }: { own: string; pool: string },
): Promise<void> {
  db.writeCpuset(pool);
  const ms = await context.untilOn(db, own);
  context.note(`drift repaired after ${ms} ms`);
}

/** All interrupts leave but those that the kernel moves for nobody. */
async function steerInterrupts(context: GuestContext, own: CpuSet): Promise<void> {
  const onOwn = (): string[] =>
    [...readAffinities()].flatMap(([irq, list]) => (parseCpuList(list).overlaps(own) ? [irq] : []));
  const isFixed = (irq: string): boolean => (statSync(`/proc/irq/${irq}/smp_affinity_list`).mode & 0o222) === 0;
  await context.until('interrupts to leave', () => onOwn().every((irq) => irq !== 'default' && isFixed(irq)));
}

/** The hardening has kept nothing from it that it asked for. */
async function expectNoRefusal(): Promise<void> {
  const lines = await readJournal('cpusetd');
  assert.deepEqual(listRefusals(lines), []);
  assert.ok(lines.some((line) => line.includes('the kernel refuses to move')));
}

/** Ends cpusetd, and waits until systemd has restarted it so many times. @returns the time that it took, in ms */
async function untilRestarted(context: GuestContext, times: number, end: () => Promise<unknown>): Promise<number> {
  const { startedAt } = (await context.statusOf(service)).node;
  await end();
  const isAnother = async (): Promise<boolean> => (await context.statusOf(service)).node.startedAt !== startedAt;
  const ms = await context.untilAsked(`restart ${times} of cpusetd`, isAnother);
  assert.equal((await showUnit('cpusetd', 'NRestarts')).NRestarts, String(times));
  return ms;
}

/** A stopped process ends no round. */
async function stopByWatchdog(context: GuestContext): Promise<void> {
  const { MainPID } = await showUnit('cpusetd', 'MainPID');
  const stop = (): Promise<boolean> => Promise.resolve(process.kill(Number(MainPID), 'SIGSTOP'));
  const ms = await untilRestarted(context, 2, stop);
  const reason = `Watchdog timeout (limit ${watchdogSeconds}s)`;
  assert.ok((await readJournal('cpusetd')).some((line) => line.includes(reason)));
  context.note(`back ${ms} ms after SIGSTOP with a limit of ${watchdogSeconds} s`);
}

/** With options that cpusetd refuses, the kubelet waits for a while, here a shorter one, and starts. */
async function startKubeletAlone(context: GuestContext): Promise<void> {
  const text = readFileSync(dropIn, 'utf8');
  writeFileSync(dropIn, replaceIn(text, 'timeout 20 ', `timeout ${kubeletWaitSeconds} `));
  await systemctl('daemon-reload');
  writeFileSync(optionsFile, 'reserved-cpus: none\n');
  const start = performance.now();
  await systemctl('restart', 'kubelet');
  const seconds = Math.round((performance.now() - start) / 1000);
  assert.equal((await showUnit('kubelet', 'ActiveState')).ActiveState, 'active');
  const warning = 'cpusetd does not pin containers: the kubelet starts without it';
  assert.ok((await readJournal('kubelet')).includes(warning));
  assert.notEqual((await showUnit('cpusetd', 'ActiveState')).ActiveState, 'active');
  context.note(`without cpusetd the kubelet starts after ${seconds} s`);
}
