import type { Logger } from 'pino';
import type { PodToPlace } from '../../core/fit';
import { readPodToPlace } from '../../kube';
import { judgeLoad, NO_VERDICT, type LoadVerdict } from '../load/load-verdict';
import { readNodeLoad } from '../load/node-load';
import type { TimeZone } from '../load/time-zone';
import type { SchedulerPolicy } from '../policy/policy';
import type { Binder } from './bind/binder';
import type { SeenPods } from './bind/seen-pods';
import type { NodeLoads } from './cluster/node-loads';
import type { NodeRecord, NodeRecords } from './cluster/node-records';
import type { DecisionLog } from './explain/decision-log';
import type { Judge } from './judge';
import { LastFilter } from './last-filter';
import type { ExtenderMetrics } from './metrics';
import {
  formatBindingResult,
  formatFilterError,
  formatFilterResult,
  formatPreemptionResult,
  formatPriorities,
} from './protocol/answers';
import {
  annotationsOf,
  BadRequest,
  readBindingArgs,
  readExtenderArgs,
  readPreemptionArgs,
  type RequestedNodes,
} from './protocol/read-args';
import { ScoredNodes } from './scored-nodes';
import type { Rejection } from './verdict';

export interface SchedulerVerbsParts {
  readonly judge: Judge;
  readonly records: NodeRecords;
  /** Undefined without an API server: loads come with the requests. */
  readonly loads: NodeLoads | undefined;
  /** Undefined without an API server. */
  readonly binder: Binder | undefined;
  readonly seen: SeenPods;
  readonly decisions: DecisionLog;
  readonly metrics: ExtenderMetrics;
  readonly policy: () => SchedulerPolicy;
  readonly zone: TimeZone;
  readonly resources: readonly string[];
  /** The longest request that the operator allows. */
  readonly maxRequestBytes: number;
  /** The reason for no answer yet; empty when the caches are filled. */
  readonly notReady: () => string;
  /** Nothing is decided: what would have been is logged and counted. */
  readonly dryRun: boolean;
  readonly log: Logger;
  readonly nowMs?: () => number;
}

const NEEDS_OBJECTS =
  'without an API server the extender reads loads from the Nodes of the request; set nodeCacheCapable: false in the scheduler';

/**
 * Answers kube-scheduler: each verb takes the body of a request and gives the object of its answer. Throws BadRequest.
 */
export class SchedulerVerbs {
  private readonly nowMs: () => number;
  private readonly lastFilter = new LastFilter();

  constructor(private readonly parts: SchedulerVerbsParts) {
    this.nowMs = parts.nowMs ?? Date.now;
  }

  filter(body: Buffer): object {
    const { judge, records, decisions, seen, resources, dryRun, loads } = this.parts;
    const notReady = this.parts.notReady();
    if (notReady !== '') return formatFilterError(notReady);
    const { pod: object, nodes } = readExtenderArgs(body, this.parts.maxRequestBytes);
    if (nodes.kind === 'names' && !loads) return formatFilterError(NEEDS_OBJECTS);
    const pod = readPod(object, resources);
    const nowMs = this.nowMs();
    const decision = decisions.begin(pod.spec, nowMs);
    this.lastFilter.begin(pod.spec.uid, nowMs);
    const rejections = nodes.names.map((name, i) => {
      const node = records.of(name);
      const load = this.verdictOn(node, nodes, i, nowMs);
      const rejection = judge.reject(pod, node, load);
      decision.add(node.number, rejection);
      if (!rejection) this.lastFilter.add(node, judge.score(pod, node, load));
      return rejection;
    });
    seen.add(pod);
    this.count(pod, rejections);
    return formatFilterResult(nodes, dryRun ? [] : rejections);
  }

  prioritize(body: Buffer): object {
    const { decisions, resources, dryRun, loads, notReady } = this.parts;
    const { pod: object, nodes } = readExtenderArgs(body, this.parts.maxRequestBytes);
    if (notReady() !== '' || (nodes.kind === 'names' && !loads)) return formatPriorities(nodes.names, () => 0);
    const pod = readPod(object, resources);
    const nowMs = this.nowMs();
    const scored = this.lastFilter.find(pod.spec.uid, nodes.names, nowMs) ?? this.score(pod, nodes, nowMs);
    decisions.notePriorities(pod.spec, scored);
    return formatPriorities(nodes.names, (i) => (dryRun ? 0 : scored.totalOf(i)));
  }

