import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { projectRoot } from '../e2e/rig/project-root';
import { poll, type ShownStatus, waitUntil } from '../e2e/rig';
import {
  buildImage,
  type ClusterNode,
  type ClusterPod,
  DaemonSetPod,
  importImage,
  kubectl,
  kubeletWithoutReservation,
  onOneNode,
  reservedCpus,
  startNode,
  topologyGroups,
} from './rig';
import { defineTestsOfKubectl } from './daemonset/kubectl-cpuset';

// The pods of deploy/overlays with the rights that they have there, from the image of a release.

jest.setTimeout(600_000);
const everyMs = 200;
const leastRestMs = 10_000;
const options = 'reserved-cpus: 0\nreconcile-period: 1s\n';
const published = 'node-resource-topology: both\n';

/** The kubelet itself would refuse the pods that do not fit beside the request of the pod. */
const request = { requests: { cpu: '0' } };
const patch = {
  terminationGracePeriodSeconds: 5,
  initContainers: [{ name: 'check', args: ['check', '--report-only', '-o', 'json'], resources: request }],
  containers: [{ name: 'cpusetd', resources: request }],
};
/** The patch, with further fields of the container of cpusetd. */
const withFields = (fields: object): object => ({
  ...patch,
  containers: [{ name: 'cpusetd', resources: request, ...fields }],
});

let folder: string;
let built: Promise<string> | undefined;
/** The archive of the image, built once for all nodes. */
const image = (): Promise<string> => (built ??= buildImage(folder));
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'cpusetd-image-'))));
afterAll(() => rmSync(folder, { recursive: true }));

