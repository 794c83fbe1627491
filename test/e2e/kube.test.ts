import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseCpuList } from '../../src/core/cpuset';
import { percentile } from '../support/percentile';
import { FakeApiServer, type Json } from '../support/kube/api-server';
import {
  askDaemon,
  type ContainerSpec,
  type Daemon,
  defineOnce,
  exclusiveList,
  lastCpu,
  type LogLine,
  onEachRuntime,
  onlineCpus,
  printMaskThenSleep,
  readQuotaUs,
  readStatus,
  type Runtime,
  type RunningContainer,
  type RunningPod,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

// containerd and the daemon are real; the API server is the fake one of test/support/kube, over real HTTP.
jest.setTimeout(300_000);

const PODS = '/api/v1/pods';
const EVENTS = '/api/v1/events';
const NODES = '/api/v1/nodes';
const TOPOLOGIES = '/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies';
const POLICY = 'topology.crane.io/cpu-policy';
const exclusive = { [POLICY]: 'exclusive' };
const none = { [POLICY]: 'none' };

const whole = (name: string): ContainerSpec => ({
  name,
  cpuRequestMilli: lastCpu * 1000,
  cpuLimitMilli: lastCpu * 1000,
  command: printMaskThenSleep,
});
const shared: ContainerSpec = { name: 'web', cpuRequestMilli: 100, command: printMaskThenSleep };

/** The NUMA nodes of these CPUs, as the kernel lists them. */
function nodesOf(first: number, last: number): string {
  const nodes = new Set<number>();
  for (let cpu = first; cpu <= last; cpu++)
    for (let node = 0; node < 64; node++)
      if (existsSync(`/sys/devices/system/cpu/cpu${cpu}/node${node}`)) nodes.add(node);
  return parseCpuList([...nodes].join(',') || '0').toString();
}

onEachRuntime('With an API server', (suite) => {
  let runtime: Runtime;
  let api: FakeApiServer;
  let daemon: Daemon;
  let folder: string;

  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
  });
  afterAll(() => runtime?.stop());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cpusetd-k-'));
    api = new FakeApiServer();
    await api.start();
    writeFileSync(join(folder, 'kubeconfig'), api.kubeconfig);
    api.put(NODES, { metadata: { name: 'n1', uid: 'uid-n1', labels: {} }, status: { conditions: [] } });
  });
  afterEach(async () => {
    await runtime.kubelet.removePods();
    await daemon?.dispose();
    await api.stop();
    rmSync(folder, { recursive: true });
  });

  const startWith = async (...args: readonly string[]): Promise<void> => {
    const identity = ['--kubeconfig', join(folder, 'kubeconfig'), '--node-name', 'n1'];
    daemon = startDaemon({ runtime, args: ['--pod-policies', 'all', ...identity, ...args] });
    await daemon.ready();
  };
  const start = (...args: readonly string[]): Promise<void> => startWith('--reserved-cpus', '0', ...args);
  const connected = (from = 0) => daemon.waitForLog('connected to the API server', { from });

  /** The pod as an object of the API server. */
  const objectOf = (
    pod: RunningPod,
    specs: readonly ContainerSpec[],
    annotations: Readonly<Record<string, string>>,
  ): Json => {
    const containers = specs.map(({ name, cpuRequestMilli = 0, cpuLimitMilli }) => {
      const cpu = `${cpuRequestMilli}m`;
      return { name, resources: { requests: { cpu }, limits: cpuLimitMilli ? { cpu } : {} } };
    });
    return {
      metadata: { name: pod.name, namespace: pod.namespace, uid: pod.uid, annotations },
      spec: { nodeName: 'n1', restartPolicy: 'Always', containers },
      status: { phase: 'Running', qosClass: pod.qos },
    };
  };
  const run = async (
    spec: ContainerSpec,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<{ pod: RunningPod; container: RunningContainer }> => {
    const pod = await runtime.kubelet.runPod({ annotations, containers: [spec] });
    api.put(PODS, objectOf(pod, [spec], annotations));
    return { pod, container: await pod.startContainer(spec.name) };
  };
  const cpusOf = (container: RunningContainer) => container.cpuset().cpus;

  defineOnce(suite, () => {
    test('labels of the Node that groups of the file ask for: known at the first start, followed, and remembered for a start without the API server', async () => {
      const label = (pool: string): void =>
        void api.put(NODES, { metadata: { name: 'n1', uid: 'uid-n1', labels: { pool } }, status: { conditions: [] } });
      const group = (pool: string, policy: string): string =>
        `- { name: ${pool}, match: { node-labels: { pool: ${pool} } }, options: { cpu-manager-policy: ${policy} } }\n`;
      const path = join(folder, 'cpusetd.yaml');
      writeFileSync(path, `reserved-cpus: 0\nnode-groups:\n${group('a', 'none')}${group('b', 'exclusive')}`);
      const policyAt = async (from: number): Promise<unknown> => {
        const { options } = await daemon.waitForLog('starting with these options', { from });
        return (options as Record<string, unknown>)['cpu-manager-policy'];
      };
      label('a');
      await startWith('--config', path);
      expect(await policyAt(0)).toBe('none');

      label('b');
      const isChange = ({ msg, changes }: LogLine) =>
        msg === 'settings changed' && JSON.stringify(changes).includes('"to":"exclusive"');
      await daemon.waitForLog(isChange);

      await daemon.kill();
      await api.stop();
      const from = daemon.mark();
      daemon.start();
      expect(await policyAt(from)).toBe('exclusive');
      await daemon.ready();
      expect((await readStatus(daemon)).node.alarms.map(({ kind }) => kind)).not.toContain('node-labels');
    });

    test('a changed annotation: a running container moves at once, with an Event and a new topology', async () => {
      await start('--kube-events', 'on', '--node-resource-topology', 'community');
      await connected();
      const web = await run(shared);
      const main = await run(whole('main'), none);
      await waitUntil(
        'both share',
        () => cpusOf(main.container) === onlineCpus && cpusOf(web.container) === onlineCpus,
      );
      const available = () =>
        (api.get(TOPOLOGIES, 'n1') as { zones: { resources: { available: string }[] }[] } | undefined)?.zones
          .map(({ resources }) => Number(resources[0]?.available))
          .reduce((sum, count) => sum + count, 0);
      await waitUntil('all is left', () => available() === lastCpu);

      const switchTo = async (policy: string, mains: string, webs: string): Promise<number> => {
        const begunMs = performance.now();
        api.put(PODS, objectOf(main.pod, [whole('main')], { [POLICY]: policy }));
        await waitUntil(policy, () => cpusOf(main.container) === mains && cpusOf(web.container) === webs);
        return performance.now() - begunMs;
      };
      const tookMs = [await switchTo('exclusive', exclusiveList, '0')];
      await waitUntil('nothing is left', () => available() === 0);
      await waitUntil('the event', () => api.listAll(EVENTS).length > 0);
      expect(api.listAll(EVENTS)).toMatchObject([
        {
          reason: 'CpuPolicySwitched',
          type: 'Normal',
          involvedObject: { kind: 'Pod', uid: main.pod.uid, name: main.pod.name },
        },
      ]);

      // Other load on the machine may delay one of ten; waiting for a period of cpusetd would delay more. The run of a
      // command is the unit: it takes longer on a busy machine too.
      const commandMs: number[] = [];
      for (let round = 0; round < 10; round++) {
        tookMs.push(await switchTo('none', onlineCpus, onlineCpus));
        tookMs.push(await switchTo('exclusive', exclusiveList, '0'));
        const begunMs = performance.now();
        await askDaemon(daemon, 'health');
        commandMs.push(performance.now() - begunMs);
      }
      expect(percentile(tookMs, 0.5)).toBeLessThan(100 + percentile(commandMs, 0.5));
      expect(percentile(tookMs, 0.9)).toBeLessThan(500 + 3 * percentile(commandMs, 0.9));
    });
  });

  test('a switch of policy changes quota and memory nodes, in the cgroup and in the record of the runtime', async () => {
    await start('--memory-nodes', 'follow');
    await connected();
    const { pod, container } = await run(whole('main'), none);
    const limitUs = lastCpu * 100_000;
    const podCgroup = dirname(container.cgroupPath);
    const quotas = () => [readQuotaUs(container.cgroupPath), readQuotaUs(podCgroup)];
    /** The runtime's record follows in the background; the runtime then writes all of it to the cgroup. */
    const recorded = (cpus: string) =>
      waitUntil(`the runtime to have written ${cpus}`, async () => {
        const { resources } = await container.status();
        return resources?.linux?.cpusetCpus === cpus;
      });
    const promise = async () => (await readStatus(daemon)).containers.find(({ id }) => id === container.id)?.promise;
    await waitUntil('it shares', () => cpusOf(container) === onlineCpus);
    expect(readQuotaUs(container.cgroupPath)).toBe(limitUs);
    expect((await promise())?.mems ?? '').toBe('');

    api.put(PODS, objectOf(pod, [whole('main')], exclusive));
    await waitUntil(
      'it is alone, without quotas',
      () => cpusOf(container) === exclusiveList && quotas().every((us) => us < 0),
    );
    expect(container.cpuset().mems).toBe(nodesOf(1, lastCpu));
    expect((await promise())?.mems).toBe(nodesOf(1, lastCpu));
    await recorded(exclusiveList);
    expect([cpusOf(container), ...quotas()]).toEqual([exclusiveList, -1, -1]);

    api.put(PODS, objectOf(pod, [whole('main')], none));
    const isBack = () => cpusOf(container) === onlineCpus && quotas().every((us) => us === limitUs);
    await waitUntil('it shares, with its quota and that of its pod', isBack);
    expect(container.cpuset().mems).toBe(nodesOf(0, lastCpu));
    await recorded(onlineCpus);
    expect([cpusOf(container), ...quotas()]).toEqual([onlineCpus, limitUs, limitUs]);
  });

  defineOnce(suite, () => {
    test('an API server that is away, or silent: no container is delayed', async () => {
      await api.stop();
      await start('--kube-events', 'on', '--node-resource-topology', 'both', '--node-condition', 'on');
      const timeCreation = async (name: string): Promise<number> => {
        const begunMs = performance.now();
        const { container, pod } = await run(whole(name), exclusive);
        expect(await container.firstLine()).toBe(exclusiveList);
        const tookMs = performance.now() - begunMs;
        await pod.remove();
        api.remove(PODS, objectOf(pod, [whole(name)], {})); // else its CPUs stay with it
        return tookMs;
      };
      /** The median: a slow disk delays few of them, and a wait of cpusetd would delay more than half. */
      const timeCreations = async (name: string): Promise<number> => {
        const tookMs: number[] = [];
        for (let n = 0; n < 7; n++) tookMs.push(await timeCreation(`${name}-${n}`));
        return percentile(tookMs, 0.5);
      };
      const awayMs = await timeCreations('away');
      api.trouble = () => ({ hang: true });
      await api.start();
      await waitUntil('it is asked', () => api.requests.length > 0);
      const silentMs = await timeCreations('silent');
      api.trouble = () => undefined;
      api.cutConnections();
      await connected();
      const thereMs = await timeCreations('there');
      // The shortest wait of cpusetd is its first pause before a retry: half a second.
      for (const tookMs of [awayMs, silentMs]) expect(tookMs).toBeLessThan(1.5 * thereMs + 250);
    });
  });

  test('a pod keeps its CPUs from its object until the end of it, also when its sandbox is made again and another pod wants them', async () => {
    await start();
    await connected();
    const shown = async () => {
      const { idle, node } = await readStatus(daemon);
      return [...idle.map(({ cpus, planned }) => `${cpus}${planned ? ' planned' : ''}`), `free ${node.free}`];
    };
    // The pod is bound, and the runtime does not know it yet, as while its image is pulled.
    const pod = await runtime.kubelet.runPod({ annotations: exclusive, containers: [whole('main')] });
    await pod.remove();
    api.put(PODS, objectOf(pod, [whole('main')], exclusive));
    await waitUntil(
      'it is planned',
      async () => (await shown()).join() === [`${exclusiveList} planned`, 'free '].join(),
    );

    const rival = await runtime.kubelet.runPod({ annotations: exclusive, containers: [whole('rival')] });
    const rivalIsRefused = () => expect(rival.startContainer('rival')).rejects.toThrow(/0 can be given now/);
    await rivalIsRefused();
    let made = await pod.inNewSandbox();
    expect(await (await made.startContainer('main')).firstLine()).toBe(exclusiveList);
    for (const end of [() => made.stop(), () => made.remove()]) {
      await end();
      await rivalIsRefused();
      made = await made.inNewSandbox();
      expect(await (await made.startContainer('main')).firstLine()).toBe(exclusiveList);
    }
    await made.remove();
    await rivalIsRefused();
    expect(await shown()).toEqual([exclusiveList, 'free ']);
    api.remove(PODS, objectOf(made, [whole('main')], exclusive));
    await waitUntil('it is gone', async () => (await shown()).join() === `free ${exclusiveList}`);
    expect(await (await rival.startContainer('rival')).firstLine()).toBe(exclusiveList);
  });

  defineOnce(suite, () => {
    test('a restart without API server and sandbox: CPUs of pods are kept until the API server is back', async () => {
      await start();
      await connected();
      const [staying, rival] = [await run(whole('main'), exclusive), whole('rival')];
      const late = await runtime.kubelet.runPod({ annotations: exclusive, containers: [rival] });
      await daemon.stop();
      await staying.pod.remove();
      await api.stop();
      daemon.start();
      await daemon.ready();
      await expect(late.startContainer('rival')).rejects.toThrow(
        /1 CPU is kept for pods from before the start.*--kubeconfig/,
      );
      const from = daemon.mark();
      await api.start();
      await connected(from);
      await expect(late.startContainer('rival')).rejects.toThrow(/0 can be given now/);
      const made = await staying.pod.inNewSandbox();
      expect(await (await made.startContainer('main')).firstLine()).toBe(exclusiveList);
    });

    test('containers of a pod that do not fit together: all are refused, in any order', async () => {
      await start();
      await connected();
      const [a, b] = [whole('a'), whole('b')];
      const pod = await runtime.kubelet.runPod({ annotations: exclusive, containers: [a, b] });
      api.put(PODS, objectOf(pod, [a, b], exclusive));
      await waitUntil('the pod is known', async () => (await readStatus(daemon)).node.kube?.pods === 1);
      for (const name of ['a', 'b', 'a'])
        await expect(pod.startContainer(name)).rejects.toThrow(
          /container b of this one does not fit beside the others/,
        );
      const { container } = await run(whole('other'), exclusive);
      expect(await container.firstLine()).toBe(exclusiveList);
    });

    test('a refusal and a repair: the pods have Events, and the Node has its condition', async () => {
      await start('--kube-events', 'on', '--node-condition', 'on');
      await connected();
      const { container, pod } = await run(whole('main'), exclusive);
      const late = await runtime.kubelet.runPod({ annotations: exclusive, containers: [whole('late')] });
      for (let tries = 0; tries < 3; tries++)
        await expect(late.startContainer('late')).rejects.toThrow(/exclusive CPU/);
      container.writeCpuset('0');
      await waitUntil('repaired', () => cpusOf(container) === exclusiveList);
      const events = () =>
        api.listAll(EVENTS).map((event) => {
          const {
            reason,
            count: times,
            involvedObject,
          } = event as { reason: string; count: number; involvedObject: { uid: string } };
          return `${reason} ${times} ${involvedObject.uid === pod.uid ? 'main' : involvedObject.uid === late.uid ? 'late' : '?'}`;
        });
      await waitUntil(
        'all three Events',
        () => events().length === 3 && events().some((event) => event.endsWith('3 late')),
      );
      expect(events().sort()).toEqual(['CpusRefused 3 late', 'CpusetDrifted 1 main', 'CpusetRepaired 1 main']);
      await waitUntil('the condition', () => JSON.stringify(api.get(NODES, 'n1')).includes('"Pinning"'));
      expect(api.get(NODES, 'n1')).toMatchObject({
        status: { conditions: [{ type: 'CpusetdReady', status: 'True', reason: 'Pinning' }] },
      });
    });

    test('reserved CPUs in configz of the kubelet: they are used, saved, and compared at the next start', async () => {
      api.put('configz', {
        metadata: { name: 'n1' },
        kubeletconfig: { cpuManagerPolicy: 'none', kubeReserved: { cpu: '500m' }, systemReserved: { cpu: '200m' } },
      });
      await startWith('--kubelet-config', 'configz');
      await waitUntil('it to be remembered', () => existsSync(join(daemon.stateDir, 'kubelet-config.json')));
      const { container } = await run(whole('main'), exclusive);
      expect(await container.firstLine()).toBe(exclusiveList);
      api.put('configz', {
        metadata: { name: 'n1' },
        kubeletconfig: { cpuManagerPolicy: 'static', reservedSystemCPUs: '0' },
      });
      await daemon.stop();
      const from = daemon.mark();
      daemon.start();
      const alarm = await daemon.waitForLog((line) => line['alarm'] === 'kubelet-cpu-manager', { from });
      expect(alarm['because']).toMatch(/cpuManagerPolicy: static/);
    });
  });
});
