import {
  CPU,
  fitPod,
  fitPodInto,
  messageOf,
  type Fit,
  type NodeOffer,
  type Obstacle,
  type PodToPlace,
  type ZoneAmounts,
} from '../../core/fit';
import { describeOverload } from '../load/filter-by-load';
import type { LoadVerdict } from '../load/load-verdict';
import type { SchedulerPolicy, WholeCpus } from '../policy/policy';
import { scoreFit, scoreWholeCpus } from '../topology/score-fit';
import type { NodeRecord, NodeZones } from './cluster/node-records';
import type { TopologyState } from './cluster/topology-state';
import { weigh, type PluginWeights } from './plugins';
import { noVerdict, type Rejection, type Scores, type ZonesVerdict } from './verdict';

export interface JudgeParts {
  readonly plugins: PluginWeights;
  readonly policy: () => SchedulerPolicy;
  /** Undefined with NodeResourceTopologyMatch off. */
  readonly state: TopologyState | undefined;
}

/** Pods that get the same verdicts: all that these depend on but the node is the same. */
interface PodKind {
  /** From 1 on; never given twice. */
  readonly number: number;
  readonly text: string;
}

type Strategy = WholeCpus['strategy'] | undefined;

/**
 * Decides on one pod and one node, by the plugins that are on. The verdict on each node's zones is kept until the node
 * changes or another kind of pod comes: many pods are alike.
 */
export class Judge {
  private last: { readonly pod: PodToPlace; readonly strategy: Strategy; readonly kind: PodKind } | undefined;

  constructor(private readonly parts: JudgeParts) {}

  /** Undefined: the node fits. */
  reject(pod: PodToPlace, node: NodeRecord, { overload }: LoadVerdict): Rejection | undefined {
    const { plugins, state } = this.parts;
    if (overload && plugins.Dynamic !== undefined && !pod.isOfDaemonSet) {
      const { metric: subject, value, limit } = overload;
      return { plugin: 'Dynamic', message: describeOverload(overload, node.name), subject, value, limit };
    }
    return state && this.judgeZones(node.name, state.zonesOf(node), pod).rejection;
  }

  /** True when the pod fits into the node's zones without the pods of these uids. */
  fitsWithout(pod: PodToPlace, node: string, uids: ReadonlySet<string>): boolean {
    const { state } = this.parts;
    if (!state) return true;
    const used = state.usedWithout(node, new Set([...uids, pod.spec.uid]));
    return fitPod(pod, state.topologyOf(node)?.offer, used, this.strategy).kind !== 'no-fit';
  }

  score(pod: PodToPlace, node: NodeRecord, { score }: LoadVerdict): Scores {
    const { plugins, policy, state } = this.parts;
    const { wholeCpus: packing } = policy();
    const zones = state && this.judgeZones(node.name, state.zonesOf(node), pod);
    const Dynamic = plugins.Dynamic === undefined ? 0 : score;
    const NodeResourceTopologyMatch = zones?.match ?? 0;
    const wholeCpus = zones?.wholeCpus ?? 0;
    const total =
      weigh(Dynamic, plugins.Dynamic ?? 0) +
      weigh(NodeResourceTopologyMatch, plugins.NodeResourceTopologyMatch ?? 0) +
      weigh(wholeCpus, packing?.weight ?? 0);
    return { Dynamic, NodeResourceTopologyMatch, wholeCpus, total };
  }

  private judgeZones(node: string, zones: NodeZones, pod: PodToPlace): ZonesVerdict {
    const { offer, claims } = zones;
    // The claim of an earlier try of the pod is its own.
    const hasClaim = claims?.list.some(([uid]) => uid === pod.spec.uid) === true;
    if (hasClaim) return this.judgeAnew(offer, this.parts.state!.usedWithout(node, new Set([pod.spec.uid])), pod);
    return this.judgeKind(zones, pod);
  }

  private judgeAnew(offer: NodeOffer | undefined, used: ZoneAmounts, pod: PodToPlace): ZonesVerdict {
    const verdict = noVerdict();
    this.decide(verdict, fitPod(pod, offer, used, this.strategy));
    return verdict;
  }

  private judgeKind({ offer, free, verdict }: NodeZones, pod: PodToPlace): ZonesVerdict {
    const { number } = this.kindOf(pod);
    if (verdict.kind === number) return verdict;
    this.decide(verdict, fitPodInto(pod, offer, free, this.strategy));
    verdict.kind = number;
    return verdict;
  }

  private decide(verdict: ZonesVerdict, fit: Fit): void {
    const { strategy } = this;
    verdict.rejection = fit.kind === 'no-fit' ? rejectionOf(fit.obstacle) : undefined;
    verdict.match = scoreFit(fit);
    verdict.wholeCpus = strategy ? scoreWholeCpus(fit, { strategy }) : 0;
  }

  private get strategy(): Strategy {
    return this.parts.policy().wholeCpus?.strategy;
  }

  private kindOf(pod: PodToPlace): PodKind {
    const { strategy, last } = this;
    if (last?.pod === pod && last.strategy === strategy) return last.kind;
    const text = describeKind(pod, strategy, this.parts.state?.looksAtNames ?? false);
    const kind = last?.kind.text === text ? last.kind : { number: (last?.kind.number ?? 0) + 1, text };
    this.last = { pod, strategy, kind };
    return kind;
  }
}

/** All that decides of a pod, and the strategy. Its names count only where a node has rules that look at them. */
function describeKind({ spec, requests, ...pod }: PodToPlace, strategy: Strategy, byNames: boolean): string {
  const { annotations, qos, containers, podResources, namespace, name } = spec;
  const requested = [...requests].map(([container, amounts]) => [container, ...amounts]);
  const names = byNames ? [namespace, name] : [];
  return JSON.stringify([pod, requested, annotations, qos, containers, podResources, names, strategy]);
}

/** The message is without figures: kube-scheduler counts nodes with the same message. */
function rejectionOf(obstacle: Obstacle): Rejection {
  const { subject, value, limit } = figuresOf(obstacle);
  return { plugin: 'NodeResourceTopologyMatch', message: messageOf(obstacle), subject, value, limit };
}

function figuresOf(obstacle: Obstacle): Pick<Rejection, 'subject' | 'value' | 'limit'> {
  switch (obstacle.kind) {
    case 'too-little': {
      const { resource, wanted, available } = obstacle;
      const perUnit = resource === CPU ? 1_000 : 1;
      return { subject: resource, value: wanted / perUnit, limit: available / perUnit };
    }
    case 'split-core':
      return { subject: CPU, value: obstacle.count, limit: obstacle.cpusPerCore };
    case 'beside-others':
      return { subject: CPU, value: obstacle.wanted / 1_000, limit: 0 };
    default:
      return { subject: '', value: 0, limit: 0 };
  }
}
