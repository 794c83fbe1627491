import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '../../e2e/rig';
import { replaceFile } from '../../e2e/rig/replace-file';
import {
  type ClusterNode,
  type ClusterPod,
  type ContainerTemplate,
  kubeApi,
  kubeletWithoutReservation,
  type NodeOptions,
  reservedCpus,
} from '../rig';
import type { KubeEvent } from '../rig/objects';

const GROUP = '/apis/ensurance.crane.io/v1alpha1';

/** A rule, and the action against the pods that have the label `role: noisy`. */
export interface RuleOfTest {
  readonly metric: string;
  /** Labels of the metric's series. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly threshold: string;
  /** Rounds that the metric has to be calm before the rule restores. */
  readonly restoreThreshold?: number;
  readonly coolDownSeconds?: number;
  readonly throttle?: { readonly minCPURatio: number; readonly stepCPURatio: number };
  readonly eviction?: { readonly terminationGracePeriodSeconds?: number };
  readonly strategy?: 'None' | 'Preview';
}

/** The objects of one rule for one node, under names of their own: the definitions are of the whole cluster. */
export class Rule {
  private constructor(readonly name: string) {}

  static async create(node: ClusterNode, rule: RuleOfTest): Promise<Rule> {
    const name = `${node.name}-${randomBytes(2).toString('hex')}`;
    const { metric, labels, threshold, restoreThreshold = 2, coolDownSeconds = 1, strategy = 'None' } = rule;
    const { throttle, eviction } = rule;
    const create = (kinds: string, kind: string, spec: object): Promise<unknown> =>
      kubeApi.create(`${GROUP}/${kinds}`, {
        apiVersion: 'ensurance.crane.io/v1alpha1',
        kind,
        metadata: { name },
        spec,
      });
    await create('avoidanceactions', 'AvoidanceAction', {
      coolDownSeconds,
      ...(throttle && { throttle: { cpuThrottle: throttle } }),
      ...(eviction && { eviction }),
    });
    await create('podqoss', 'PodQOS', {
      allowedActions: [name],
      labelSelector: { matchLabels: { role: 'noisy' } },
      scopeSelector: { matchExpressions: [{ scopeName: 'Namespace', operator: 'In', values: [node.name] }] },
    });
    await create('nodeqoss', 'NodeQOS', {
      selector: { matchLabels: { 'kubernetes.io/hostname': node.name } },
      nodeQualityProbe: { nodeLocalGet: { localCacheTTLSeconds: 60 } },
      rules: [
        {
          name: 'rule',
          metricRule: { name: metric, value: threshold, ...(labels && { selector: { matchLabels: labels } }) },
          avoidanceThreshold: 1,
          restoreThreshold,
          actionName: name,
          strategy,
        },
      ],
    });
    return new Rule(name);
  }

  /** Deletes its objects; those that are gone already are passed over. */
  async delete(): Promise<void> {
    for (const kinds of ['nodeqoss', 'podqoss', 'avoidanceactions']) {
      const path = `${GROUP}/${kinds}/${this.name}`;
      if (await kubeApi.find(path)) await kubeApi.delete(path);
    }
  }
}

/** A file of options that can be changed while the daemon reads it. */
export class OptionsFile {
  private readonly dir = mkdtempSync(join(tmpdir(), 'cpusetd-qos-'));
  readonly path = join(this.dir, 'cpusetd.yaml');

  constructor(text: string) {
    writeFileSync(this.path, text);
  }

  change(text: string): void {
    replaceFile(this.path, text);
  }

  remove(): void {
    rmSync(this.dir, { recursive: true });
  }
}

/** Arguments of a daemon that collects once a second. */
export const collecting = ['--reserved-cpus', reservedCpus, '--collect-interval', '1s', '--container-metrics', 'on'];

/** Options of a node whose daemon takes actions, and whose kubelet leaves room for pods beside a pinned one. */
export const enforcing = {
  kubelet: kubeletWithoutReservation,
  args: [...collecting, '--qos-actions', 'enforce'],
} satisfies Partial<NodeOptions>;

/** Waits until the quota of a pod's container is as wanted. Returns it. */
export async function untilQuota(
  pod: ClusterPod,
  what: string,
  isSo: (quotaUs: number) => boolean,
  deadlineMs?: number,
): Promise<number> {
  let last: number | undefined;
  const ask = async (): Promise<boolean> => isSo((last = await pod.quotaUs('main')));
  await waitUntil(`the quota of ${pod.name} is ${what}`, ask, deadlineMs, { everyMs: 100, seen: () => last });
  return last!;
}

export interface Taint {
  readonly key: string;
  readonly effect: string;
}

export async function taintsOf(node: ClusterNode): Promise<readonly Taint[]> {
  const { spec } = await kubeApi.get<{ spec: { taints?: readonly Taint[] } }>(`/api/v1/nodes/${node.name}`);
  return spec.taints ?? [];
}

export const isTainted = async (node: ClusterNode): Promise<boolean> =>
  (await taintsOf(node)).some(({ key, effect }) => key === 'interference.crane.io' && effect === 'PreferNoSchedule');

/** The Events about a Node of a reason. */
export async function nodeEvents(node: ClusterNode, reason: string): Promise<readonly KubeEvent[]> {
  const query = { fieldSelector: `involvedObject.kind=Node,involvedObject.name=${node.name},reason=${reason}` };
  return (await kubeApi.get<{ items: KubeEvent[] }>('/api/v1/namespaces/default/events', query)).items;
}

/** The Events of a reason about a pod. */
export async function podEvents(pod: ClusterPod, reason: string): Promise<readonly KubeEvent[]> {
  const query = { fieldSelector: `involvedObject.kind=Pod,involvedObject.name=${pod.name},reason=${reason}` };
  return (await kubeApi.get<{ items: KubeEvent[] }>(`/api/v1/namespaces/${pod.node.name}/events`, query)).items;
}

/** The daemon's note of its actions. */
export function readMemory(node: ClusterNode): {
  readonly tainted: boolean;
  readonly throttles: readonly { readonly baseMilliCpu: number }[];
} {
  return JSON.parse(readFileSync(join(node.daemon.stateDir, 'qos-actions.json'), 'utf8')) as ReturnType<
    typeof readMemory
  >;
}

/** The label of the pods that rules act against. */
export const noisy = { role: 'noisy' };

/** Burns one CPU for as long as it runs. */
export const burner: ContainerTemplate = {
  name: 'main',
  requests: { cpu: '100m' },
  command: ['sh', '-c', 'trap "exit 143" TERM; while :; do :; done'],
};

/** Fires in each round in which the container has used any CPU: it never restores by itself. */
export const always = (pod: ClusterPod): RuleOfTest => ({
  metric: 'container_cpu_total_usage',
  labels: { PodName: pod.name, PodNamespace: pod.node.name },
  threshold: '0',
  throttle: { minCPURatio: 10, stepCPURatio: 50 },
});
