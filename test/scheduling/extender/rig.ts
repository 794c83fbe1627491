import pino from 'pino';
import { Binder, type BindOutcome, type BinderParts } from '../../../src/scheduling/extender/bind/binder';
import { checkClaims } from '../../../src/scheduling/extender/bind/check-claims';
import { SeenPods } from '../../../src/scheduling/extender/bind/seen-pods';
import { NodeRecords } from '../../../src/scheduling/extender/cluster/node-records';
import { TopologyState } from '../../../src/scheduling/extender/cluster/topology-state';
import { readPodToPlace } from '../../../src/kube';
import { StandInCluster, type Replica } from './stand-in-cluster';

const log = pino({ level: 'silent' });

/** The time of the test, for all replicas. */
export interface Clock {
  nowMs: number;
}

/** The time that the wall clock of a replica is ahead of that of the test. */
export interface Skewed {
  readonly aheadMs?: number;
}

/** One extender: its caches and its binder. */
export interface Extender {
  readonly replica: Replica;
  readonly state: TopologyState;
  readonly binder: Binder;
  readonly conflicts: () => number;
  /** Binds a pod that its filter has seen, unless `isUnseen`. */
  readonly bind: (pod: object, node: string, options?: { readonly isUnseen?: boolean }) => Promise<BindOutcome>;
  /** A round of looking for claims whose pods were not bound. */
  readonly checkClaims: () => Promise<void>;
  /** Ends it, as the kernel does. */
  readonly kill: () => void;
}

export function startExtender(
  cluster: StandInCluster,
  clock: Clock,
  { aheadMs = 0, ...more }: Partial<BinderParts> & Skewed = {},
): Extender {
  const stop = new AbortController();
  const replica = cluster.createReplica();
  const nowMs = (): number => clock.nowMs;
  const state = new TopologyState({
    client: replica.client,
    records: new NodeRecords(),
    log,
    signal: stop.signal,
    clockMs: nowMs,
  });
  const seen = new SeenPods();
  let conflicts = 0;
  const binder = new Binder({
    client: replica.client,
    state,
    seen,
    resources: ['cpu'],
    strategy: () => undefined,
    log,
    onConflict: () => conflicts++,
    nowMs: () => nowMs() + aheadMs,
    clockMs: nowMs,
    ...more,
  });
  void state.run();
  return {
    replica,
    state,
    binder,
    conflicts: () => conflicts,
    bind: (pod, node, { isUnseen = false } = {}) => {
      const place = readPodToPlace(pod)!;
      if (!isUnseen) seen.add(place);
      const { name, namespace, uid } = place.spec;
      return binder.bind({ podName: name, podNamespace: namespace, podUid: uid, node });
    },
    checkClaims: () => checkClaims({ client: replica.client, state, log }),
    kill: () => {
      replica.isAlive = false;
      stop.abort();
    },
  };
}
