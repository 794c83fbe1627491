import type { Logger } from 'pino';
import { TOPOLOGY_RESULT } from '../../../core/annotations/topology-result';
import { fitPod, fitsInto, messageOf, type PodToPlace, type ZoneGrant } from '../../../core/fit';
import {
  ASSUMED_PODS,
  explainKubeError,
  formatClaims,
  formatTopologyResult,
  KubeError,
  MAX_CLAIMS,
  MERGE_PATCH,
  readPod,
  toPodToPlace,
  type Claim,
  type KubeClient,
} from '../../../kube';
import type { WholeCpus } from '../../policy/policy';
import { readNodeTopology, type NodeTopology } from '../../topology/node-topology';
import { TOPOLOGIES_PATH, type TopologyState } from '../cluster/topology-state';
import type { BindingArgs } from '../protocol/read-args';
import type { SeenPods } from './seen-pods';

export interface BinderParts {
  readonly client: Pick<KubeClient, 'send'>;
  /** Undefined: zones do not matter, and pods are only bound. */
  readonly state: TopologyState | undefined;
  readonly seen: SeenPods;
  readonly resources: readonly string[];
  readonly strategy: () => WholeCpus['strategy'] | undefined;
  readonly log: Logger;
  /** Another replica, or cpusetd on the node, has changed the topology meanwhile. */
  readonly onConflict: () => void;
  /** Maximum time of one binding: less than the `httpTimeout` of the scheduler, which gives up then. */
  readonly limitMs?: number;
  /** Wall clock, which claims are stamped with. */
  readonly nowMs?: () => number;
  /** Steady clock, for the time limit. */
  readonly clockMs?: () => number;
}

export type BindOutcome =
  | { readonly ok: true; readonly grants: readonly ZoneGrant[] | undefined }
  /** `because` is for the scheduler, which tries the pod again. */
  | { readonly ok: false; readonly result: 'no-fit' | 'conflict' | 'failed'; readonly because: string };

type NotBound = Extract<BindOutcome, { readonly ok: false }>;

interface Claimed {
  /** Absent when zones do not matter for the pod. */
  readonly grants?: readonly ZoneGrant[];
  /** To be taken back if the pod is not bound; absent when another binding of the pod may rely on it. */
  readonly claim?: Claim;
}

/** kube-scheduler waits five seconds by default. */
const LIMIT_MS = 4_500;
const CALL_MS = 1_500;
const MAX_TRIES = 5;
/** A claim that its pod's annotation has taken over stays for this time, for replicas whose watch is late. */
const SETTLED_MS = 60_000;

/**
 * Binds pods to the node that the scheduler has chosen. A pod that gets CPUs of zones first claims them: the claim is
 * written to the node's NodeResourceTopology with the version that the decision was based on. So of two replicas that
 * decide at once the API server accepts one, and the other decides again. A claim outlives its extender; it counts
 * until the pod says its zones itself.
 *
 * The binding carries the result: the API server copies annotations of a Binding into the pod, in the write that sets
 * its node. So no pod is bound without its result, and none gets the result of another node.
 */
export class Binder {
  private readonly turns = new Map<string, Promise<unknown>>();
  private readonly nowMs: () => number;
  private readonly clockMs: () => number;

  constructor(private readonly parts: BinderParts) {
    this.nowMs = parts.nowMs ?? Date.now;
    this.clockMs = parts.clockMs ?? (() => performance.now());
  }

  /** Never rejects. */
  async bind(args: BindingArgs): Promise<BindOutcome> {
    const untilMs = this.clockMs() + (this.parts.limitMs ?? LIMIT_MS);
    try {
      const pod = this.parts.seen.get(args.podUid) ?? (await this.readUnbound(args, untilMs));
      if (pod === 'bound') return BOUND;
      const claimed = await this.inTurn(args.node, () => this.claim(pod, args.node, untilMs));
      return 'because' in claimed ? claimed : await this.createBinding(args, claimed, untilMs);
    } catch (error) {
      if (error instanceof Refusal) return { ok: false, result: 'failed', because: error.message };
      const { podNamespace: namespace, podName: pod, node } = args;
      this.parts.log.warn({ namespace, pod, node, because: explainKubeError(error) }, 'a pod could not be bound');
      return { ok: false, result: 'failed', because: describeForPeer(error) };
    }
  }

  /**
   * The pod's request from the API server: after a restart, or when another replica has filtered. Throws Refusal for
   * another pod.
   */
  private async readUnbound(args: BindingArgs, untilMs: number): Promise<PodToPlace | 'bound'> {
    const object = await this.send({ method: 'GET', path: podPath(args) }, untilMs);
    const pod = readPod(object);
    if (pod?.uid !== args.podUid) throw new Refusal('the pod was deleted; another one has its name');
    if (pod.node === '') return toPodToPlace(pod, this.parts.resources);
    if (pod.node === args.node) return 'bound';
    throw new Refusal('the pod is bound to another node');
  }

