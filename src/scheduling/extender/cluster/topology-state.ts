import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import { freeRoomOf, looksAtNames, NO_ZONE_AMOUNTS, sumUse, type ZoneAmounts } from '../../../core/fit';
import { BOUND_PODS, CollectionInformer, type Claim, type KubeClient } from '../../../kube';
import { readNodeTopology, type NodeTopology } from '../../topology/node-topology';
import { noVerdict } from '../verdict';
import { BoundPodReader, type BoundPod } from './bound-pod';
import type { NodeRecord, NodeRecords, NodeZones, OpenClaims } from './node-records';
import { PodUses } from './pod-uses';
import { keyOfClaim, SeenClaims } from './seen-claims';

export const TOPOLOGIES_PATH = '/apis/topology.crane.io/v1alpha1/noderesourcetopologies';

export interface TopologyStateParts {
  readonly client: Pick<KubeClient, 'send' | 'watch'>;
  readonly records: NodeRecords;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The zones of a node, or what is taken of them, have changed. */
  readonly onChange?: (node: string) => void;
  /** Monotonic clock. */
  readonly clockMs?: () => number;
}

/** A claim is too old when this replica has seen it for this time: its extender ended before it bound the pod. */
const CLAIM_LIFE_MS = 30 * 60_000;
/** Most uids of deleted pods that are remembered. */
const MAX_GONE = 10_000;

/** A claim that has counted for long. */
export interface OldClaim {
  readonly node: string;
  readonly uid: string;
  readonly claim: Claim;
}

/** The zones of all nodes and what pods take of them, kept up to date by watches. */
export class TopologyState {
  private readonly topologies: CollectionInformer<NodeTopology>;
  private readonly pods: CollectionInformer<BoundPod>;
  private readonly uses: PodUses;
  /** Topologies that we have written, until the watch shows them or newer ones. */
  private readonly written = new Map<string, NodeTopology>();
  /** Uids of pods that were bound and are gone. */
  private readonly gone = new RecentSet(MAX_GONE);
  /** Claims whose pod was not bound by them. */
  private readonly dropped = new RecentSet(MAX_GONE);
  private namesMatter = false;
  private readonly seenClaims: SeenClaims;
  private readonly clockMs: () => number;

  constructor(private readonly parts: TopologyStateParts) {
    const { client, log, signal, clockMs = () => performance.now() } = parts;
    this.clockMs = clockMs;
    this.seenClaims = new SeenClaims(clockMs);
    this.uses = new PodUses(clockMs);
    const reader = new BoundPodReader();
    const common = { client, log, signal };
    this.topologies = new CollectionInformer<NodeTopology>({
      ...common,
      path: TOPOLOGIES_PATH,
      reduce: (object) => this.read(object),
      onChange: (topology, _key, before) => this.takeTopology(topology, before),
      onDelete: ({ name }) => {
        this.written.delete(name);
        this.seenClaims.forget(name);
        this.changed(name);
      },
    });
    this.pods = new CollectionInformer<BoundPod>({
      ...common,
      path: '/api/v1/pods',
      fieldSelector: BOUND_PODS,
      reduce: (object) => reader.read(object),
      onChange: (pod, _key, before) => this.takePod(pod, before),
      onDelete: (pod, _key, isGone) => this.forgetPod(pod, isGone),
    });
  }

  /** Runs until the signal aborts; never rejects. */
  async run(): Promise<void> {
    await Promise.all([this.topologies.run(), this.pods.run()]);
  }

  get isSynced(): boolean {
    return this.topologies.isSynced && this.pods.isSynced;
  }

  get topologyCount(): number {
    return this.topologies.size;
  }

  get podCount(): number {
    return this.pods.size;
  }

  /** The reason for having no news of pods now; empty while the API server sends changes. */
  get podsLate(): string {
    return this.pods.reason;
  }

  /** Some node has rules that look at the names of pods. */
  get looksAtNames(): boolean {
    return this.namesMatter;
  }

  /** Undefined: the node has published none. */
  topologyOf(node: string): NodeTopology | undefined {
    return this.written.get(node) ?? this.topologies.get(node);
  }

  /** The zones of the node as they are now. */
  zonesOf(record: NodeRecord): NodeZones {
    const { name: node, zones: known } = record;
    if (known && (!known.claims || this.countStill(node, known.claims))) return known;
    const list = [...this.openClaims(node)];
    const seenMs = list.map(([uid, claim]) => this.seenClaims.sinceMs(node, uid, claim));
    const untilMs = Math.min(this.uses.untilMs(node), ...seenMs.map((ms) => ms + CLAIM_LIFE_MS));
    const offer = this.topologyOf(node)?.offer;
    const free = offer && freeRoomOf(offer, this.usedWithout(node, NO_PODS));
    const claims = untilMs === Infinity ? undefined : { list, untilMs };
    return (record.zones = { offer, free, claims, verdict: noVerdict() });
  }

  /** The amounts that are taken of each zone of the node, without these pods. */
  usedWithout(node: string, uids: ReadonlySet<string>): ZoneAmounts {
    const pods = this.uses.list(node, this.topologyOf(node)?.offer.rules, uids);
    const claims = [...this.openClaims(node)].flatMap(([uid, { zones }]) => (uids.has(uid) ? [] : [zones]));
    return pods.length + claims.length === 0 ? NO_ZONE_AMOUNTS : sumUse([...pods, ...claims]);
  }

