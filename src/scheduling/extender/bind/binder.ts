import type { Logger } from 'pino';
import { asObject, asString, explainKubeError, KubeError, MERGE_PATCH, type KubeClient } from '../../../kube';
import type { WholeCpus } from '../../policy/policy';
import { ASSUMED_PODS, formatClaims, MAX_CLAIMS, type Claim } from '../../topology/claims';
import { fitPod } from '../../topology/fit-pod';
import { readNodeTopology, type NodeTopology } from '../../topology/node-topology';
import { readPodRequest, type PodRequest } from '../../topology/pod-request';
import { formatTopologyResult, TOPOLOGY_RESULT, type ZoneGrant } from '../../topology/topology-result';
import { CLAIM_LIFE_MS, TOPOLOGIES_PATH, type TopologyState } from '../cluster/topology-state';
import type { BindingArgs } from '../protocol/read-args';
import { SeenPods } from './seen-pods';

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
  readonly nowMs?: () => number;
}

export type BindOutcome =
  | { readonly ok: true; readonly grants: readonly ZoneGrant[] | undefined }
  /** `because` is for the scheduler, which tries the pod again. */
  | { readonly ok: false; readonly result: 'no-fit' | 'conflict' | 'failed'; readonly because: string };

/** The calls of one binding together stay below the five seconds that kube-scheduler waits by default. */
const CALL_MS = 1_500;
const MAX_TRIES = 5;
/** A claim that its pod's annotation has taken over stays for this time, for replicas whose watch is late. */
const SETTLED_MS = 60_000;

/**
 * Binds pods to the node that the scheduler has chosen. A pod that gets CPUs of zones first claims them: the claim is written to the node's
 * NodeResourceTopology with the version that the decision was based on. So of two replicas that decide at once the API server accepts one,
 * and the other decides again. A claim outlives its extender; it counts until the pod says its zones itself.
 */
export class Binder {
  private readonly turns = new Map<string, Promise<unknown>>();
  private readonly nowMs: () => number;

  constructor(private readonly parts: BinderParts) {
    this.nowMs = parts.nowMs ?? Date.now;
  }

  /** Never rejects. */
  async bind(args: BindingArgs): Promise<BindOutcome> {
    try {
      const pod = this.parts.seen.get(args.podUid) ?? (await this.readPod(args));
      if (pod === 'bound') return { ok: true, grants: undefined };
      const claimed = await this.inTurn(args.node, () => this.claim(pod, args.node));
      if (!claimed.ok) return claimed;
      try {
        if (claimed.grants) await this.annotate(args, claimed.grants);
        await this.createBinding(args);
      } catch (error) {
        if (claimed.grants && isCertain(error)) await this.releaseClaim(args);
        throw error;
      }
      return claimed;
    } catch (error) {
      if (error instanceof NotThisPod) return { ok: false, result: 'failed', because: error.message };
      const { podNamespace: namespace, podName: pod, node } = args;
      this.parts.log.warn({ namespace, pod, node, because: explainKubeError(error) }, 'a pod could not be bound');
      return { ok: false, result: 'failed', because: describeForPeer(error) };
    }
  }

  /** After a restart, or when another replica has filtered: the pod's request from the API server. */
  private async readPod({ podNamespace, podName, podUid, node }: BindingArgs): Promise<PodRequest | 'bound'> {
    const pod = await this.send({ method: 'GET', path: podPath(podNamespace, podName) });
    const request = readPodRequest(pod, this.parts.resources);
    if (request.uid !== podUid) throw new NotThisPod('the pod was deleted; another one has its name');
    const { nodeName } = asObject(asObject(pod)['spec']);
    if (asString(nodeName) === '') return request;
    if (nodeName === node) return 'bound';
    throw new NotThisPod('the pod is bound to another node');
  }

