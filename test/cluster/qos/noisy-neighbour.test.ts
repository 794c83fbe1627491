import { join } from 'node:path';
import { waitUntil } from '../../e2e/rig';
import { type ClusterNode, type ClusterPod, kubeletWithoutReservation, onOneNode, startNode } from '../rig';
import { collecting, noisy, Rule, untilQuota } from './rig';

// A service on the shared CPUs whose requests take long because a neighbour burns all CPU time; throttling the neighbour helps it. All is
// real: the latencies are those that the service measured itself.

/** What the service measured over some seconds. */
interface Latency {
  readonly medianMs: number;
  readonly p99Ms: number;
}

const SECONDS = 6;
/** It runs with the Node.js of the host, which the image does not have. */
const service = {
  name: 'main',
  requests: { cpu: '20m' },
  command: ['chroot', '/host', process.execPath, join(__dirname, 'latency-probe.mjs')],
  more: { volumeMounts: [{ name: 'host', mountPath: '/host', readOnly: true }] },
};
const ofHost = { volumes: [{ name: 'host', hostPath: { path: '/' } }] };
const burners = 'for i in 1 2 3 4; do while :; do :; done & done; wait';
const neighbour = { name: 'main', requests: { cpu: '200m' }, command: ['sh', '-c', burners] };

onOneNode('a noisy neighbour on shared CPUs', ({ suite, mode }) => {
  let node: ClusterNode;
  let rule: Rule | undefined;
  beforeAll(async () => {
    node = await startNode({
      suite,
      mode,
      kubelet: kubeletWithoutReservation,
      args: [...collecting, '--qos-actions', 'enforce'],
    });
  });
  afterAll(async () => {
    await rule?.delete();
    await node?.stop();
  });

  /** The medians of what the service prints over the next seconds. */
  const measure = async (pod: ClusterPod): Promise<Latency> => {
    let last: string[] = [];
    const before = (await pod.log('main')).length;
    const read = async (): Promise<string[]> => (last = await pod.log('main')).slice(before + 1);
    await waitUntil(`the service has measured ${SECONDS} s`, async () => (await read()).length >= SECONDS, 120_000, {
      everyMs: 500,
      seen: () => last,
    });
    const lines = (await read()).slice(0, SECONDS).map((line) => JSON.parse(line) as Latency);
    return { medianMs: median(lines.map((l) => l.medianMs)), p99Ms: median(lines.map((l) => l.p99Ms)) };
  };

  test('its requests take long beside the neighbour, and are quick again when the neighbour is throttled', async () => {
    const probe = await node.runPod({ name: 'service', containers: [service], spec: ofHost });
    const before = await measure(probe);
    const noise = await node.runPod({ name: 'neighbour', labels: noisy, containers: [neighbour] });
    const during = await measure(probe);

    rule = await Rule.create(node, {
      metric: 'container_sched_run_queue_time', // microseconds in each second in which it was ready and had no CPU
      labels: { PodName: probe.name, PodNamespace: node.name },
      threshold: '150000',
      restoreThreshold: 60, // so that it stays throttled while the service measures
      throttle: { minCPURatio: 5, stepCPURatio: 60 },
    });
    const quotaUs = await untilQuota(noise, 'that of its request', (us) => us >= 20_000 && us <= 20_200, 60_000);
    const after = await measure(probe);
    await rule.delete();
    await untilQuota(noise, 'as before', (us) => us === -1);
    const undone = await measure(probe);

    const show = (what: string, { medianMs, p99Ms }: Latency): string =>
      `${what}: median ${medianMs.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`;
    console.info(
      [
        show('alone', before),
        show('beside the neighbour', during),
        show(`neighbour throttled to ${quotaUs / 1000} ms in each 100 ms`, after),
        show('throttling undone', undone),
      ].join('\n'),
    );
    expect(during.medianMs).toBeGreaterThan(3 * before.medianMs);
    expect(after.medianMs).toBeLessThan(during.medianMs / 3);
    expect(undone.medianMs).toBeGreaterThan(after.medianMs);
  });
});

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