onOneNode(
  'the pod of deploy/overlays/nri-api',
  ({ suite }) => {
    let node: ClusterNode;
    let pod: DaemonSetPod;
    let guaranteed: ClusterPod;
    beforeAll(async () => {
      node = await startNode({ suite, mode: 'nri', cpusetd: 'none', kubelet: kubeletWithoutReservation });
      pod = new DaemonSetPod(node);
      await importImage(node, await image());
      await pod.run({ overlay: 'nri-api', options: `${options}${published}`, patch });
    });
    afterAll(async () => {
      await pod?.remove();
      await node?.stop();
    });

    const status = async (): Promise<ShownStatus> => JSON.parse(await pod.exec('status', '-o', 'json')) as ShownStatus;
    const shown = async (name: string) => {
      const { containers } = await status();
      return containers.find(({ container, pause }) => container === name && pause !== true);
    };

    test('a Guaranteed pod gets its CPU alone, without a quota; a drift is repaired', async () => {
      const shared = await node.runPod({ name: 'shared', containers: [{ name: 'web' }] });
      guaranteed = await node.runPod({
        name: 'guaranteed',
        containers: [{ name: 'db', cpu: 1, memory: '32Mi' }],
      });
      expect(await guaranteed.firstLine('db')).toBe('1');
      expect(await guaranteed.masks('db')).toEqual(['1']);
      expect(await shared.masks('web')).toEqual(['0']);
      expect(await guaranteed.quotaUs('db')).toBe(-1);
      await guaranteed.writeCpuset('db', '0-1');
      await waitUntil('the drift is repaired', async () => (await guaranteed.cpuset('db')).cpus === '1');
      expect(await pod.log()).not.toContain('cgroups are not written directly');
    });

    test('the check that ran before it sees what it needs, with the rights of its container', async () => {
      const by = await readFindings(pod);
      for (const name of [
        'options',
        'cri',
        'runtime',
        'nri',
        'kubelet',
        'machine',
        'cgroup',
        'managers',
        'state',
        'programs',
      ])
        expect(by.get(name)).toMatchObject({ check: name, level: 'ok' });
      expect(by.get('state-dir')!.level).not.toBe('error');
      expect(by.get('runtime')!.text).toContain('containerd');
    });

    test('its own container, which starts without it, is none that it missed', async () => {
      const { gap } = (await status()).node;
      expect(gap?.to).toBeDefined();
      expect(gap?.names.filter((name) => name.startsWith('cpusetd/'))).toEqual([]);
    });

    test('it sees the threads of other pods', async () => {
      const seen = await poll(
        'an observation',
        async () => (await shown('db'))?.observation?.threads,
        undefined,
        everyMs,
      );
      expect(seen).toMatchObject({ looked: 1, narrower: 0 });
    });

    test('it publishes with the token of its pod: topology, condition, Events', async () => {
      await (await node.refusePod('refused')).delete();
      for (const group of topologyGroups) await poll(group, () => node.topology(group), undefined, everyMs);
      const isReady = async () => (await node.condition('CpusetdReady'))?.status === 'True';
      await waitUntil('the condition', isReady, undefined, { everyMs });
    });

    test('it reads the files of the kubelet: an alarm for a static policy', async () => {
      const file = join(node.runtime.work, 'kubelet/cpu_manager_state');
      writeFileSync(file, JSON.stringify({ policyName: 'static', defaultCpuSet: '0-1', checksum: 1 }));
      const kinds = async (): Promise<string[]> => (await status()).node.alarms.map(({ kind }) => kind);
      await waitUntil('the alarm', async () => (await kinds()).includes('kubelet-cpu-manager'), undefined, { everyMs });
      rmSync(file);
      await waitUntil('its end', async () => !(await kinds()).includes('kubelet-cpu-manager'), undefined, { everyMs });
    });

    test('it is ready by the probe of its health over TCP, has not restarted, and commands in it read its options', async () => {
      expect(await pod.container()).toMatchObject({ ready: true, restartCount: 0 });
      const { containers } = (await pod.pod()).spec;
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
        expect(containers[0]).toMatchObject({ [probe]: { grpc: { port: 14708 } } });
      expect(await pod.exec('config', 'explain', '-o', 'json')).toContain('/etc/cpusetd/cpusetd.yaml');
    });

    test('at rest, probes included, it needs less CPU time than deploy requests and than probes by exec would need alone', async () => {
      const [, milliCpu] = /requests: \{ cpu: (\d+)m/.exec(readDaemonSet()) ?? [];
      const cgroup = await pod.cgroup();
      const began = performance.now();
      const restMs = await measureCpuMs(cgroup, () => sleep(leastRestMs));
      const restSeconds = (performance.now() - began) / 1_000;
      const execMs = await measureCpuMs(cgroup, () => pod.exec('health', 'nri'));
      process.stderr.write(
        `CPU time: at rest ${restMs} ms in ${restSeconds.toFixed(1)} s, a probe by exec ${execMs} ms\n`,
      );
      expect(restMs).toBeGreaterThan(0);
      expect(restMs / restSeconds).toBeLessThan(Number(milliCpu));
      const probesPerSecond = 1 / 5 + 1 / 10; // ready, alive
      expect(restMs / restSeconds).toBeLessThan(execMs * probesPerSecond);
    });

    test('a change of the ConfigMap is in force without a restart', async () => {
      const { metadata } = await pod.pod();
      await pod.apply({ overlay: 'nri-api', options: `${options}${published}journal-age: 24h\n`, patch });
      // The kubelet brings the file at its next look at the pod; an annotation makes it look now.
      await kubectl('annotate', 'pod', metadata.name, '--namespace', metadata.namespace, 'test/look=now');
      const line = await poll(
        'the line of the log',
        async () => (await pod.log()).split('\n').find((each) => each.includes('"msg":"settings changed"')),
        undefined,
        everyMs,
      );
      expect(line).toContain('journal-age');
      expect(await pod.container()).toMatchObject({ ready: true, restartCount: 0 });
      expect((await pod.pod()).metadata.uid).toBe(metadata.uid);
    });

    test('without a runtime it is alive and not ready: it is not restarted', async () => {
      const env = [{ name: 'CPUSETD_NRI_SOCKET', value: '/var/run/nri/none.sock' }];
      const livenessProbe = { periodSeconds: 1, failureThreshold: 2 };
      await pod.apply({ overlay: 'nri', options, patch: withFields({ env, livenessProbe }) });
      const refusals = await poll(
        'a probe that fails',
        async () => {
          const messages = await pod.events('Unhealthy').catch(() => []);
          return messages.some((message) => message.includes('NOT_SERVING')) ? messages : undefined;
        },
        undefined,
        everyMs,
      );
      expect(refusals.join('\n')).toContain('Readiness probe failed: service unhealthy (responded with "NOT_SERVING")');
      const before = await pod.countLivenessProbes('successful');
      await waitUntil(
        'it is found alive five times more',
        async () => (await pod.countLivenessProbes('successful')) >= before + 5,
        undefined,
        { everyMs },
      );
      expect(await pod.countLivenessProbes('failed')).toBe(0);
      expect(await pod.container()).toMatchObject({ ready: false, started: true, restartCount: 0 });
    });

    test('with a probe of a port where nobody listens it is not ready', async () => {
      await pod.apply({ overlay: 'nri', options, patch: withFields({ readinessProbe: { grpc: { port: 14799 } } }) });
      const refused = await poll(
        'a probe that fails',
        async () => {
          const messages = await pod.events('Unhealthy').catch(() => []);
          return messages.find((message) => message.includes('14799'));
        },
        undefined,
        everyMs,
      );
      expect(refused).toMatch(/^Readiness probe failed: .*connect/);
      expect(await pod.exec('health', 'nri')).toContain('SERVING');
      expect(await pod.container()).toMatchObject({ ready: false, restartCount: 0 });
    });

    test('the pod of deploy/overlays/unprivileged: containers keep their CPUs, a drift is repaired, and no threads are seen', async () => {
      await pod.run({ overlay: 'unprivileged', options, patch });
      const db = await poll('the container', () => shown('db'), undefined, everyMs);
      expect(db).toMatchObject({ placement: 'exclusive', promise: { cpus: '1' } });
      const observed = await poll('an observation', async () => (await shown('db'))?.observation, undefined, everyMs);
      expect(observed).toMatchObject({ cpus: '1' });
      expect(observed.threads).toBeUndefined();
      await guaranteed.writeCpuset('db', '0-1');
      await waitUntil('the drift is repaired', async () => (await guaranteed.cpuset('db')).cpus === '1');
      await pod.exec('health', 'nri');
      await expect(pod.exec('health', 'cri')).rejects.toThrow(/exit code 1/);
    });
  },
  ['release', 'sid', 'trixie'],
);

onOneNode(
  'the pod of deploy/overlays/cri-proxy beside the proxy as a service of the host',
  ({ suite }) => {
    let node: ClusterNode;
    let pod: DaemonSetPod;
    beforeAll(async () => {
      const args = ['--reserved-cpus', reservedCpus, '--health-address', '0.0.0.0:14708'];
      node = await startNode({ suite, mode: 'cri-proxy', args });
      pod = new DaemonSetPod(node);
      await importImage(node, await image());
      // Deployed with a period of five seconds.
      await pod.run({
        overlay: 'cri-proxy',
        patch: { containers: [{ name: 'cpusetd', readinessProbe: { periodSeconds: 1 } }] },
      });
    });
    afterAll(async () => {
      await pod?.remove();
      await node?.stop();
    });

    test('it is ready while the service is, and does not restart with it', async () => {
      expect(await pod.container()).toMatchObject({ ready: true, restartCount: 0 });
      await node.kill('cpusetd');
      await waitUntil('it is not ready', async () => !(await pod.container()).ready, undefined, { everyMs });
      expect((await pod.events('Unhealthy')).join('\n')).toMatch(/Readiness probe failed: .*14708/);
      await node.start('cpusetd');
      await waitUntil('it is ready again', async () => (await pod.container()).ready, undefined, { everyMs });
      expect(await pod.container()).toMatchObject({ restartCount: 0 });
    });
  },
  ['release', 'sid', 'trixie'],
);

onOneNode(
  'the pod of deploy/overlays/nri with deploy/components/crio',
  ({ suite }) => {
    let node: ClusterNode;
    let pod: DaemonSetPod;
    beforeAll(async () => {
      node = await startNode({ suite, mode: 'nri', cpusetd: 'none', kubelet: kubeletWithoutReservation });
      pod = new DaemonSetPod(node);
      await importImage(node, await image());
      await pod.run({ overlay: 'nri', components: ['crio'], options, patch });
    });
    afterAll(async () => {
      await pod?.remove();
      await node?.stop();
    });

    test('a Guaranteed pod gets its CPU alone; a drift is repaired; the check found CRI-O', async () => {
      const guaranteed = await node.runPod({ containers: [{ name: 'db', cpu: 1, memory: '32Mi' }] });
      expect(await guaranteed.firstLine('db')).toBe('1');
      await guaranteed.writeCpuset('db', '0-1');
      await waitUntil('the drift is repaired', async () => (await guaranteed.cpuset('db')).cpus === '1');
      const findings = await readFindings(pod);
      expect(findings.get('runtime')!.text).toContain('cri-o');
      for (const name of ['options', 'cri', 'nri', 'cgroup', 'state'])
        expect(findings.get(name)).toMatchObject({ level: 'ok' });
      expect(await pod.exec('health', 'nri')).toContain('SERVING');
    });
  },
  ['crio'],
);

// There is one DaemonSet: another file would wait until this one has ended.
defineTestsOfKubectl(image);

interface Finding {
  readonly check: string;
  readonly level: string;
  readonly text: string;
}

/** The findings of the container `check`, by check. It ran before cpusetd. */
async function readFindings(pod: DaemonSetPod): Promise<Map<string, Finding>> {
  const { findings } = JSON.parse(await pod.log('check')) as { findings: Finding[] };
  return new Map(findings.map((each) => [each.check, each]));
}

const readDaemonSet = (): string => readFileSync(join(projectRoot(), 'deploy/base/daemonset.yaml'), 'utf8');

/** The CPU time that the processes of a cgroup take meanwhile. */
async function measureCpuMs(cgroup: string, act: () => Promise<unknown>): Promise<number> {
  const before = readCpuMs(cgroup);
  await act();
  return Math.round(readCpuMs(cgroup) - before);
}

/** The CPU time of all processes that were in a cgroup. */
function readCpuMs(cgroup: string): number {
  const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
  if (!isV2) return Number(readFileSync(join('/sys/fs/cgroup/cpuacct', cgroup, 'cpuacct.usage'), 'utf8')) / 1e6;
  const stat = readFileSync(join('/sys/fs/cgroup', cgroup, 'cpu.stat'), 'utf8');
  return Number(/^usage_usec (\d+)$/m.exec(stat)![1]) / 1e3;
}
