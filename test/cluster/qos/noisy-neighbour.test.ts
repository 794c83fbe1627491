import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { findFreePort, waitUntil } from '../../e2e/rig';
import { joinCgroup } from '../../e2e/rig/cgroup-files';
import { askDaemon } from '../../e2e/rig/status';
import { type ClusterNode, type ClusterPod, onOneNode, startNode } from '../rig';
import { enforcing, noisy, Rule, untilQuota } from './rig';

// A service on the shared CPUs whose requests take long because a neighbour burns all CPU time; throttling the
// neighbour helps it. All is real: the latencies are those that the service measured itself. The image has no Node.js,
// so the service is a process of the test that was moved into the cgroup of the pod's container, in which the kernel
// schedules it like any process of the container.

/** Latencies that the service measured in one second. */
interface Latency {
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** Medians over some seconds. */
interface Measured extends Latency {
  /** Microseconds of a second in which the service was ready and had no CPU, as cpusetd measured it. */
  readonly waitUs: number;
}

const SECONDS = 6;
const METRIC = 'container_sched_run_queue_time';
/** The neighbour's request, below which its quota is never lowered, as a quota of each 100 ms. */
const REQUEST_US = 20_000;
const service = { name: 'main', requests: { cpu: '20m' } };
const burners = 'trap "exit 143" TERM; for i in 1 2 3 4; do while :; do :; done & done; wait';
const neighbour = { name: 'main', requests: { cpu: '200m' }, command: ['sh', '-c', burners] };

onOneNode('a noisy neighbour on shared CPUs', ({ suite, mode }) => {
  let node: ClusterNode;
  let metricsUrl: string;
  let rule: Rule | undefined;
  beforeAll(async () => {
    const address = `127.0.0.1:${await findFreePort()}`;
    metricsUrl = `http://${address}/metrics`;
    const args = [...enforcing.args, '--metrics-address', address];
    node = await startNode({ suite, mode, ...enforcing, args });
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

  const readWait = async (): Promise<number> => {
    const text = await (await fetch(metricsUrl)).text();
    const line = new RegExp(`^cpusetd_${METRIC}\\{.*pod="service",container="main".* ([0-9.e+-]+)$`, 'm').exec(text);
    if (!line) throw new Error(`the metrics have no ${METRIC} of the service`);
    return Number(line[1]);
  };

  /** Takes the figures of the next seconds, from the service and from cpusetd. */
  const measure = async (): Promise<Measured> => {
    const first = lines.length + 1; // the second under way began before
    const waits: number[] = [];
    for (let second = 1; second <= SECONDS; second++) {
      await waitUntil(`the service has measured ${second} s`, () => lines.length >= first + second);
      waits.push(await readWait());
    }
    const measured = lines.slice(first, first + SECONDS);
    return {
      medianMs: median(measured.map((l) => l.medianMs)),
      p99Ms: median(measured.map((l) => l.p99Ms)),
      waitUs: median(waits),
    };
  };

  test('its requests take long beside the neighbour, and are quick again when the neighbour is throttled', async () => {
    const pod = await node.runPod({ name: 'service', containers: [service] });
    await startService(pod);
    const before = await measure();
    const noise = await node.runPod({ name: 'neighbour', labels: noisy, containers: [neighbour] });
    const during = await measure();

    // In the middle: a service that waits for most of each second on a busy machine can't wait twice as long.
    const thresholdUs = Math.round((before.waitUs + during.waitUs) / 2);
    expect(thresholdUs).toBeGreaterThan(before.waitUs);
    rule = await Rule.create(node, {
      metric: METRIC,
      labels: { PodName: pod.name, PodNamespace: node.name },
      threshold: String(thresholdUs),
      restoreThreshold: 60, // so that it stays throttled while the service measures
      throttle: { minCPURatio: 5, stepCPURatio: 60 },
    });
    await untilQuota(noise, 'lowered', (us) => us > 0);
    // Throttled enough: the rule does not fire any more, or there is nothing left to take.
    let last: string | undefined;
    const isEnough = async (): Promise<boolean> =>
      (last = await ruleState()) === 'restoring' || (await noise.quotaUs('main')) === REQUEST_US;
    await waitUntil('the rule is calm or the quota is down to the request', isEnough, undefined, {
      everyMs: 500,
      seen: () => last,
    });
    const quotaUs = await noise.quotaUs('main');
    expect(quotaUs).toBeGreaterThanOrEqual(REQUEST_US);
    const after = await measure();
    await rule.delete();
    await untilQuota(noise, 'as before', (us) => us === -1);
    const undone = await measure();

    const show = (what: string, { medianMs, p99Ms, waitUs }: Measured): string =>
      `${what}: median ${medianMs.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms, waited ${Math.round(waitUs / 1000)} ms in a second`;
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