  async bind(body: Buffer): Promise<object> {
    const { binder, decisions, metrics, log } = this.parts;
    const args = readBindingArgs(body);
    const { podNamespace: namespace, podName: name, node } = args;
    if (!binder) return formatBindingResult('without an API server the extender binds no pods; remove its bindVerb');
    const outcome = await binder.bind(args);
    const error = outcome.ok ? '' : outcome.because;
    metrics.bound(outcome);
    decisions.noteBinding({ namespace, name }, node, error, this.nowMs());
    if (outcome.ok) log.debug({ namespace, pod: name, node, zones: outcome.grants?.map(({ zone }) => zone) }, 'bound');
    else log.info({ namespace, pod: name, node, because: error }, 'a pod was not bound; the scheduler tries it again');
    return formatBindingResult(error);
  }

  preempt(body: Buffer): object {
    const { judge, records, resources, dryRun } = this.parts;
    const { pod: object, victims } = readPreemptionArgs(body, this.parts.maxRequestBytes);
    const pod = readPod(object, resources);
    const nowMs = this.nowMs();
    const isOf = (node: NodeRecord): boolean =>
      judge.reject(pod, node, this.cachedVerdict(node, nowMs))?.plugin !== 'Dynamic';
    // Ending pods lowers no figure of the past minutes: the filter would leave an overloaded node out again.
    const kept = [...victims].filter(
      ([node, { uids }]) => dryRun || (isOf(records.of(node)) && judge.fitsWithout(pod, node, new Set(uids))),
    );
    return formatPreemptionResult(new Map(kept));
  }

  private score(pod: PodToPlace, nodes: RequestedNodes, nowMs: number): ScoredNodes {
    const { judge, records } = this.parts;
    const scored = new ScoredNodes();
    nodes.names.forEach((name, i) => {
      const node = records.of(name);
      scored.push(node.number, judge.score(pod, node, this.verdictOn(node, nodes, i, nowMs)));
    });
    return scored;
  }

  private verdictOn(node: NodeRecord, nodes: RequestedNodes, i: number, nowMs: number): LoadVerdict {
    if (nodes.kind === 'names') return this.cachedVerdict(node, nowMs);
    const { policy, zone } = this.parts;
    return judgeLoad(policy(), readNodeLoad(annotationsOf(nodes.objects[i]!), policy(), zone), nowMs);
  }

  private cachedVerdict(node: NodeRecord, nowMs: number): LoadVerdict {
    return this.parts.loads?.verdictOn(node, nowMs) ?? NO_VERDICT;
  }

  private count({ spec: { namespace, name } }: PodToPlace, rejections: readonly (Rejection | undefined)[]): void {
    const { metrics, dryRun, log } = this.parts;
    const asked = rejections.length;
    const counts = new Map<string, { readonly rejection: Rejection; count: number }>();
    let rejected = 0;
    for (const rejection of rejections) {
      if (!rejection) continue;
      rejected++;
      const known = counts.get(`${rejection.plugin} ${rejection.subject}`);
      if (known) known.count++;
      else counts.set(`${rejection.plugin} ${rejection.subject}`, { rejection, count: 1 });
    }
    for (const { rejection, count } of counts.values())
      metrics.nodesRejected(rejection.plugin, rejection.subject, count);
    if (asked > 0 && rejected === asked) metrics.podUnplaced();
    if (dryRun && rejected > 0)
      log.info({ namespace, pod: name, nodes: asked, rejected }, 'dry run: these nodes would have been left out');
  }
}

/** Throws BadRequest. */
function readPod(object: unknown, resources: readonly string[]): PodToPlace {
  const pod = readPodToPlace(object, resources);
  if (!pod) throw new BadRequest('the pod of the request has no uid or no name');
  return pod;
}
