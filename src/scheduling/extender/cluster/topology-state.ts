import type { Logger } from 'pino';
import { asObject, asString, CollectionInformer, type KubeClient } from '../../../kube';
import { NO_ZONE_AMOUNTS, type ZoneAmounts } from '../../topology/amounts';
import type { Claim } from '../../topology/claims';
import { readNodeTopology, sumUse, type NodeTopology } from '../../topology/node-topology';
import { readPodUse } from '../../topology/pod-request';

export const TOPOLOGIES_PATH = '/apis/topology.crane.io/v1alpha1/noderesourcetopologies';

export interface TopologyStateParts {
  readonly client: KubeClient;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** The zones of a node, or what is taken of them, have changed. */
  readonly onChange?: (node: string) => void;
  readonly nowMs?: () => number;
}

/** A bound pod with a topology result. */
interface PodUse {
  readonly uid: string;
  readonly node: string;
  readonly use: ZoneAmounts;
}

/** A claim is old after this time: its extender ended before it bound the pod. */
export const CLAIM_LIFE_MS = 30 * 60_000;
/** Most uids of deleted pods that are remembered. */
const MAX_GONE = 10_000;

/** The zones of all nodes and what pods take of them, kept up to date by watches. */
export class TopologyState {
  private readonly topologies: CollectionInformer<NodeTopology>;
  private readonly pods: CollectionInformer<PodUse>;
  /** By node and uid. */
  private readonly uses = new Map<string, Map<string, ZoneAmounts>>();
  /** Topologies that we have written, until the watch shows them or newer ones. */
  private readonly written = new Map<string, NodeTopology>();
  /** Uids of pods that were bound and are gone. */
  private readonly gone = new Set<string>();
  /** By node: what is taken, computed when it is asked for. */
  private readonly sums = new Map<string, ZoneAmounts>();
  private readonly nowMs: () => number;

  constructor(private readonly parts: TopologyStateParts) {
    const { client, log, signal, nowMs = Date.now } = parts;
    this.nowMs = nowMs;
    const common = { client, log, signal };
    this.topologies = new CollectionInformer<NodeTopology>({
      ...common,
      path: TOPOLOGIES_PATH,
      reduce: readNodeTopology,
      onChange: (topology) => this.takeTopology(topology),
      onDelete: ({ name }) => {
        this.written.delete(name);
        this.changed(name);
      },
    });
    this.pods = new CollectionInformer<PodUse>({
      ...common,
      path: '/api/v1/pods',
      fieldSelector: 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed',
      reduce: readPod,
      onChange: (pod, _key, before) => this.takePod(pod, before),
      onDelete: (pod) => this.forgetPod(pod),
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

  /** Undefined: the node has published none. */
  topologyOf(node: string): NodeTopology | undefined {
    return this.written.get(node) ?? this.topologies.get(node);
  }

  /** The amounts that are taken of each zone of the node, by its pods and by those that are being bound to it. */
  usedOn(node: string): ZoneAmounts {
    const known = this.sums.get(node);
    if (known) return known;
    const sum = this.usedWithout(node, NO_PODS);
    // Claims end without an event.
    if (this.topologyOf(node)?.claims.size === 0) this.sums.set(node, sum);
    return sum;
  }

  /** The same without these pods. */
  usedWithout(node: string, uids: ReadonlySet<string>): ZoneAmounts {
    const pods = [...(this.uses.get(node) ?? [])].flatMap(([uid, use]) => (uids.has(uid) ? [] : [use]));
    const claims = [...this.openClaims(node)].flatMap(([uid, { zones }]) => (uids.has(uid) ? [] : [zones]));
    return pods.length + claims.length === 0 ? NO_ZONE_AMOUNTS : sumUse([...pods, ...claims]);
  }

  /** The claims of a node that still count: their pods are neither seen with a result, nor gone, nor are they too old. */
  openClaims(node: string): ReadonlyMap<string, Claim> {
    const claims = this.topologyOf(node)?.claims;
    if (!claims || claims.size === 0) return NO_CLAIMS;
    const sinceMs = this.nowMs() - CLAIM_LIFE_MS;
    const seen = this.uses.get(node);
    return new Map([...claims].filter(([uid, { atMs }]) => atMs > sinceMs && !seen?.has(uid) && !this.gone.has(uid)));
  }

  /** True when the pod is bound to the node and says its result. */
  isSeen(node: string, uid: string): boolean {
    return this.uses.get(node)?.has(uid) === true;
  }

  isGone(uid: string): boolean {
    return this.gone.has(uid);
  }

  /** Takes a topology that the API server has answered with, which the watch may show later. */
  noteTopology(topology: NodeTopology): void {
    this.written.set(topology.name, topology);
    this.changed(topology.name);
  }

  private takeTopology(topology: NodeTopology): void {
    const written = this.written.get(topology.name);
    if (written && isOlder(topology, written)) return;
    this.written.delete(topology.name);
    this.changed(topology.name);
  }

  private takePod({ uid, node, use }: PodUse, before: PodUse | undefined): void {
    if (before && before.uid !== uid) this.forgetPod(before);
    let ofNode = this.uses.get(node);
    if (!ofNode) this.uses.set(node, (ofNode = new Map<string, ZoneAmounts>()));
    ofNode.set(uid, use);
    this.changed(node);
  }

  private forgetPod({ uid, node }: PodUse): void {
    const ofNode = this.uses.get(node);
    if (ofNode?.delete(uid) === true && ofNode.size === 0) this.uses.delete(node);
    this.gone.add(uid);
    if (this.gone.size > MAX_GONE) this.gone.delete(this.gone.values().next().value!);
    this.changed(node);
  }

  private changed(node: string): void {
    this.sums.delete(node);
    this.parts.onChange?.(node);
  }
}

const NO_PODS: ReadonlySet<string> = new Set();
const NO_CLAIMS: ReadonlyMap<string, Claim> = new Map();

/** True for a version before the other: versions of one collection are numbers that grow (KEP-5504). */
function isOlder({ resourceVersion: a }: NodeTopology, { resourceVersion: b }: NodeTopology): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}

function readPod(pod: unknown): PodUse | undefined {
  const { metadata, spec } = asObject(pod);
  const use = readPodUse(pod);
  const node = asString(asObject(spec)['nodeName']);
  const uid = asString(asObject(metadata)['uid']);
  return use && node !== '' && uid !== '' ? { uid, node, use } : undefined;
}
