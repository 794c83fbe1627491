import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { poll, type ShownStatus, waitUntil } from '../e2e/rig';
import {
  type ClusterNode,
  DaemonSetPod,
  importImage,
  kubeletWithoutReservation,
  onOneNode,
  startNode,
  topologyGroups,
} from './rig';

// The pod of deploy/daemonset.yaml with the rights that it has there, from the image of a release.

jest.setTimeout(600_000);
const everyMs = 200;
const options = [
  ...['--reserved-cpus=0', '--kubeconfig=in-cluster', '--node-resource-topology=both', '--kube-events=on'],
  ...['--node-condition=on', '--reconcile-period=1s', '--log-format=json'],
];

/** The kubelet itself would refuse the pods that do not fit beside the request of the pod. */
const noRequest = {
  initContainers: [{ name: 'check', resources: { requests: { cpu: '0' } } }],
  containers: [{ name: 'cpusetd', resources: { requests: { cpu: '0' } } }],
};

onOneNode(
  'the pod of deploy/daemonset.yaml',
  ({ suite }) => {
    let node: ClusterNode;
    let pod: DaemonSetPod;
    beforeAll(async () => {
      node = await startNode({ suite, mode: 'nri', cpusetd: 'none', kubelet: kubeletWithoutReservation });
      pod = new DaemonSetPod(node);
      await importImage(node);
      await pod.apply(options, noRequest);
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
      const guaranteed = await node.runPod({
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
      const { findings } = JSON.parse(await pod.log('check')) as {
        findings: { check: string; level: string; text: string }[];
      };
      const by = new Map(findings.map((each) => [each.check, each]));
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

    test('it sees the threads of other pods', async () => {
      const seen = await poll('an observation', async () => (await shown('db'))?.observation?.threads, 60_000, everyMs);
      expect(seen).toMatchObject({ looked: 1, narrower: 0 });
    });

    test('it publishes with the token of its pod: topology, condition, Events', async () => {
      await (await node.refusePod('refused')).delete();
      for (const group of topologyGroups) await poll(group, () => node.topology(group), 60_000, everyMs);
      const isReady = async () => (await node.condition('CpusetdReady'))?.status === 'True';
      await waitUntil('the condition', isReady, 60_000, { everyMs });
    });

    test('it reads the files of the kubelet: an alarm for a static policy', async () => {
      const file = join(node.runtime.work, 'kubelet/cpu_manager_state');
      writeFileSync(file, JSON.stringify({ policyName: 'static', defaultCpuSet: '0-1', checksum: 1 }));
      const kinds = async (): Promise<string[]> => (await status()).node.alarms.map(({ kind }) => kind);
      await waitUntil('the alarm', async () => (await kinds()).includes('kubelet-cpu-manager'), 60_000, { everyMs });
      rmSync(file);
      await waitUntil('its end', async () => !(await kinds()).includes('kubelet-cpu-manager'), 60_000, { everyMs });
    });

    test('a new pod of the DaemonSet, without hostPID: containers keep their CPUs, and no threads are seen', async () => {
      await pod.apply(options, { ...noRequest, hostPID: false });
      const db = await poll('the container', () => shown('db'), 60_000, everyMs);
      expect(db).toMatchObject({ placement: 'exclusive', promise: { cpus: '1' } });
      const observed = await poll('an observation', async () => (await shown('db'))?.observation, 60_000, everyMs);
      expect(observed).toMatchObject({ cpus: '1' });
      expect(observed.threads).toBeUndefined();
      await pod.exec('health', 'nri');
      await pod.exec('health', 'cri');
    });
  },
  ['release', 'sid', 'trixie'],
);
