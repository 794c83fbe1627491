import type { Topology } from '../topology';
import { keyOf, type Assignment, type AssignmentKey } from './assignment';
import { broughtKey, type Brought } from './brought';
import type { Container, Pod } from './container';
import type { PodLevel } from './pod-level';
import type { PodSpec } from './pod-spec';
import type { Settings } from './settings';
import type { SpecSource } from './spec-book';
import type { Write } from './table';
import type { Tables } from './tables';

/** One change of the model, as data. */
export type Change =
  | { readonly kind: 'put-assignment'; readonly assignment: Assignment }
  | { readonly kind: 'drop-assignment'; readonly key: AssignmentKey }
  | { readonly kind: 'put-pod'; readonly pod: Pod }
  | { readonly kind: 'drop-pod'; readonly sandboxId: string }
  | { readonly kind: 'put-container'; readonly container: Container }
  | { readonly kind: 'drop-container'; readonly id: string }
  | { readonly kind: 'put-brought'; readonly brought: Brought }
  | { readonly kind: 'drop-brought'; readonly key: AssignmentKey }
  | { readonly kind: 'put-pod-level'; readonly podLevel: PodLevel }
  | { readonly kind: 'drop-pod-level'; readonly podUid: string }
  | { readonly kind: 'put-spec'; readonly spec: PodSpec }
  | { readonly kind: 'drop-spec'; readonly uid: string }
  | { readonly kind: 'keep-spec'; readonly spec: PodSpec }
  | { readonly kind: 'unkeep-spec'; readonly uid: string }
  | { readonly kind: 'set-spec-source'; readonly source: SpecSource }
  /** `since`: when the API server first reported the pod, RFC 3339. */
  | { readonly kind: 'put-unplanned'; readonly uid: string; readonly since: string }
  | { readonly kind: 'drop-unplanned'; readonly uid: string }
  | { readonly kind: 'set-synchronized'; readonly synchronized: boolean }
  | { readonly kind: 'set-topology'; readonly topology: Topology }
  | { readonly kind: 'set-settings'; readonly settings: Settings };

type Writers = {
  readonly [Kind in Change['kind']]: (tables: Tables, change: Extract<Change, { readonly kind: Kind }>) => Write;
};

/** The write that each kind of change is. */
const WRITERS: Writers = {
  'put-assignment': ({ assignments }, { assignment }) => assignments.write(keyOf(assignment), assignment),
  'drop-assignment': ({ assignments }, { key }) => assignments.write(key),
  'put-pod': ({ pods }, { pod }) => pods.write(pod.sandboxId, pod),
  'drop-pod': ({ pods }, { sandboxId }) => pods.write(sandboxId),
  'put-container': ({ containers }, { container }) => containers.write(container.id, container),
  'drop-container': ({ containers }, { id }) => containers.write(id),
  'put-brought': ({ brought }, { brought: value }) => brought.write(broughtKey(value), value),
  'drop-brought': ({ brought }, { key }) => brought.write(key),
  'put-pod-level': ({ podLevel }, { podLevel: value }) => podLevel.write(value.podUid, value),
  'drop-pod-level': ({ podLevel }, { podUid }) => podLevel.write(podUid),
  'put-spec': ({ specs }, { spec }) => specs.write(spec.uid, spec),
  'drop-spec': ({ specs }, { uid }) => specs.write(uid),
  'keep-spec': ({ kept }, { spec }) => kept.write(spec.uid, spec),
  'unkeep-spec': ({ kept }, { uid }) => kept.write(uid),
  'set-spec-source': ({ specSource }, { source }) => specSource.set(source),
  'put-unplanned': ({ unplanned }, { uid, since }) => unplanned.write(uid, since),
  'drop-unplanned': ({ unplanned }, { uid }) => unplanned.write(uid),
  'set-synchronized': (tables, { synchronized }) => tables.synchronized.set(synchronized),
  'set-topology': (tables, { topology }) => tables.topology.set(topology),
  'set-settings': (tables, { settings }) => tables.settings.set(settings),
};

/** Makes the change in the tables. */
export function writeChange(tables: Tables, change: Change): Write {
  const write = WRITERS[change.kind] as (tables: Tables, change: Change) => Write;
  return write(tables, change);
}
