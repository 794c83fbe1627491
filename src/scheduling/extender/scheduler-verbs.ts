import type { Logger } from 'pino';
import type { NodeLoad } from '../load/node-load';
import { readNodeLoad } from '../load/node-load';
import type { TimeZone } from '../load/time-zone';
import type { SchedulerPolicy } from '../policy/policy';
import { readPodRequest, type PodRequest } from '../topology/pod-request';
import type { Binder } from './bind/binder';
import type { SeenPods } from './bind/seen-pods';
import type { NodeLoads } from './cluster/node-loads';
import type { DecisionLog } from './explain/decision-log';
import type { Judge, Rejection, Scores } from './judge';
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
  readBindingArgs,
  readExtenderArgs,
  readPreemptionArgs,
  type RequestedNodes,
} from './protocol/read-args';

export interface SchedulerVerbsParts {
  readonly judge: Judge;
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
  /** The reason for no answer yet; empty when the caches are filled. */
  readonly notReady: () => string;
  /** Nothing is decided: what would have been is logged and counted. */
  readonly dryRun: boolean;
  readonly log: Logger;
  readonly nowMs?: () => number;
}

const NEEDS_OBJECTS =
  'without an API server the extender reads loads from the Nodes of the request; set nodeCacheCapable: false in the scheduler';

/** Answers kube-scheduler: each verb takes the body of a request and gives the object of its answer. Throws BadRequest. */
export class SchedulerVerbs {
  private readonly nowMs: () => number;

  constructor(private readonly parts: SchedulerVerbsParts) {
    this.nowMs = parts.nowMs ?? Date.now;
  }

  filter(body: Buffer): object {
    const { judge, decisions, seen, resources, dryRun, loads } = this.parts;
    const notReady = this.parts.notReady();
    if (notReady !== '') return formatFilterError(notReady);
    const { pod: object, nodes } = readExtenderArgs(body);
    if (nodes.kind === 'names' && !loads) return formatFilterError(NEEDS_OBJECTS);
    const pod = readPodRequest(object, resources);
    const nowMs = this.nowMs();
    const rejections = nodes.names.map((name, i) => judge.reject(pod, name, this.loadOf(nodes, i), nowMs));
    seen.add(pod);
    decisions.noteFilter(pod, nodes.names, rejections, nowMs);
    const failed = new Map<string, string>();
    rejections.forEach((rejection, i) => rejection && failed.set(nodes.names[i]!, rejection.message));
    this.count(pod, nodes.names.length, rejections);
    return formatFilterResult(nodes, dryRun ? NOTHING : failed);
  }

  prioritize(body: Buffer): object {
    const { judge, decisions, resources, dryRun, loads, notReady } = this.parts;
    const { pod: object, nodes } = readExtenderArgs(body);
    if (notReady() !== '' || (nodes.kind === 'names' && !loads)) return formatPriorities(nodes.names, zeros(nodes));
    const pod = readPodRequest(object, resources);
    const nowMs = this.nowMs();
    const scores = nodes.names.map((name, i): Scores => judge.score(pod, name, this.loadOf(nodes, i), nowMs));
    decisions.notePriorities(pod, nodes.names, scores);
    return formatPriorities(nodes.names, dryRun ? zeros(nodes) : scores.map(({ total }) => total));
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
    const { judge, resources, dryRun } = this.parts;
    const { pod: object, victims } = readPreemptionArgs(body);
    const pod = readPodRequest(object, resources);
    const nowMs = this.nowMs();
    const isOf = (node: string): boolean => judge.reject(pod, node, this.cachedLoad(node), nowMs)?.plugin !== 'Dynamic';
    // Ending pods lowers no figure of the past minutes: the filter would leave an overloaded node out again.
    const kept = [...victims].filter(
      ([node, { uids }]) => dryRun || (isOf(node) && judge.fitsWithout(pod, node, new Set(uids))),
    );
    return formatPreemptionResult(new Map(kept));
  }

  private loadOf(nodes: RequestedNodes, i: number): NodeLoad {
    const { policy, zone } = this.parts;
    return nodes.kind === 'objects'
      ? readNodeLoad(annotationsOf(nodes.objects[i]!), policy(), zone)
      : this.cachedLoad(nodes.names[i]!);
  }

  private cachedLoad(node: string): NodeLoad {
    return this.parts.loads?.loadOf(node) ?? { figures: new Map(), hotValue: undefined };
  }

  private count({ namespace, name }: PodRequest, asked: number, rejections: readonly (Rejection | undefined)[]): void {
    const { metrics, dryRun, log } = this.parts;
    const counts = new Map<string, { readonly of: Rejection; count: number }>();
    let rejected = 0;
    for (const of of rejections) {
      if (!of) continue;
      rejected++;
      const known = counts.get(`${of.plugin} ${of.subject}`);
      if (known) known.count++;
      else counts.set(`${of.plugin} ${of.subject}`, { of, count: 1 });
    }
    for (const { of, count } of counts.values()) metrics.nodesRejected(of.plugin, of.subject, count);
    if (asked > 0 && rejected === asked) metrics.podUnplaced();
    if (dryRun && rejected > 0)
      log.info({ namespace, pod: name, nodes: asked, rejected }, 'dry run: these nodes would have been left out');
  }
}

const NOTHING: ReadonlyMap<string, string> = new Map();

function zeros({ names }: RequestedNodes): number[] {
  return names.map(() => 0);
}
