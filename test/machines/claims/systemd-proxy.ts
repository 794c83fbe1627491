import assert from 'node:assert/strict';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { RuntimeServiceDefinition } from '../../gen/cri/v1/cri';
import { parseCpuList } from '../../../src/core/cpuset';
import type { RunningContainer } from '../../e2e/rig/container';
import { type ContainerSpec, Kubelet } from '../../e2e/rig/kubelet';
import type { Claim } from '../claim';
import type { GuestContext } from '../guest/context';
import { sampleCpus } from '../guest/sample-cpus';
import { installService, service, uninstallService } from '../guest/service';
import { pinned, shared } from '../guest/specs';
import { listRefusals, readExposure, readJournal, showUnit, systemctl } from '../guest/systemd';

const unit = 'cpusetd-cri-proxy.service';
const socketUnit = 'cpusetd-cri-proxy.socket';
const criSocket = '/run/cpusetd/cri.sock';
const installed = Object.fromEntries([unit, socketUnit].map((name) => [name, `/etc/systemd/system/${name}`]));
/** A container of the shared pool that leaves its pod Guaranteed: so one pod has it and exclusive ones. */
const web: ContainerSpec = { ...shared(), cpuRequestMilli: 1500, cpuLimitMilli: 1500, memoryLimitBytes: 1 << 26 };

/**
 * The CRI proxy installed as a hardened service, as docs/cri-proxy.md says. It serves the socket that systemd holds.
 * Containers that are made through it are on their CPUs from the first instruction. Calls wait during a restart and
 * after SIGKILL, and no container moves.
 */
export const systemdProxy: Claim = {
  name: 'systemd CRI proxy',
  when: ({ name }) => name === '2x4x2-systemd',
  dependsOn: {
    traits: ['init'],
    because: 'systemd holds the socket, and confines the service.',
  },
  async run(context) {
    await context.endUsualDaemon();
    await installService(installed, {}, ['reconcile-period: 1s']);
    // As the real kubelet, it does not wait for a socket.
    const kubelet = new Kubelet(criSocket, context.runtime.facts);
    try {
      await systemctl('enable', '--now', socketUnit, unit);
      const held = await findHeldSocket();
      const { StatusText, Type } = await showUnit(unit, 'StatusText', 'Type');
      assert.deepEqual([StatusText, Type], ['containers are pinned', 'notify']);
      context.step('the proxy serves');

      const pod = await context.runPodThrough(kubelet, { containers: [web, pinned(2, 'db'), pinned(2, 'cache')] });
      const pool = await pod.startContainer('web');
      const db = await pod.startContainer('db');
      const own = await db.firstLine();
      assert.equal(parseCpuList(own).size, 2);
      const containers = [db, pool];
      await expectPinned(context, containers, pool);

      const { seen, samples } = await sampleCpus(db, async () => {
        context.step('restart');
        const [, cache] = await Promise.all([systemctl('restart', unit), pod.startContainer('cache')]);
        assert.equal(parseCpuList(await cache.firstLine()).size, 2);
        containers.push(cache);
        assert.equal(await findHeldSocket(), held);
        await expectPinned(context, containers, pool);
        context.step('SIGKILL');
        await kill(context);
        const killedMs = await timeOfAnswer(kubelet);
        assert.equal((await showUnit(unit, 'NRestarts')).NRestarts, '1');
        await expectPinned(context, containers, pool);
        context.note(`a call is answered ${killedMs} ms after SIGKILL`);
      });
      assert.deepEqual(seen, [own]);
      assert.deepEqual(listRefusals(await readJournal(unit)), []);
      const exposure = await readExposure(unit);
      assert.ok(exposure <= 3, `systemd-analyze security says ${exposure}`);
      context.note(`db on ${own} in all of ${samples} samples; exposure ${exposure}`);
    } catch (error) {
      console.log((await readJournal(unit)).slice(-100).join('\n'));
      throw error;
    } finally {
      kubelet.close();
      await systemctl('disable', '--now', socketUnit, unit);
      await uninstallService(Object.values(installed));
    }
  },
};

/**
 * The socket that the service serves, which is one of systemd's own. @returns its name in /proc, which no other socket
 * has
 */
async function findHeldSocket(): Promise<string> {
  const { ActiveState, MainPID } = await showUnit(unit, 'ActiveState', 'MainPID');
  assert.equal(ActiveState, 'active');
  const served = readlinkSync(`/proc/${MainPID}/fd/3`);
  assert.match(served, /^socket:/);
  const ofSystemd = readdirSync('/proc/1/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/1/fd/${fd}`)];
    } catch {
      return []; // just closed
    }
  });
  assert.ok(ofSystemd.includes(served), `systemd does not hold ${served}`);
  return served;
}

/** Exclusive containers have run on their CPUs from the first instruction, and are there alone. */
async function expectPinned(
  context: GuestContext,
  containers: readonly RunningContainer[],
  pool: RunningContainer,
): Promise<void> {
  let free = context.topology.online;
  for (const container of containers.filter((each) => each !== pool)) {
    const own = await container.firstLine();
    assert.ok(parseCpuList(own).isSubsetOf(free), `${own} of ${container.name} is not within ${free.toString()}`);
    assert.deepEqual([container.cpuset().effectiveCpus, ...context.masksOf(container)], [own, own]);
    free = free.minus(parseCpuList(own));
  }
  assert.deepEqual([pool.cpuset().effectiveCpus, ...context.masksOf(pool)], [free.toString(), free.toString()]);
  await context.untilAllKept(service, containers);
}

/** Kills the service, and waits until its process is gone: the kernel has closed its connections then. */
async function kill(context: GuestContext): Promise<void> {
  const { MainPID } = await showUnit(unit, 'MainPID');
  await systemctl('kill', '--signal=KILL', unit);
  await context.until('the process to be gone', () => !existsSync(`/proc/${MainPID}`));
}

/** A call has an answer although no process serves the socket when it begins. @returns the time that it took, in ms */
async function timeOfAnswer({ channel }: Kubelet): Promise<number> {
  const start = performance.now();
  const { runtimeName } = await channel.call(RuntimeServiceDefinition.methods.version, { version: 'v1' });
  assert.equal(runtimeName, 'containerd');
  return Math.round(performance.now() - start);
}
