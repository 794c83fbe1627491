import type { FreeRoom, NodeOffer } from '../../../core/fit';
import type { LoadVerdict } from '../../load/load-verdict';
import type { NodeLoad } from '../../load/node-load';
import type { SchedulerPolicy } from '../../policy/policy';
import type { Claim } from '../../../kube';
import type { ZonesVerdict } from '../verdict';

/**
 * All that is remembered of one node, in one place: a request names thousands of nodes, so each name is looked up once.
 * Each field belongs to the class that keeps it.
 */
export interface NodeRecord {
  readonly name: string;
  /** Never given to another node. */
  readonly number: number;
  /** Kept by NodeLoads. */
  load: LoadEntry | undefined;
  verdict: LoadVerdict | undefined;
  /** Kept by TopologyState. */
  zones: NodeZones | undefined;
}

/** A Node's load, and the annotations that it was read from, for a policy that names other metrics later. */
export interface LoadEntry {
  readonly annotations: Readonly<Record<string, string>>;
  load: NodeLoad;
  /** The policy that the load was read by. */
  by: SchedulerPolicy;
}

/** The zones of a node: the same object until a fact about them changes. */
export interface NodeZones {
  /** Undefined: the node has published none. */
  readonly offer: NodeOffer | undefined;
  /** The room that the node's pods, and those that are being bound to it, leave free. Undefined without an offer. */
  readonly free: FreeRoom | undefined;
  /** The claims that count in it until one of them is void, or too old. */
  readonly claims: OpenClaims | undefined;
  /** Kept by the judge. */
  readonly verdict: ZonesVerdict;
}

export interface OpenClaims {
  readonly list: readonly (readonly [uid: string, Claim])[];
  /** The time when the first of them is too old. */
  readonly untilMs: number;
}

/** So many new records after the last time, those of names that no Node has are forgotten. */
const MAX_CREATED = 50_000;

/** The records of all nodes that the API server or a request has named. */
export class NodeRecords {
  private readonly byName = new Map<string, NodeRecord>();
  private readonly names = new Map<number, string>();
  private created = 0;
  private lastNumber = 0;

  /** The node's record, a new one for a new name. */
  of(name: string): NodeRecord {
    const known = this.byName.get(name);
    if (known) return known;
    if (this.created++ >= MAX_CREATED) this.forgetStrangers();
    const number = ++this.lastNumber;
    const record: NodeRecord = { name, number, load: undefined, verdict: undefined, zones: undefined };
    this.byName.set(name, record);
    this.names.set(number, name);
    return record;
  }

  /** Undefined for a name that was not named lately. */
  find(name: string): NodeRecord | undefined {
    return this.byName.get(name);
  }

  /** Undefined for a node that is forgotten. */
  nameOf(number: number): string | undefined {
    return this.names.get(number);
  }

  private forgetStrangers(): void {
    for (const [name, { number, load }] of this.byName) {
      if (load) continue;
      this.byName.delete(name);
      this.names.delete(number);
    }
    this.created = 0;
  }
}
