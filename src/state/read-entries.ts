import type { CpuSet } from '../core/cpuset';
import { keyOf, type Assignment, type AssignmentKind, type KeptRules } from '../core/model/assignment';
import type { Brought } from '../core/model/brought';
import type { PodLevel } from '../core/model/pod-level';
import { KINDS, mayOverlap } from '../core/model/pool-view';
import type { ContainerSpec, PodSpec, SpecResources } from '../core/model/pod-spec';
import { isPolicyName } from '../core/model/policies';
import { whole } from '../core/whole';
import { Fields, readEntry, ShapeError } from './fields';

/** An entry of the document that is not used. */
export interface RejectedEntry {
  /** Its place in the list, from 0. */
  readonly index: number;
  /** `podUid/containerName`; null when the entry could not be read. */
  readonly key: string | null;
  /** Written for the operator. */
  readonly because: string;
}

/**
 * Reads all entries and compares them: no two of one container, no CPU in two sets, unless their containers share it.
 * Entries that contradict each other are all rejected, since nothing here shows which one is right.
 */
export function collectAssignments(entries: readonly unknown[]): {
  readonly assignments: readonly Assignment[];
  readonly rejected: readonly RejectedEntry[];
} {
  const readable: { index: number; assignment: Assignment }[] = [];
  const rejected = new Map<number, RejectedEntry>();
  entries.forEach((entry, index) => {
    const outcome = readAssignment(entry);
    if ('assignment' in outcome) readable.push({ index, assignment: outcome.assignment });
    else rejected.set(index, { index, key: null, because: `entry ${index}: ${outcome.because}` });
  });

  const reject = ({ index, assignment }: { index: number; assignment: Assignment }, because: string): void => {
    if (!rejected.has(index)) rejected.set(index, { index, key: keyOf(assignment), because });
  };
  const firstByKey = new Map<string, { index: number; assignment: Assignment }>();
  const ownerOf = new Map<number, { index: number; assignment: Assignment }>();
  for (const entry of readable) {
    const { assignment } = entry;
    const key = keyOf(assignment);
    const twin = firstByKey.get(key);
    if (twin) {
      for (const either of [twin, entry]) reject(either, `${key} has two assignments`);
      continue;
    }
    firstByKey.set(key, entry);
    for (const cpu of assignment.cpus) {
      const owner = ownerOf.get(cpu);
      if (!owner) ownerOf.set(cpu, entry);
      else if (!mayOverlap(owner.assignment, assignment))
        for (const either of [owner, entry])
          reject(either, `CPU ${cpu} belongs to ${keyOf(owner.assignment)} and ${key}`);
    }
  }
  return {
    assignments: readable.filter(({ index }) => !rejected.has(index)).map(({ assignment }) => assignment),
    rejected: [...rejected.values()].sort((a, b) => a.index - b.index),
  };
}

/** One entry of the document as an assignment, or the reason why it is none. Unknown fields are ignored. */
export function readAssignment(entry: unknown): { readonly assignment: Assignment } | { readonly because: string } {
  try {
    return { assignment: toAssignment(new Fields(entry, 'the entry')) };
  } catch (error) {
    if (error instanceof ShapeError) return { because: error.message };
    throw error;
  }
}

function toAssignment(fields: Fields): Assignment {
  const kind = fields.text('kind');
  if (!isKind(kind)) throw new ShapeError(`"kind" is ${JSON.stringify(kind)}, which is none we know`);
  const scope = fields.has('scope') ? fields.text('scope') : undefined;
  if (scope !== undefined && scope !== 'pod') throw new ShapeError('"scope" is not "pod"');
  return whole<Assignment>()({
    podUid: fields.text('podUid'),
    podNamespace: fields.text('podNamespace'),
    podName: fields.text('podName'),
    containerName: fields.text('containerName'),
    kind,
    ...toSets(fields, kind),
    ...(scope && { scope }),
    mems: fields.cpuSet('mems'),
    requested: fields.count('requested'),
    containerId: fields.textOrNull('containerId'),
    ...(fields.has('planned') &&
      fields.flag('planned') &&
      fields.textOrNull('containerId') === null && { planned: true as const }),
    quotaLifted: fields.flag('quotaLifted'),
    rules: toRules(fields.fields('rules')),
    because: fields.text('because'),
    since: fields.text('since'),
  });
}

