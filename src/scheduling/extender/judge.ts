import { describeOverload, findOverload } from '../load/filter-by-load';
import type { NodeLoad } from '../load/node-load';
import { scoreByLoad } from '../load/score-by-load';
import type { SchedulerPolicy } from '../policy/policy';
import { CPU, type ZoneAmounts } from '../topology/amounts';
import { fitPod, type Fit } from '../topology/fit-pod';
import type { NodeTopology } from '../topology/node-topology';
import type { PodRequest } from '../topology/pod-request';
import { scoreFit, scoreWholeCpus } from '../topology/score-fit';
import type { TopologyState } from './cluster/topology-state';
import { weigh, type PluginName, type PluginWeights } from './plugins';

export interface JudgeParts {
  readonly plugins: PluginWeights;
  readonly policy: () => SchedulerPolicy;
  /** Undefined with NodeResourceTopologyMatch off. */
  readonly state: TopologyState | undefined;
}

/** A node that was left out, with the figure that decided. */
export interface Rejection {
  readonly plugin: PluginName;
  readonly message: string;
  /** The metric, or the resource of zones; empty when no figure decided. */
  readonly subject: string;
  readonly value: number;
  readonly limit: number;
}

/** The parts of a node's score. Those of plugins are from 0 to 100, `total` is the answer. */
export interface Scores {
  readonly Dynamic: number;
  readonly NodeResourceTopologyMatch: number;
  readonly wholeCpus: number;
  readonly total: number;
}

/** The answers for the last pod: the scheduler asks for scores of the nodes right after it has filtered them. */
interface LastFits {
  readonly uid: string;
  readonly byNode: Map<
    string,
    { readonly topology: NodeTopology | undefined; readonly used: ZoneAmounts; readonly fit: Fit }
  >;
}

/** Decides on one pod and one node, by the plugins that are on. */
export class Judge {
  private last: LastFits = { uid: '', byNode: new Map() };

  constructor(private readonly parts: JudgeParts) {}

  /** Undefined: the node fits. */
  reject(pod: PodRequest, node: string, load: NodeLoad, nowMs: number): Rejection | undefined {
    const { plugins, policy, state } = this.parts;
    if (plugins.Dynamic !== undefined && !pod.isOfDaemonSet) {
      const overload = findOverload(policy(), load, nowMs);
      if (overload) {
        const { metric: subject, value, limit } = overload;
        return { plugin: 'Dynamic', message: describeOverload(overload, node), subject, value, limit };
      }
    }
    if (!state) return undefined;
    if (this.last.uid !== pod.uid || this.last.byNode.has(node)) this.last = { uid: pod.uid, byNode: new Map() };
    const [topology, used] = [state.topologyOf(node), state.usedOn(node)];
    const fit = this.fit(pod, topology, used);
    this.last.byNode.set(node, { topology, used, fit });
    return fit.kind === 'no-fit' ? rejectionOf(fit) : undefined;
  }

  /** True when the pod fits into the node's zones without the pods of these uids. */
  fitsWithout(pod: PodRequest, node: string, uids: ReadonlySet<string>): boolean {
    const { state } = this.parts;
    return !state || this.fit(pod, state.topologyOf(node), state.usedWithout(node, uids)).kind !== 'no-fit';
  }

  score(pod: PodRequest, node: string, load: NodeLoad, nowMs: number): Scores {
    const { plugins, policy, state } = this.parts;
    const { wholeCpus: packing } = policy();
    const fit = state && this.knownFit(pod, node, state);
    const Dynamic = plugins.Dynamic === undefined ? 0 : scoreByLoad(policy(), load, nowMs);
    const NodeResourceTopologyMatch = fit ? scoreFit(fit) : 0;
    const wholeCpus = fit && packing ? scoreWholeCpus(fit, packing) : 0;
    const total =
      weigh(Dynamic, plugins.Dynamic ?? 0) +
      weigh(NodeResourceTopologyMatch, plugins.NodeResourceTopologyMatch ?? 0) +
      weigh(wholeCpus, packing?.weight ?? 0);
    return { Dynamic, NodeResourceTopologyMatch, wholeCpus, total };
  }

  /** The fit of the filter, unless the node has changed meanwhile. */
  private knownFit(pod: PodRequest, node: string, state: TopologyState): Fit {
    const [topology, used] = [state.topologyOf(node), state.usedOn(node)];
    const known = this.last.uid === pod.uid ? this.last.byNode.get(node) : undefined;
    return known?.topology === topology && known?.used === used ? known.fit : this.fit(pod, topology, used);
  }

  private fit(pod: PodRequest, topology: NodeTopology | undefined, used: ZoneAmounts): Fit {
    return fitPod(pod, topology, used, this.parts.policy().wholeCpus?.strategy);
  }
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
