import type { Logger } from 'pino';
import { asObject, asTexts, CollectionInformer, type KubeClient } from '../../../kube';
import { NO_LOAD, readNodeLoad, type NodeLoad } from '../../load/node-load';
import type { TimeZone } from '../../load/time-zone';
import type { SchedulerPolicy } from '../../policy/policy';
import { HOT_VALUE } from '../../load/figure';

export interface NodeLoadsParts {
  readonly client: KubeClient;
  readonly policy: () => SchedulerPolicy;
  readonly zone: TimeZone;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** A Node's load, and the annotations that it was read from, for a policy that names other metrics later. */
interface Entry {
  readonly annotations: Readonly<Record<string, string>>;
  load: NodeLoad;
  /** The policy that the load was read by. */
  by: SchedulerPolicy;
}

/** Longest annotation that is kept. */
const MAX_LENGTH = 256;
const MAX_ANNOTATIONS = 128;

/** The load of all Nodes, kept up to date by a watch. Figures are parsed when a Node changes, and not for each pod. */
export class NodeLoads {
  private readonly informer: CollectionInformer<Entry>;

  constructor(private readonly parts: NodeLoadsParts) {
    const { client, log, signal } = parts;
    this.informer = new CollectionInformer<Entry>({
      ...{ client, log, signal },
      path: '/api/v1/nodes',
      reduce: (node) => this.read(asTexts(asObject(asObject(node)['metadata'])['annotations'])),
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

  /** The load of a node; one that is not known yet has no figures. */
  loadOf(name: string): NodeLoad {
    const entry = this.informer.get(name);
    if (!entry) return NO_LOAD;
    const policy = this.parts.policy();
    if (entry.by !== policy) Object.assign(entry, this.readBy(policy, entry.annotations));
    return entry.load;
  }

  private read(all: Readonly<Record<string, string>>): Entry {
    // A metric has a name without a slash; Kubernetes' own annotations have one.
    const kept = Object.entries(all).filter(([name, text]) => !name.includes('/') && text.length <= MAX_LENGTH);
    const hot = kept.filter(([name]) => name === HOT_VALUE);
    // Copies: a part of the object's text would keep the whole of it in memory.
    const annotations = Object.fromEntries(
      [...hot, ...kept.slice(0, MAX_ANNOTATIONS)].map(([name, text]) => [name, Buffer.from(text).toString()]),
    );
    return { annotations, ...this.readBy(this.parts.policy(), annotations) };
  }

  private readBy(policy: SchedulerPolicy, annotations: Readonly<Record<string, string>>): Pick<Entry, 'load' | 'by'> {
    return { load: readNodeLoad(annotations, policy, this.parts.zone), by: policy };
  }
}