/** A kind that follows nodes has nodes and no CPUs; every other kind has CPUs and no nodes. */
function toSets(fields: Fields, kind: AssignmentKind): Pick<Assignment, 'cpus' | 'nodes'> {
  const cpus = fields.cpuSet('cpus');
  if (KINDS[kind].claim !== 'numa-nodes') {
    if (cpus.isEmpty) throw new ShapeError('"cpus" is empty');
    return { cpus };
  }
  const nodes = fields.cpuSet('nodes');
  if (nodes.isEmpty) throw new ShapeError('"nodes" is empty');
  if (!cpus.isEmpty) throw new ShapeError(`"cpus" is not empty, although ${kind} follows nodes`);
  return { cpus, nodes };
}

function isKind(text: string): text is AssignmentKind {
  return Object.hasOwn(KINDS, text);
}

function toRules(fields: Fields): KeptRules {
  const policy = fields.text('policy');
  if (!isPolicyName(policy)) throw new ShapeError(`"policy" is ${JSON.stringify(policy)}, which is none we know`);
  return whole<KeptRules>()({
    policy,
    ...(fields.has('chosenBy') && { chosenBy: fields.text('chosenBy') }),
    options: fields.texts('options'),
    reserved: fields.cpuSet('reserved'),
  });
}

/** One entry of `pods` as a pod's spec; undefined for an entry that is none. Without it the runtime's data is used. */
export function readPodSpec(entry: unknown): PodSpec | undefined {
  return readEntry(entry, toPodSpec);
}

/** One entry of `brought`; undefined for an entry that is none. The container is then kept to nothing. */
export function readBroughtEntry(entry: unknown): Brought | undefined {
  return readEntry(entry, (fields) =>
    whole<Brought>()({
      podUid: fields.text('podUid'),
      containerName: fields.text('containerName'),
      ...(fields.has('cpus') && { cpus: toBound(fields, 'cpus') }),
      ...(fields.has('mems') && { mems: toBound(fields, 'mems') }),
    }),
  );
}

/** One entry of `podLevel`; undefined for an entry that is none. The pod is then found out again. */
export function readPodLevelEntry(entry: unknown): PodLevel | undefined {
  return readEntry(entry, (fields) => {
    const shown = fields.text('shown');
    if (shown !== 'whole' && shown !== 'resized') throw new ShapeError('"shown" is nothing that a pod shows');
    return whole<PodLevel>()({ podUid: fields.text('podUid'), shown, ...toCounts(fields, SUMS) });
  });
}

const SUMS = ['shares', 'quotaUs', 'periodUs'] as const;

/** An empty one would leave the container nothing. */
function toBound(fields: Fields, name: string): CpuSet {
  const bound = fields.cpuSet(name);
  if (bound.isEmpty) throw new ShapeError(`"${name}" is empty`);
  return bound;
}

function toPodSpec(fields: Fields): PodSpec {
  const qos = fields.text('qos');
  if (qos !== 'Guaranteed' && qos !== 'Burstable' && qos !== 'BestEffort') throw new ShapeError('"qos" is no class');
  return whole<PodSpec>()({
    uid: fields.text('uid'),
    namespace: fields.text('namespace'),
    name: fields.text('name'),
    qos,
    finished: fields.flag('finished'),
    ...(fields.has('isBeingDeleted') && fields.flag('isBeingDeleted') && { isBeingDeleted: true as const }),
    containers: fields.list('containers').map((entry) => toContainerSpec(new Fields(entry, 'the container'))),
    ...(fields.has('podResources') && { podResources: toResources(fields.fields('podResources')) }),
    annotations: fields.fields('annotations').allTexts(),
  });
}

function toContainerSpec(fields: Fields): ContainerSpec {
  const kind = fields.text('kind');
  if (kind !== 'init' && kind !== 'sidecar' && kind !== 'app') throw new ShapeError('"kind" is none of a container');
  return whole<ContainerSpec>()({
    name: fields.text('name'),
    kind,
    ended: fields.flag('ended'),
    ...toResources(fields),
    ...(fields.has('limitHugePages') && { limitHugePages: fields.fields('limitHugePages').allCounts() }),
  });
}

const AMOUNTS = ['requestMilliCpu', 'limitMilliCpu', 'requestMemoryBytes', 'limitMemoryBytes'] as const;

function toResources(fields: Fields): SpecResources {
  return whole<SpecResources>()(toCounts(fields, AMOUNTS));
}

/** Those of the numbers that are there. */
function toCounts<K extends string>(fields: Fields, names: readonly K[]): Partial<Record<K, number>> {
  const found = names.flatMap((name) => (fields.has(name) ? [[name, fields.count(name)] as const] : []));
  return Object.fromEntries(found) as Partial<Record<K, number>>;
}
