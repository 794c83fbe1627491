import { describeOverload } from '../load/filter-by-load';
import type { LoadVerdict } from '../load/load-verdict';
import type { SchedulerPolicy, WholeCpus } from '../policy/policy';
import { CPU } from '../topology/amounts';
import { fitPod, fitPodInto, type Fit } from '../topology/fit-pod';
import type { PodRequest } from '../topology/pod-request';
import { scoreFit, scoreWholeCpus } from '../topology/score-fit';
import type { NodeRecord, NodeZones } from './cluster/node-records';
import type { TopologyState } from './cluster/topology-state';
import { weigh, type PluginWeights } from './plugins';
import type { Rejection, Scores, ZonesVerdict } from './verdict';

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
 * Decides on one pod and one node, by the plugins that are on. The verdict on each node's zones is kept until the node changes or another
 * kind of pod comes: many pods are alike.
 */
export class Judge {
  private last: { readonly pod: PodRequest; readonly strategy: Strategy; readonly kind: PodKind } | undefined;

  constructor(private readonly parts: JudgeParts) {}

  /** Undefined: the node fits. */
  reject(pod: PodRequest, node: NodeRecord, { overload }: LoadVerdict): Rejection | undefined {
    const { plugins, state } = this.parts;
    if (overload && plugins.Dynamic !== undefined && !pod.isOfDaemonSet) {
      const { metric: subject, value, limit } = overload;
      return { plugin: 'Dynamic', message: describeOverload(overload, node.name), subject, value, limit };
    }
    return state && this.judgeZones(state.zonesOf(node), pod).rejection;
  }

  /** True when the pod fits into the node's zones without the pods of these uids. */
  fitsWithout(pod: PodRequest, node: string, uids: ReadonlySet<string>): boolean {
    const { state } = this.parts;
    if (!state) return true;
    return fitPod(pod, state.topologyOf(node), state.usedWithout(node, uids), this.strategy).kind !== 'no-fit';
  }

  score(pod: PodRequest, node: NodeRecord, { score }: LoadVerdict): Scores {
    const { plugins, policy, state } = this.parts;
    const { wholeCpus: packing } = policy();
    const zones = state && this.judgeZones(state.zonesOf(node), pod);
    const Dynamic = plugins.Dynamic === undefined ? 0 : score;
    const NodeResourceTopologyMatch = zones?.match ?? 0;
    const wholeCpus = zones?.wholeCpus ?? 0;
    const total =
      weigh(Dynamic, plugins.Dynamic ?? 0) +
      weigh(NodeResourceTopologyMatch, plugins.NodeResourceTopologyMatch ?? 0) +
      weigh(wholeCpus, packing?.weight ?? 0);
    return { Dynamic, NodeResourceTopologyMatch, wholeCpus, total };
  }

  private judgeZones({ topology, free, verdict }: NodeZones, pod: PodRequest): ZonesVerdict {
    const { number } = this.kindOf(pod);
    if (verdict.kind === number) return verdict;
    const { strategy } = this;
    const fit = fitPodInto(pod, topology, free, strategy);
    verdict.kind = number;
    verdict.rejection = fit.kind === 'no-fit' ? rejectionOf(fit) : undefined;
    verdict.match = scoreFit(fit);
    verdict.wholeCpus = strategy ? scoreWholeCpus(fit, { strategy }) : 0;
    return verdict;
  }

  private get strategy(): Strategy {
    return this.parts.policy().wholeCpus?.strategy;
  }

  private kindOf(pod: PodRequest): PodKind {
    const { strategy, last } = this;
    if (last?.pod === pod && last.strategy === strategy) return last.kind;
    const text = describeKind(pod, strategy);
    const kind = last?.kind.text === text ? last.kind : { number: (last?.kind.number ?? 0) + 1, text };
    this.last = { pod, strategy, kind };
    return kind;
  }
}

/** All of the request but the pod's names, and the strategy. */
function describeKind(pod: PodRequest, strategy: Strategy): string {
  const request = [...pod.request];
  return JSON.stringify([{ ...pod, request, uid: '', namespace: '', name: '' }, strategy]);
}

/** The message is upstream's, without figures: kube-scheduler counts nodes with the same message. */
function rejectionOf({ because, shortage }: Extract<Fit, { kind: 'no-fit' }>): Rejection {
  const perUnit = shortage?.resource === CPU ? 1_000 : 1;
  return {
    plugin: 'NodeResourceTopologyMatch',
    message: because,
    subject: shortage?.resource ?? '',
    value: (shortage?.wanted ?? 0) / perUnit,
    limit: (shortage?.available ?? 0) / perUnit,
  };
}
