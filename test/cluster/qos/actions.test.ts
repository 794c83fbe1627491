import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '../../e2e/rig';
import { askDaemon } from '../../e2e/rig/status';
import { type ClusterNode, kubeApi, kubeletWithoutReservation, onOneNode, startNode } from '../rig';
import {
  always,
  burner,
  collecting,
  isTainted,
  nodeEvents,
  noisy,
  OptionsFile,
  podEvents,
  readMemory,
  Rule,
  type RuleOfTest,
  taintsOf,
  untilQuota,
} from './rig';

onOneNode('actions of NodeQOS rules', ({ suite, mode }) => {
  let node: ClusterNode;
  let options: OptionsFile;
  const rules: Rule[] = [];
  const follow = async (rule: RuleOfTest): Promise<Rule> => {
    const made = await Rule.create(node, rule);
    rules.push(made);
    return made;
  };
  beforeAll(async () => {
    options = new OptionsFile('qos-actions: enforce\n');
    node = await startNode({
      suite,
      mode,
      kubelet: kubeletWithoutReservation,
      args: [...collecting, '--config', options.path],
    });
  });
  afterAll(async () => {
    await node?.stop();
    options?.remove();
  });
  afterEach(async () => {
    for (const rule of rules.splice(0)) await rule.delete();
    options.change('qos-actions: enforce\n');
    await node.deletePods();
  });

  test('the kill switch: qos-actions off in the file of options undoes all at once, and nothing follows', async () => {
    const pod = await node.runPod({ labels: noisy, containers: [burner] });
    await follow(always(pod));
    await untilQuota(pod, 'lowered', (us) => us > 0);
    await waitUntil('the Node is tainted', () => isTainted(node));

    await waitUntil('the owner of the pod is told', async () => (await podEvents(pod, 'CpuThrottled')).length > 0);
    expect((await podEvents(pod, 'CpuThrottled')).map(({ message }) => message)).toEqual([
      expect.stringMatching(/^.*\/rule: container_cpu_total_usage is .*; quota from none to \d+ us/),
    ]);

    const changedAt = performance.now();
    options.change('qos-actions: off\n');
    await untilQuota(pod, 'as before', (us) => us === -1);
    await waitUntil('the Node has no taint', async () => !(await isTainted(node)));
    console.info(`[${suite}, ${mode}] undone ${Math.round(performance.now() - changedAt)} ms after the file changed`);
    // Three more rounds: the rule would fire in each.
    await roundsPass(3);
    expect(await pod.quotaUs('main')).toBe(-1);
    expect(await isTainted(node)).toBe(false);
  });

  /** Waits until the node was measured so many times more. */
  const roundsPass = async (count: number): Promise<void> => {
    const measuredAt = async (): Promise<string> =>
      (JSON.parse(await askDaemon(node.daemon, 'status', '-o', 'json')) as { node: { usage: { at: string } } }).node
        .usage.at;
    for (let round = 0; round < count; round++) {
      const before = await measuredAt();
      await waitUntil('the node is measured again', async () => (await measuredAt()) !== before);
    }
  };

  test('cpusetd is killed in the middle: the next start undoes what it did; the end of cpusetd undoes too', async () => {
    const pod = await node.runPod({ labels: noisy, containers: [burner] });
    const rule = await follow(always(pod));
    await untilQuota(pod, 'lowered', (us) => us > 0);
    await waitUntil('the Node is tainted', () => isTainted(node));
    await node.kill('cpusetd');
    const left = await pod.quotaUs('main');
    expect(left).toBeGreaterThan(0);
    expect(await isTainted(node)).toBe(true);
    await rule.delete();
    await node.restart('cpusetd');
    await untilQuota(pod, 'as before', (us) => us === -1);
    await waitUntil('the Node has no taint', async () => !(await isTainted(node)));

    await follow(always(pod));
    await untilQuota(pod, 'lowered', (us) => us > 0);
    await waitUntil('the Node is tainted', () => isTainted(node));
    await node.daemon.stop('SIGTERM', 30_000);
    expect(await pod.quotaUs('main')).toBe(-1);
    expect(await isTainted(node)).toBe(false);
    await node.restart('cpusetd');
  });

  test('a resize in place while it is throttled: the quota is the kubelet’s from then on', async () => {
    const pod = await node.runPod({ labels: noisy, containers: [{ ...burner, cpu: 1 }] });
    const rule = await follow(always(pod));
    await untilQuota(pod, 'lowered', (us) => us > 0 && us < 50_000);
    await pod.resize('main', '900m');
    await untilQuota(pod, 'that of the new limit', (us) => us === 90_000);
    await roundsPass(3);
    expect(await pod.quotaUs('main')).toBe(90_000);
    expect(readMemory(node).throttles).toEqual([]);
    await rule.delete();
    await waitUntil('the Node has no taint', async () => !(await isTainted(node)));
    expect(await pod.quotaUs('main')).toBe(90_000);
  });

  test('the container ends while it is throttled: nothing of it is remembered, and the next one starts without a quota', async () => {
    const pod = await node.runPod({ labels: noisy, containers: [burner] });
    const rule = await follow(always(pod));
    await untilQuota(pod, 'lowered', (us) => us > 0);
    const before = await pod.container('main');
    await rule.delete();
    await pod.killProcesses('main');
    await pod.restarted(before);
    expect(await pod.quotaUs('main')).toBe(-1);
    await waitUntil('nothing is remembered', () => readMemory(node).throttles.length === 0);
  });

  test('an eviction: the pod is evicted with the grace period of the action, but not while its PodDisruptionBudget forbids it', async () => {
    const pod = await node.runPod({ labels: noisy, containers: [burner] });
    const budgets = `/apis/policy/v1/namespaces/${node.name}/poddisruptionbudgets`;
    await kubeApi.create(budgets, {
      metadata: { name: 'keep' },
      spec: { maxUnavailable: 0, selector: { matchLabels: noisy } },
    });
    const { throttle: _throttle, ...rest } = always(pod);
    await follow({ ...rest, eviction: { terminationGracePeriodSeconds: 1 } });
    await node.daemon.waitForLog('QoS action failed', { from: node.daemon.startedAt });
    expect((await pod.read()).metadata.deletionTimestamp).toBeUndefined();
    await kubeApi.delete(`${budgets}/keep`);
    // The same process would leave the pod alone for a minute (test/app/qos/avoidance.test.ts); the next one knows of
    // no refusal.
    await node.restart('cpusetd');
    await pod.gone();
  });

  test('a rule with the strategy Preview is told, and nothing is done; taints of others stay', async () => {
    const pod = await node.runPod({ labels: noisy, containers: [burner] });
    const own = { key: 'example.com/other', effect: 'PreferNoSchedule' };
    await kubeApi.patch(
      `/api/v1/nodes/${node.name}`,
      { spec: { taints: [own] } },
      'application/strategic-merge-patch+json',
    );
    const preview = await follow({ ...always(pod), strategy: 'Preview' });
    await waitUntil('the Event is there', async () =>
      (await nodeEvents(node, 'AvoidanceTriggered')).some(({ message }) => message.includes(preview.name)),
    );
    await roundsPass(2);
    expect(await pod.quotaUs('main')).toBe(-1);
    expect(await isTainted(node)).toBe(false);

    await follow(always(pod));
    await waitUntil('the Node is tainted', () => isTainted(node));
    expect(await taintsOf(node)).toContainEqual(own);
    for (const rule of rules.splice(0)) await rule.delete();
    await waitUntil('the Node has no taint of cpusetd', async () => !(await isTainted(node)));
    expect(await taintsOf(node)).toContainEqual(own);
    await kubeApi.patch(`/api/v1/nodes/${node.name}`, { spec: { taints: null } });
  });

  // The last one: no action is taken for an hour then.
  test('the note is damaged after a kill: quotas and taint go back, and no action follows, until somebody has looked', async () => {
    const limited = await node.runPod({ labels: noisy, containers: [{ ...burner, cpu: 1 }] });
    const free = await node.runPod({ labels: noisy, containers: [burner] });
    for (const pod of [limited, free]) await follow(always(pod));
    await untilQuota(limited, 'lowered', (us) => us < 100_000);
    await untilQuota(free, 'lowered', (us) => us > 0);
    await node.kill('cpusetd');
    const path = join(node.daemon.stateDir, 'qos-actions.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('"version":1', '"version":;'));
    await node.restart('cpusetd');
    await untilQuota(limited, 'that of its limit', (us) => us === 100_000);
    await untilQuota(free, 'none', (us) => us === -1);
    await waitUntil('the Node has no taint', async () => !(await isTainted(node)));
    await roundsPass(3);
    expect([await limited.quotaUs('main'), await free.quotaUs('main')]).toEqual([100_000, -1]);
    expect(await askDaemon(node.daemon, 'status')).toContain('alarm note-set-aside');
    rmSync(`${path}.bad-1`);
    await waitUntil(
      'the alarm is over',
      async () => !(await askDaemon(node.daemon, 'status')).includes('note-set-aside'),
    );
  });
});
