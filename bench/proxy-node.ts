import { type Kubelet, type RunningPod, startDaemon, startRuntime } from '../test/e2e/rig';

const CONTAINERS = 100;
/** So many are created at once while the node is filled. */
const AT_ONCE = 8;

export interface BenchNode {
  /** The runtime's own socket, and the proxy's. */
  readonly direct: string;
  readonly ours: string;
  /** Of the daemon. */
  readonly pid: number;
  timeCreations(count: number): Promise<{ ours: number[]; direct: number[] }>;
  close(): Promise<void>;
}

/**
 * A containerd 1.7 of its own with 100 containers, and the built daemon before it as a CRI proxy. NRI is off, CPU 0
 * reserved.
 */
export async function openNode(): Promise<BenchNode> {
  const runtime = await startRuntime({ suite: 'trixie', nri: false });
  // Creations past the proxy are part of the bench; reconciliation shall not look for them meanwhile.
  const args = ['--mode', 'cri-proxy', '--reserved-cpus', '0', '--reconcile-period', '1h'];
  const daemon = startDaemon({ runtime, args });
  const pods: RunningPod[] = [];
  const close = async (): Promise<void> => {
    for (const pod of pods.reverse()) await pod.remove();
    await daemon.dispose();
    await runtime.stop();
  };
  try {
    await daemon.waitForLog('the CRI proxy listens', { deadlineMs: 60_000 });
    const kubelet = runtime.kubeletAt(daemon.criListen);
    pods.push(await fill(kubelet));
    return {
      direct: runtime.criSocket,
      ours: daemon.criListen,
      pid: daemon.pid,
      timeCreations: (count) => timeCreations(count, { ours: kubelet, direct: runtime.kubelet }, pods),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function fill(kubelet: Kubelet): Promise<RunningPod> {
  const containers = Array.from({ length: CONTAINERS }, (_, n) => ({ name: `web-${n}`, cpuRequestMilli: 10 }));
  const pod = await kubelet.runPod({ containers });
  const names = containers.map(({ name }) => name).values();
  const work = async (): Promise<void> => {
    for (const name of names) await pod.createContainer(name);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return pod;
}

/** Creations of shared containers, through the proxy and past it in turns, each in a pod of its way. */
async function timeCreations(
  count: number,
  kubelets: { readonly ours: Kubelet; readonly direct: Kubelet },
  pods: RunningPod[],
): Promise<{ ours: number[]; direct: number[] }> {
  const times = { ours: [] as number[], direct: [] as number[] };
  const spec = { containers: [{ name: 'main', cpuRequestMilli: 10 }] };
  const made = { ours: await kubelets.ours.runPod(spec), direct: await kubelets.direct.runPod(spec) };
  pods.push(made.ours, made.direct);
  for (let n = -5; n < count; n++) {
    for (const way of ['direct', 'ours'] as const) {
      const from = performance.now();
      const container = await made[way].createContainer('main');
      if (n >= 0) times[way].push(performance.now() - from);
      await container.remove();
    }
  }
  return times;
}
