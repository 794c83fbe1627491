import { wholeBySpec } from '../inference/entitle-by-spec';
import { sumPodCpus } from '../model/pod-cpus';
import type { ContainerKind } from '../model/pod-kinds';
import type { AssignmentKind } from '../model/assignment';
import { DEFAULT_KIND, POLICY_TABLE } from '../model/policies';
import { oncePer } from '../once-per';
import { countHeldBySpec, entitledBySpec, entitledCpus } from '../decision/entitlement';
import { CPU, NO_AMOUNTS, type Amounts } from './amounts';
import { settingsOfRules, type NodeRules } from './node-rules';
import type { PodToPlace } from './pod-to-place';

/** A container that is entitled to CPUs. */
export interface ContainerNeed {
  readonly name: string;
  readonly kind: ContainerKind;
  readonly policy: AssignmentKind;
  /** Whole CPUs. */
  readonly count: number;
}

/** The CPUs that a pod wants of a node. */
export interface PodNeeds {
  /** In the order of their start; empty for a pod that shares. */
  readonly containers: readonly ContainerNeed[];
  /**
   * The way in which they get CPUs: each container its own, all as one set by the scheduler's result, shared CPUs of
   * some nodes, or some so and some otherwise.
   */
  readonly way: 'each' | 'set' | 'nodes' | 'mixed';
  /**
   * The most that these containers have at one time: CPU in thousandths, and the other resources that are looked at in
   * zones.
   */
  readonly request: Amounts;
  /** Its CPU, in thousandths. */
  readonly cpu: number;
  /** The same without CPU, for a loop over thousands of nodes. */
  readonly others: readonly (readonly [resource: string, amount: number])[];
  /** Whole CPUs that the pod holds at one time, as a topology manager of scope `pod` counts them. */
  readonly podCount: number;
}

/**
 * The needs of a pod on a node with these rules; without rules as crane-scheduler reads them. Made once for each pod
 * and rules.
 */
export function needsOf(pod: PodToPlace, rules: NodeRules | undefined): PodNeeds {
  return rules ? needsByRules(pod)(rules) : needsWithoutRules(pod);
}

const needsByRules = oncePer((pod: PodToPlace) =>
  oncePer((rules: NodeRules): PodNeeds => {
    const { spec } = pod;
    const settings = settingsOfRules(rules);
    const containers = spec.containers.flatMap((container): ContainerNeed[] => {
      const entitled = entitledBySpec(settings, spec, container);
      return entitled ? [{ name: container.name, kind: container.kind, ...entitled }] : [];
    });
    return summarize(pod, containers, countHeldBySpec(settings, spec));
  }),
);

/** App containers whose CPU request is a whole number and their limit, whatever the QoS class of the pod. */
const needsWithoutRules = oncePer((pod: PodToPlace): PodNeeds => {
  const containers = pod.declines
    ? []
    : pod.spec.containers.flatMap((container): ContainerNeed[] => {
        const count = entitledCpus(wholeBySpec(pod.spec, container));
        return count > 0 ? [{ name: container.name, kind: container.kind, policy: DEFAULT_KIND, count }] : [];
      });
  return summarize(pod, containers, 0);
});

function summarize(pod: PodToPlace, containers: readonly ContainerNeed[], podCount: number): PodNeeds {
  const request = containers.length === 0 ? NO_AMOUNTS : sumRequests(pod, containers);
  const others = [...request].filter(([resource]) => resource !== CPU);
  return { containers, way: wayOf(containers), request, cpu: request.get(CPU) ?? 0, others, podCount };
}

function wayOf(containers: readonly ContainerNeed[]): PodNeeds['way'] {
  const holders = containers.filter(({ policy }) => POLICY_TABLE[policy].claim !== 'numa-nodes');
  if (holders.length === 0) return 'nodes';
  if (holders.every(({ policy }) => POLICY_TABLE[policy].scheduledFor === 'container'))
    return holders.length === containers.length ? 'each' : 'mixed';
  return containers.every(({ policy }) => policy === containers[0]!.policy) ? 'set' : 'mixed';
}

/** Init containers run one after the other, before the others. */
function sumRequests({ requests }: PodToPlace, containers: readonly ContainerNeed[]): Amounts {
  const resources = new Set(containers.flatMap(({ name }) => [...(requests.get(name)?.keys() ?? [])]));
  const sums = [...resources].map((resource): [string, number] => [
    resource,
    sumPodCpus(containers.map(({ name, kind }) => ({ kind, cpus: requests.get(name)?.get(resource) ?? 0 }))),
  ]);
  return new Map(sums.filter(([, amount]) => amount > 0));
}