  /** Decides on the zones by the newest data, and claims them. Without zones there is nothing to claim. */
  private async claim(pod: PodRequest, node: string): Promise<BindOutcome> {
    const { state, strategy, onConflict } = this.parts;
    if (!state) return { ok: true, grants: undefined };
    const own = new Set([pod.uid]);
    for (let tries = 1; ; tries++) {
      const topology = state.topologyOf(node);
      const fit = fitPod(pod, topology, state.usedWithout(node, own), strategy());
      if (fit.kind === 'skip') return { ok: true, grants: undefined };
      if (fit.kind === 'no-fit') return { ok: false, result: 'no-fit', because: fit.because };
      const claims = new Map(this.claimsToKeep(topology!));
      if (claims.size >= MAX_CLAIMS)
        return { ok: false, result: 'failed', because: `${MAX_CLAIMS} pods are being bound to the node already` };
      const zones = new Map(fit.grants.map(({ zone, amounts }) => [zone, amounts]));
      claims.set(pod.uid, { zones, atMs: this.nowMs() });
      try {
        await this.writeClaims(topology!, claims);
        return { ok: true, grants: fit.grants };
      } catch (error) {
        if (!isConflict(error)) throw error;
        onConflict();
        if (tries === MAX_TRIES)
          return { ok: false, result: 'conflict', because: 'the zones of the node changed at each try' };
        await this.readTopology(node);
      }
    }
  }

  /** Claims whose pods say their zones themselves, are gone or too old are left out. */
  private claimsToKeep({ name, claims }: NodeTopology): Iterable<readonly [string, Claim]> {
    const { state } = this.parts;
    const nowMs = this.nowMs();
    return [...claims].filter(
      ([uid, { atMs }]) =>
        atMs > nowMs - CLAIM_LIFE_MS &&
        state?.isGone(uid) !== true &&
        (atMs > nowMs - SETTLED_MS || state?.isSeen(name, uid) !== true),
    );
  }

  private async writeClaims(
    { name, resourceVersion }: NodeTopology,
    claims: ReadonlyMap<string, Claim>,
  ): Promise<void> {
    const body = { metadata: { resourceVersion, annotations: { [ASSUMED_PODS]: formatClaims(claims) } } };
    const path = `${TOPOLOGIES_PATH}/${name}`;
    this.note(await this.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body }));
  }

  private async readTopology(node: string): Promise<void> {
    this.note(await this.send({ method: 'GET', path: `${TOPOLOGIES_PATH}/${node}` }));
  }

  private note(object: unknown): void {
    const topology = readNodeTopology(object);
    if (topology) this.parts.state?.noteTopology(topology);
  }

  /** Nobody waits for it, and the claim ages if it fails. */
  private async releaseClaim({ podUid, node }: BindingArgs): Promise<void> {
    const { state, log } = this.parts;
    const topology = state?.topologyOf(node);
    if (!topology?.claims.has(podUid)) return;
    const claims = new Map([...topology.claims].filter(([uid]) => uid !== podUid));
    try {
      await this.inTurn(node, () => this.writeClaims(topology, claims));
    } catch (error) {
      log.debug({ node, because: explainKubeError(error) }, 'a claim stays until it is old');
    }
  }

  /** The uid is a condition: another pod of this name is left alone. */
  private async annotate({ podNamespace, podName, podUid }: BindingArgs, grants: readonly ZoneGrant[]): Promise<void> {
    const body = { metadata: { uid: podUid, annotations: { [TOPOLOGY_RESULT]: formatTopologyResult(grants) } } };
    const path = podPath(podNamespace, podName);
    await this.send({ method: 'PATCH', path, contentType: MERGE_PATCH, body });
  }

  private async createBinding({ podNamespace, podName, podUid, node }: BindingArgs): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { namespace: podNamespace, name: podName, uid: podUid },
      target: { apiVersion: 'v1', kind: 'Node', name: node },
    };
    await this.send({ method: 'POST', path: `${podPath(podNamespace, podName)}/binding`, body });
  }

  private send(call: Parameters<KubeClient['send']>[0]): Promise<unknown> {
    return this.parts.client.send({ ...call, timeoutMs: CALL_MS });
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

/** The pod is not the one that the scheduler means. The message names no detail. */
class NotThisPod extends Error {}

function podPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${namespace}/pods/${name}`;
}

function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409;
}

/** True for an answer that says that nothing was done; without an answer it may have been done. */
function isCertain(error: unknown): boolean {
  return error instanceof KubeError && error.status >= 400 && error.status < 500;
}

/** A sentence for the scheduler, without addresses. */
function describeForPeer(error: unknown): string {
  if (!(error instanceof KubeError)) return 'internal error';
  return error.status === 0 ? 'the API server did not answer' : `the API server answered with status ${error.status}`;
}