  /** Decides on the zones by the newest data, and claims them. Without zones there is nothing to claim. */
  private async claim(pod: PodToPlace, node: string, untilMs: number): Promise<Claimed | NotBound> {
    const { state, strategy, onConflict } = this.parts;
    if (!state) return {};
    if (!state.isSynced) throw new Refusal('the NodeResourceTopologies and pods are not known yet');
    const { uid, namespace, name } = pod.spec;
    const own = new Set([uid]);
    for (let tries = 1; ; tries++) {
      const topology = state.topologyOf(node);
      const used = state.usedWithout(node, own);
      const fit = fitPod(pod, topology?.offer, used, strategy());
      if (fit.kind === 'skip' || (fit.kind === 'fit' && fit.grants.length === 0)) return {};
      if (fit.kind === 'no-fit') return { ok: false, result: 'no-fit', because: messageOf(fit.obstacle) };
      if (state.podsLate !== '') throw new Refusal('the API server sends no news of pods');
      const claims = state.claimsToKeep(node, SETTLED_MS);
      claims.delete(uid);
      if (claims.size >= MAX_CLAIMS) throw new Refusal(`${MAX_CLAIMS} pods are being bound to the node already`);
      // An earlier binding without an answer may yet be done, with the zones of its claim.
      const before = state.openClaims(node).get(uid);
      const grants = before && fitsInto(pod, topology!.offer, used, before.zones) ? grantsOf(before) : fit.grants;
      const zones = new Map(grants.map(({ zone, amounts }) => [zone, amounts]));
      const claim = { pod: `${namespace}/${name}`, zones, atMs: this.nowMs() };
      claims.set(uid, claim);
      try {
        await this.writeClaims(topology!, claims, untilMs);
        return { grants, ...(!before && { claim }) };
      } catch (error) {
        if (statusOf(error) === 404) state.forgetTopology(node);
        if (statusOf(error) !== 409) throw error;
        onConflict();
        if (tries === MAX_TRIES)
          return { ok: false, result: 'conflict', because: 'the zones of the node changed at each try' };
        await this.readTopology(node, untilMs);
      }
    }
  }

  private async writeClaims(
    { name, resourceVersion }: NodeTopology,
    claims: ReadonlyMap<string, Claim>,
    untilMs: number,
  ): Promise<void> {
    const body = { metadata: { resourceVersion, annotations: { [ASSUMED_PODS]: formatClaims(claims) } } };
    const path = `${TOPOLOGIES_PATH}/${name}`;
    this.note(await this.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body }, untilMs));
  }

  private async readTopology(node: string, untilMs: number): Promise<void> {
    this.note(await this.send({ method: 'GET', path: `${TOPOLOGIES_PATH}/${node}` }, untilMs));
  }

  private note(object: unknown): void {
    const topology = readNodeTopology(object);
    if (topology) this.parts.state?.noteTopology(topology);
  }

  private async createBinding(args: BindingArgs, { grants, claim }: Claimed, untilMs: number): Promise<BindOutcome> {
    const { podNamespace: namespace, podName: name, podUid: uid, node } = args;
    const annotations = grants && { [TOPOLOGY_RESULT]: formatTopologyResult(grants) };
    const body = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { namespace, name, uid, ...(annotations && { annotations }) },
      target: { apiVersion: 'v1', kind: 'Node', name: node },
    };
    try {
      await this.send({ method: 'POST', path: `${podPath(args)}/binding`, body }, untilMs);
      return { ok: true, grants };
    } catch (error) {
      // A conflict may be an earlier binding of ours that came without an answer.
      if (statusOf(error) === 409 && (await this.isBound(args, untilMs))) return BOUND;
      if (claim && isCertain(error)) await this.releaseClaim(args, claim, untilMs);
      throw error;
    }
  }

  private async isBound(args: BindingArgs, untilMs: number): Promise<boolean> {
    try {
      return (await this.readUnbound(args, untilMs)) === 'bound';
    } catch {
      return false; // the caller has a reason already
    }
  }

  /** A claim that another binding of the pod has renewed stays. It grows old if this fails. */
  private async releaseClaim({ podUid, node }: BindingArgs, { atMs }: Claim, untilMs: number): Promise<void> {
    const { state, log } = this.parts;
    try {
      await this.inTurn(node, async () => {
        const topology = state?.topologyOf(node);
        const claim = topology?.claims.get(podUid);
        if (!topology || claim?.atMs !== atMs) return;
        state?.dropClaim({ node, uid: podUid, claim });
        await this.writeClaims(topology, new Map([...topology.claims].filter(([uid]) => uid !== podUid)), untilMs);
      });
    } catch (error) {
      log.debug({ node, because: explainKubeError(error) }, 'a claim stays until it is old');
    }
  }

  /** Throws Refusal when the time of the binding is over. */
  private async send(call: Parameters<KubeClient['send']>[0], untilMs: number): Promise<unknown> {
    const timeoutMs = Math.min(CALL_MS, Math.floor(untilMs - this.clockMs()));
    if (timeoutMs <= 0) throw new Refusal('the API server took too long');
    return this.parts.client.send({ ...call, timeoutMs });
  }

  /** Decisions on one node are made one after the other, those on different nodes at once. */
  private async inTurn<T>(node: string, act: () => Promise<T>): Promise<T> {
    const turn = (this.turns.get(node) ?? Promise.resolve()).then(act, act);
    this.turns.set(node, turn);
    try {
      return await turn;
    } finally {
      if (this.turns.get(node) === turn) this.turns.delete(node);
    }
  }
}

const BOUND: BindOutcome = { ok: true, grants: undefined };

/** The pod is not bound for a reason that the scheduler may read. */
class Refusal extends Error {}

function podPath({ podNamespace, podName }: BindingArgs): string {
  return `/api/v1/namespaces/${podNamespace}/pods/${podName}`;
}

function grantsOf({ zones }: Claim): ZoneGrant[] {
  return [...zones].map(([zone, amounts]) => ({ zone, amounts }));
}

function statusOf(error: unknown): number | undefined {
  return error instanceof KubeError ? error.status : undefined;
}

/** True for an answer that says that nothing was done; without an answer it may have been done. */
function isCertain(error: unknown): boolean {
  const status = statusOf(error) ?? 0;
  return status >= 400 && status < 500;
}

/** A sentence for the scheduler, without addresses. */
function describeForPeer(error: unknown): string {
  if (!(error instanceof KubeError)) return 'internal error';
  return error.status === 0 ? 'the API server did not answer' : `the API server answered with status ${error.status}`;
}
