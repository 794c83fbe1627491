import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onlineCpus, readStatus, waitUntil } from '../e2e/rig';
import {
  type ClusterNode,
  type ClusterPod,
  exclusiveCpu,
  kubeletOfTwoCpus,
  oneCpu,
  onEachNode,
  startNode,
  waitForSigterm,
} from './rig';

// A cpusetd that knows no API server: it has the kubelet's requests to the runtime, and nothing else.

const amounts = { cpu: '1', memory: '128Mi' };
const asAWhole = { resources: { requests: amounts, limits: amounts } };

const matrix = {
  dependsOn: 'mode',
  because:
    'A plugin gets the sums of a pod with its sandbox; a proxy gets them with each creation, and not in lists after a restart.',
} as const;

onEachNode('without an API server', matrix, ({ suite, mode }) => {
  let node: ClusterNode;
  beforeAll(async () => {
    node = await startNode({ suite, mode, kubeconfig: 'none', kubelet: kubeletOfTwoCpus });
  });
  afterAll(() => node?.stop());
  afterEach(() => node.deletePods());

  /** Waits until the verdict on each container of the pod is `kept`, and it is placed so. */
  const placed = async (pod: ClusterPod, wanted: Readonly<Record<string, string>>): Promise<void> => {
    let last: readonly string[] = [];
    const expected = Object.entries(wanted).map(([name, placement]) => `${name} ${placement} kept`);
    const isSo = async (): Promise<boolean> => {
      const { containers } = await readStatus(node.daemon);
      const shown = containers.filter(({ podUid, pause }) => podUid === pod.uid && !pause);
      last = shown.map(({ container, placement, verdict }) => `${container} ${placement} ${verdict.kind}`).sort();
      return last.join() === expected.join();
    };
    await waitUntil(expected.join(), isSo, undefined, { seen: () => last });
  };
  /** Uids of pods that are known to have resources as a whole, on disk. */
  const known = (): readonly string[] => {
    const state = readFileSync(join(node.daemon.stateDir, 'state.json'), 'utf8');
    const { podLevel = [] } = JSON.parse(state) as { podLevel?: { podUid: string }[] };
    return podLevel.map(({ podUid }) => podUid);
  };

  test('a pod with resources as a whole: its containers share as soon as two run, also after a restart of cpusetd, and their CPU is free', async () => {
    const side = { name: 'side', command: ['sh', '-c', waitForSigterm] };
    const pod = await node.runPod({ containers: [{ ...side, name: 'main' }, side], spec: asAWhole });
    const expectShared = async (): Promise<void> => {
      await placed(pod, { main: 'shared', side: 'shared' });
      for (const name of ['main', 'side']) {
        expect(await pod.masks(name)).toEqual([onlineCpus]);
        await waitUntil(`${name} has its quota`, async () => (await pod.quotaUs(name)) === 100_000);
      }
      expect(known()).toContain(pod.uid);
    };
    await expectShared();
    await node.restart('cpusetd');
    await expectShared();
    await pod.killProcesses('main');
    await waitUntil('main runs again', async () => (await pod.container('main')).restartCount > 0);
    await expectShared();

    const other = await node.runPod({ name: 'other', containers: [oneCpu] });
    await placed(other, { main: 'exclusive' });
    expect(await other.masks('main')).toEqual([exclusiveCpu]);
  });

  test('a pod whose init container asks for as much as the whole pod is none: its app container has the CPU', async () => {
    const init = { ...oneCpu, name: 'init', command: ['true'] };
    const pod = await node.runPod({ initContainers: [init], containers: [oneCpu] });
    await placed(pod, { main: 'exclusive' });
    expect(await pod.firstLine('main')).toBe(exclusiveCpu);
    expect(known()).not.toContain(pod.uid);
  });
});
