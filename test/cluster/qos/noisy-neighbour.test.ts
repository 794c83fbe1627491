import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { waitUntil } from '../../e2e/rig';
import { joinCgroup } from '../../e2e/rig/cgroup-files';
import { askDaemon } from '../../e2e/rig/status';
import { type ClusterNode, type ClusterPod, onOneNode, startNode } from '../rig';
import { enforcing, noisy, Rule, untilQuota } from './rig';

// A service on the shared CPUs whose requests take long because a neighbour burns all CPU time; throttling the neighbour helps it. All is
// real: the latencies are those that the service measured itself. The image has no Node.js, so the service is a process of the test that was
// moved into the cgroup of the pod's container, in which the kernel schedules it like any process of the container.

/** What the service measured over some seconds. */
interface Latency {
  readonly medianMs: number;
  readonly p99Ms: number;
}

const SECONDS = 6;
const service = { name: 'main', requests: { cpu: '20m' } };
const burners = 'for i in 1 2 3 4; do while :; do :; done & done; wait';
const neighbour = { name: 'main', requests: { cpu: '200m' }, command: ['sh', '-c', burners] };

onOneNode('a noisy neighbour on shared CPUs', ({ suite, mode }) => {
  let node: ClusterNode;
  let rule: Rule | undefined;
  beforeAll(async () => {
    node = await startNode({ suite, mode, ...enforcing });
  });
  afterAll(async () => {
    await rule?.delete();
    await node?.stop();
  });

  let probe: ChildProcess | undefined;
  const lines: Latency[] = [];
  const startService = async (pod: ClusterPod): Promise<void> => {
    const started = spawn(process.execPath, [join(__dirname, 'latency-probe.mjs')], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    probe = started;
    joinCgroup(await pod.cgroup('main'), started.pid!);
    createInterface({ input: started.stdout }).on('line', (line) => lines.push(JSON.parse(line) as Latency));
  };
  afterAll(() => probe?.kill('SIGKILL'));

  const ruleState = async (): Promise<string | undefined> => {
    const shown = JSON.parse(await askDaemon(node.daemon, 'status', '-o', 'json')) as {
      node: { qos?: { rules: readonly { state: string }[] } };
    };
    return shown.node.qos?.rules[0]?.state;
  };

  /** The medians of what the service measures in the next seconds. */
  const measure = async (): Promise<Latency> => {
    const first = lines.length + 1; // the second under way began before
    await waitUntil(`the service has measured ${SECONDS} s`, () => lines.length >= first + SECONDS, 120_000);
    const measured = lines.slice(first, first + SECONDS);
    return { medianMs: median(measured.map((l) => l.medianMs)), p99Ms: median(measured.map((l) => l.p99Ms)) };
  };

  test('its requests take long beside the neighbour, and are quick again when the neighbour is throttled', async () => {
    const pod = await node.runPod({ name: 'service', containers: [service] });
    await startService(pod);
    const before = await measure();
    const noise = await node.runPod({ name: 'neighbour', labels: noisy, containers: [neighbour] });
    const during = await measure();

    rule = await Rule.create(node, {
      metric: 'container_sched_run_queue_time', // microseconds in each second in which it was ready and had no CPU
      labels: { PodName: pod.name, PodNamespace: node.name },
      threshold: '150000',
      restoreThreshold: 60, // so that it stays throttled while the service measures
      throttle: { minCPURatio: 5, stepCPURatio: 60 },
    });
    await untilQuota(noise, 'lowered', (us) => us > 0);
    // Throttled enough: the rule does not fire any more.
    const isCalm = async (): Promise<boolean> => (await ruleState()) === 'restoring';
    await waitUntil('the rule is not above its threshold', isCalm, 60_000, { everyMs: 500 });
    const quotaUs = await noise.quotaUs('main');
    expect(quotaUs).toBeGreaterThanOrEqual(20_000);
    const after = await measure();
    await rule.delete();
    await untilQuota(noise, 'as before', (us) => us === -1);
    const undone = await measure();

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
    expect(during.medianMs).toBeGreaterThan(2 * before.medianMs);
    expect(after.medianMs).toBeLessThan(during.medianMs / 2);
    expect(undone.medianMs).toBeGreaterThan(after.medianMs);
  });
});

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
