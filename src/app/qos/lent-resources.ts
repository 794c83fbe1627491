import { explainKubeError } from '../../kube';
import type { PublishedResources } from '../../qos/reclaim/should-publish';
import type { DaemonContext } from '../context';

/** The part of our Node that decides what it lends, and what is on it. */
export interface NodeReading {
  readonly allocatable: { readonly milliCpu?: number; readonly memoryBytes?: number };
  readonly annotations: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  /** The `gocrane.io/…` resources in its status; absent = not there, or not in capacity and allocatable alike. */
  readonly lent: PublishedResources;
  /** The other one of them, which is not to be lent, is in its status too. */
  readonly hasOther?: boolean;
}

export interface LentResourcesParts {
  readonly context: Pick<DaemonContext, 'log'>;
  /** Rejects with KubeError. */
  readonly read: (signal: AbortSignal) => Promise<NodeReading>;
  /**
   * Sets both resources; an absent one is removed. Rejects with KubeError. At the end the daemon's signal is aborted,
   * and this one is not.
   */
  readonly write: (wanted: PublishedResources, signal: AbortSignal) => Promise<void>;
}

/** Between two reads of the Node: a change that others make on it is found within this time. */
const READ_EVERY_MS = 60_000;

/** The resources that are published on our Node, as far as is known, and the last reading of it. */
export class LentResources {
  private reading: NodeReading | undefined;
  private refreshing: Promise<void> | undefined;
  private readAtMs = -Infinity;
  /** Number of writes that were begun. */
  private writes = 0;
  private onNode: PublishedResources = {};
  /** A write failed: nobody knows what is on the Node. */
  private isUnsure = false;

  constructor(private readonly parts: LentResourcesParts) {}

  /** The last reading; undefined before the first one. */
  get latest(): NodeReading | undefined {
    return this.reading;
  }

  /** The resources on the Node, as far as is known. */
  get published(): PublishedResources {
    return this.onNode;
  }

  /** True when the Node has these resources and no other, for sure. */
  has({ milliCpu, memoryBytes }: PublishedResources): boolean {
    const { onNode, isUnsure } = this;
    return !isUnsure && milliCpu === onNode.milliCpu && memoryBytes === onNode.memoryBytes;
  }

  /** Rejects with KubeError. */
  async read(signal: AbortSignal): Promise<void> {
    const { writes } = this;
    const reading = await this.parts.read(signal);
    this.readAtMs = performance.now();
    this.reading = reading;
    // The reading may be older than a write that was made meanwhile.
    if (writes !== this.writes) return;
    this.onNode = reading.lent;
    // The Node has a resource that is not lent any more: the next write removes it.
    this.isUnsure = reading.hasOther === true;
  }

  /**
   * Reads the Node again, once in a while. Nothing waits for it: a Node that was read once is good enough to decide by.
   */
  refresh(signal: AbortSignal, onRead: () => void): void {
    if (!this.reading || this.refreshing || performance.now() - this.readAtMs < READ_EVERY_MS) return;
    const read = this.read(signal).then(onRead, (error: unknown) =>
      this.parts.context.log.debug({ because: explainKubeError(error) }, 'the Node can’t be read again'),
    );
    this.refreshing = read.finally(() => {
      this.refreshing = undefined;
    });
  }

  /** Rejects with KubeError; then it is not known what is on the Node. */
  async write(wanted: PublishedResources, signal: AbortSignal): Promise<void> {
    this.isUnsure = true;
    this.writes += 1;
    await this.parts.write(wanted, signal);
    this.isUnsure = false;
    this.onNode = wanted;
  }
}

/** The Node for a daemon that lends some of the resources only. */
export function onlyLent(
  lends: 'off' | 'cpu' | 'memory' | 'both',
  { allocatable, lent, ...node }: NodeReading,
): NodeReading {
  const pick = ({ milliCpu, memoryBytes }: PublishedResources): PublishedResources => ({
    ...(lends !== 'memory' && milliCpu !== undefined && { milliCpu }),
    ...(lends !== 'cpu' && memoryBytes !== undefined && { memoryBytes }),
  });
  const picked = pick(lent);
  const hasOther = Object.keys(picked).length < Object.keys(lent).length;
  return { ...node, allocatable: pick(allocatable), lent: picked, hasOther };
}
