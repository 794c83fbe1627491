import type { LoadVerdict } from '../../load/load-verdict';
import type { LoadEntry } from './node-loads';
import type { NodeZones } from './topology-state';

/**
 * All that is remembered of one node, in one place: a request names thousands of nodes, so each name is looked up once. Each field belongs to
 * the class that keeps it.
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
