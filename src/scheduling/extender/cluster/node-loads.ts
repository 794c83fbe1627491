import type { Logger } from 'pino';
import { asObject, asTexts, CollectionInformer, type KubeClient } from '../../../kube';
import { HOT_VALUE } from '../../load/figure';
import { holdsAt, judgeLoad, NO_VERDICT, type LoadVerdict } from '../../load/load-verdict';
import { readNodeLoad } from '../../load/node-load';
import type { TimeZone } from '../../load/time-zone';
import type { SchedulerPolicy } from '../../policy/policy';
import type { LoadEntry, NodeRecord, NodeRecords } from './node-records';

export interface NodeLoadsParts {
  readonly client: KubeClient;
  readonly records: NodeRecords;
  readonly policy: () => SchedulerPolicy;
  readonly zone: TimeZone;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Longest annotation that is kept. */
const MAX_LENGTH = 256;
const MAX_ANNOTATIONS = 128;

/**
 * The load of all Nodes, kept up to date by a watch. Figures are parsed when a Node changes, and judged when it has
 * changed or one of them is too old, but not for each pod.
 */
export class NodeLoads {
  private readonly informer: CollectionInformer<LoadEntry>;

  constructor(private readonly parts: NodeLoadsParts) {
    const { client, records, log, signal } = parts;
    this.informer = new CollectionInformer<LoadEntry>({
      client,
      log,
      signal,
      path: '/api/v1/nodes',
      reduce: (node) => this.read(asTexts(asObject(asObject(node)['metadata'])['annotations'])),
      onChange: (entry, node) => Object.assign(records.of(node), { load: entry, verdict: undefined }),
      onDelete: (_, node) => Object.assign(records.of(node), { load: undefined, verdict: undefined }),
    });
  }

  /** Runs until the signal aborts; never rejects. */
  run(): Promise<void> {
    return this.informer.run();
  }

  get isSynced(): boolean {
    return this.informer.isSynced;
  }

  get size(): number {
    return this.informer.size;
  }

  /** Filter and score of a node by its load; one that is not known yet has no figures. */
  verdictOn(node: NodeRecord, nowMs: number): LoadVerdict {
    const policy = this.parts.policy();
    const { verdict, load: entry } = node;
    if (verdict && holdsAt(verdict, policy, nowMs)) return verdict;
    if (!entry) return NO_VERDICT;
    if (entry.by !== policy) Object.assign(entry, this.readBy(policy, entry.annotations));
    return (node.verdict = judgeLoad(policy, entry.load, nowMs));
  }

  private read(all: Readonly<Record<string, string>>): LoadEntry {
    // A metric has a name without a slash; Kubernetes' own annotations have one.
    const kept = Object.entries(all).filter(([name, text]) => !name.includes('/') && text.length <= MAX_LENGTH);
    const hot = kept.filter(([name]) => name === HOT_VALUE);
    // Copies: a part of the object's text would keep the whole of it in memory.
    const annotations = Object.fromEntries(
      [...hot, ...kept.slice(0, MAX_ANNOTATIONS)].map(([name, text]) => [name, Buffer.from(text).toString()]),
    );
    return { annotations, ...this.readBy(this.parts.policy(), annotations) };
  }

  private readBy(policy: SchedulerPolicy, annotations: LoadEntry['annotations']): Omit<LoadEntry, 'annotations'> {
    return { load: readNodeLoad(annotations, policy, this.parts.zone), by: policy };
  }
}