  /** The claims of a node that count: until the pod is seen with a result, or is gone, or the claim is too old. */
  openClaims(node: string): ReadonlyMap<string, Claim> {
    const claims = this.topologyOf(node)?.claims;
    if (!claims || claims.size === 0) return NO_CLAIMS;
    return new Map([...claims].filter(([uid, claim]) => !this.uses.has(uid) && !this.isOver(node, uid, claim)));
  }

  /** The claims of all nodes that this replica has counted for longer than this time. */
  listOldClaims(forMs: number): OldClaim[] {
    const beforeMs = this.clockMs() - forMs;
    const nodes = [...this.topologies.entries()].map(([node]) => node);
    return nodes.flatMap((node) =>
      [...this.openClaims(node)].flatMap(([uid, claim]) =>
        this.seenClaims.sinceMs(node, uid, claim) < beforeMs ? [{ node, uid, claim }] : [],
      ),
    );
  }

  /**
   * The claims of a node that have to stay written: all but void ones, and those of pods that this replica has seen
   * since `settledMs`.
   */
  claimsToKeep(node: string, settledMs: number): Map<string, Claim> {
    const settledAtMs = this.clockMs() - settledMs;
    const isSettled = (uid: string, claim: Claim): boolean =>
      this.seenClaims.sinceMs(node, uid, claim) < settledAtMs && this.uses.has(uid);
    const claims = this.topologyOf(node)?.claims ?? NO_CLAIMS;
    return new Map([...claims].filter(([uid, claim]) => !isSettled(uid, claim) && !this.isOver(node, uid, claim)));
  }

  /** The claim counts no more: its pod was not bound by it. A later claim of the pod does. */
  dropClaim({ node, uid, claim }: OldClaim): void {
    this.dropped.add(keyOnNode(node, uid, claim));
    this.changed(node);
  }

  /** Takes a topology that the API server has answered with, unless the watch has shown a newer one already. */
  noteTopology(topology: NodeTopology): void {
    const known = this.topologyOf(topology.name);
    if (known && isOlder(topology, known)) return;
    this.written.set(topology.name, topology);
    this.seenClaims.note(topology.name, topology.claims);
    this.changed(topology.name);
  }

  /** The API server has none of this node any more. */
  forgetTopology(node: string): void {
    if (!this.written.delete(node)) return;
    this.seenClaims.forget(node);
    this.changed(node);
  }

  private read(object: unknown): NodeTopology | undefined {
    const topology = readNodeTopology(object);
    if (looksAtNames(topology?.offer.rules)) this.namesMatter = true;
    return topology;
  }

  private takeTopology(topology: NodeTopology, before: NodeTopology | undefined): void {
    // A claim alone is an extender's.
    if (before && !isDeepStrictEqual(before.offer, topology.offer)) this.uses.notePublished(topology.name);
    const written = this.written.get(topology.name);
    if (written && isOlder(topology, written)) return;
    this.written.delete(topology.name);
    this.seenClaims.note(topology.name, topology.claims);
    this.changed(topology.name);
  }

  private takePod(pod: BoundPod, before: BoundPod | undefined): void {
    if (before && before.uid !== pod.uid) this.forgetPod(before, true);
    this.uses.take(pod);
    this.changed(pod.node);
  }

  private forgetPod({ uid, node }: BoundPod, isGone: boolean): void {
    this.uses.drop(node, uid, isGone);
    this.gone.add(uid);
    this.changed(node);
  }

  private countStill(node: string, { list, untilMs }: OpenClaims): boolean {
    return this.clockMs() < untilMs && list.every(([uid, claim]) => this.isOpen(node, uid, claim));
  }

  /** The pod may still be bound by the claim. */
  private isOpen(node: string, uid: string, claim: Claim): boolean {
    return !this.uses.has(uid) && !this.isVoid(node, uid, claim);
  }

  private isVoid(node: string, uid: string, claim: Claim): boolean {
    return this.gone.has(uid) || this.dropped.has(keyOnNode(node, uid, claim));
  }

  /** The claim is void, or too old. */
  private isOver(node: string, uid: string, claim: Claim): boolean {
    const bornMs = this.clockMs() - CLAIM_LIFE_MS;
    return this.isVoid(node, uid, claim) || this.seenClaims.sinceMs(node, uid, claim) <= bornMs;
  }

  private changed(node: string): void {
    const record = this.parts.records.find(node);
    if (record) record.zones = undefined;
    this.parts.onChange?.(node);
  }
}

/** The last values that were added. */
class RecentSet {
  private readonly values = new Set<string>();

  constructor(private readonly most: number) {}

  add(value: string): void {
    this.values.delete(value);
    this.values.add(value);
    if (this.values.size > this.most) this.values.delete(this.values.values().next().value!);
  }

  has(value: string): boolean {
    return this.values.has(value);
  }
}

const keyOnNode = (node: string, uid: string, claim: Claim): string => `${node} ${keyOfClaim(uid, claim)}`;

const NO_PODS: ReadonlySet<string> = new Set();
const NO_CLAIMS: ReadonlyMap<string, Claim> = new Map();

/** True for a version before the other: versions of one collection are numbers that grow (KEP-5504). */
function isOlder({ resourceVersion: a }: NodeTopology, { resourceVersion: b }: NodeTopology): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}
