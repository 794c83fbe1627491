import type { ContainerStatus, Status } from '../../admin/model/status';
import type { ExplainQuery, Explanation } from '../../admin/model/explanation';
import type { AllocationStep } from '../../core/allocation';
import { CpuSet } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import { DEFAULT_KIND, type PolicyName } from '../../core/model/policies';
import type { Refusal } from '../../core/model/refusal';
import { explainRefusal } from './explain-refusal';
import { sharedCpusOfNodes } from '../../core/model/pool-view';
import type { NodeView } from '../../core/model/node-view';
import { explainDecision, POLICIES } from '../../core/policy';
import { describeKeptCpus } from '../../core/model/kept-cpus';
import { compareTexts, plural } from '../../core/text';
import { snapshotFor } from '../../core/decision/snapshot';

type PodQuery = Extract<ExplainQuery, { kind: 'pod' }>;
type OfPod = Pick<ContainerStatus, 'podUid' | 'namespace' | 'pod' | 'container'>;

export interface Known {
  readonly status: Status;
  /** Refusals of containers that were not served since. */
  readonly refused: readonly Refusal[];
  readonly stepsOf: (containerId: string) => readonly AllocationStep[];
  /** The node as it is. */
  readonly view: NodeView;
}

/**
 * The reasons why the containers of a pod, or one of them, have the CPUs that they have, or have none because they were
 * refused. Throws NOT_FOUND, or FAILED_PRECONDITION with the candidates where the name is that of pods in several
 * namespaces.
 */
export function explainPod({ status, refused, stepsOf, view }: Known, query: PodQuery): Explanation {
  const { idle } = status;
  const containers = status.containers.filter(({ pause }) => !pause);
  const asRefused = refused.map((refusal) => ({ ...nameOf(refusal), refusal })).filter((each) => isOfPod(each, query));
  const candidates = [...[...containers, ...idle].filter((each) => isOfPod(each, query)), ...asRefused];
  const named = new Set(candidates.map(nameWithNamespace));
  if (named.size > 1) {
    const pods = [...listPods(candidates).values()].sort();
    throw new CpusetdError(
      'FAILED_PRECONDITION',
      `pod ${query.pod} is ambiguous: ${pods.join(', ')}; write it as namespace/name, or its uid`,
    );
  }
  const runs = (uid: string): boolean => containers.some(({ podUid }) => podUid === uid);
  const meant = chooseNewest(candidates, runs);
  const asked = (each: OfPod): boolean =>
    each.podUid === meant && (query.container === '' || each.container === query.container);
  const found = containers.filter(asked);
  const exited = idle.filter(asked);
  const notServed = asRefused.filter(asked);
  if (found.length + exited.length + notServed.length === 0) {
    const what = query.container === '' ? `pod ${query.pod}` : `container ${query.container} in pod ${query.pod}`;
    const remedy = explainAsContainer(query, containers) ?? 'cpusetd status lists all that run';
    throw new CpusetdError(
      'NOT_FOUND',
      `no running ${what} is known here, nor one that was refused in the last day; ${remedy}`,
    );
  }
  return {
    kind: 'containers',
    containers: found.map((container) => ({ container, steps: stepsOf(container.id) })),
    idle: exited,
    refused: notServed.map(({ refusal }) => explainRefusal(view, refusal)),
    others: [...listPods(candidates).keys()]
      .filter((podUid) => podUid !== meant)
      .map((podUid) => ({ podUid, running: runs(podUid), cpus: view.holdingsOf(podUid).cpus })),
  };
}

/** The commands that explain the containers of the name that was given for a pod, if there are any. */
function explainAsContainer({ namespace, pod: name }: PodQuery, containers: readonly OfPod[]): string | undefined {
  if (namespace !== '') return undefined;
  const pods = [...new Set(containers.filter(({ container }) => container === name).map(nameWithNamespace))].sort();
  if (pods.length === 0) return undefined;
  const more = pods.length > MOST_NAMED ? ` and ${plural(pods.length - MOST_NAMED, 'other pod')}` : '';
  return `container ${name} is in ${pods.slice(0, MOST_NAMED).join(', ')}${more}: cpusetd explain ${pods[0]} ${name}`;
}

const MOST_NAMED = 3;

const nameWithNamespace = ({ namespace, pod }: OfPod): string => `${namespace}/${pod}`;

/**
 * Of several pods of one namespace and name: the uid of the one that runs, or else of the newest. The old one of a
 * replaced pod ends.
 */
function chooseNewest(candidates: readonly Candidate[], runs: (uid: string) => boolean): string | undefined {
  const [newest] = [...candidates].sort(
    (a, b) =>
      Number(runs(b.podUid)) - Number(runs(a.podUid)) ||
      Date.parse(timeOf(b)) - Date.parse(timeOf(a)) ||
      compareTexts(a.podUid, b.podUid),
  );
  return newest?.podUid;
}

/** A container that runs, has left CPUs, or was refused. */
type Candidate = OfPod & ({ readonly since: string } | { readonly refusal: Refusal });

function timeOf(candidate: Candidate): string {
  return 'since' in candidate ? candidate.since : candidate.refusal.lastAt;
}

function nameOf({ podUid, podNamespace: namespace, podName: pod, containerName: container }: Refusal): OfPod {
  return { podUid, namespace, pod, container };
}

function isOfPod({ namespace, pod, podUid }: OfPod, query: PodQuery): boolean {
  if (query.namespace !== '') return namespace === query.namespace && pod === query.pod;
  return pod === query.pod || podUid === query.pod;
}

/** Pods by their uid, as an operator would name them. */
function listPods(entries: readonly OfPod[]): Map<string, string> {
  return new Map(entries.map(({ podUid, namespace, pod }) => [podUid, `${namespace}/${pod} (uid ${podUid})`]));
}

/**
 * A number of CPUs that a new container would ask for: whether they could be given now, and which. Changes nothing.
 * On a node that gives none, it is a container of a pod that chooses a policy, as far as pods may.
 */
export function explainCount(view: NodeView, count: number): Explanation {
  const { cpuManagerPolicy, podPolicies = [] } = view.settings;
  const choices = podPolicies.filter((policy) => policy !== 'none');
  if (cpuManagerPolicy !== 'none' || choices.length === 0) return explainUnder(view, count, cpuManagerPolicy);
  const answers = choices.map((policy) => ({ policy, answer: explainUnder(view, count, policy) }));
  const { policy, answer } = answers.find((each) => each.answer.fits) ?? answers[0]!;
  const because = `${answer.because} (for a pod that chooses the policy ${policy}: under ${cpuManagerPolicy}, the node's, others get no CPUs of their own)`;
  return { ...answer, because };
}

type WhatIf = Extract<Explanation, { kind: 'what-if' }>;

function explainUnder(view: NodeView, count: number, policy: PolicyName): WhatIf {
  const kind = policy === 'none' ? DEFAULT_KIND : policy;
  const decision = POLICIES[policy](snapshotFor(view, { uid: '' }, '', kind), {
    count,
    podCount: count,
    memoryBytes: 0,
  });
  const kept = decision.kind === 'refuse' ? describeKeptCpus(view, { uid: '' }, { withNames: true }) : '';
  const because = `${explainDecision(decision)}${kept}`;
  if (decision.kind !== 'pin') return { kind: 'what-if', fits: false, cpus: CpuSet.empty, because, steps: [] };
  const cpus = decision.nodes ? sharedCpusOfNodes(view, decision.nodes) : decision.cpus;
  return { kind: 'what-if', fits: true, cpus, because, steps: decision.steps };
}
