import type { MachineView, Owner } from '../../admin/machine/machine-view';
import type { Explanation } from '../../admin/model/explanation';
import { CpuSet, parseCpuList } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import { DEFAULT_KIND, isPolicyName } from '../../core/model/policies';
import { buildTopology, confineTopology, toCacheLevel, type Topology } from '../../core/topology';
import { asArray, asObject, asString, type JsonObject } from '../../kube';
import type { JournalRecord } from '../../state/journal';

// Answers of the daemon's HTTP endpoint, which has CPU sets as lists of the kernel's format.

/** A container of `/api/v1/status`, as a row of a table. */
export interface ShownContainer {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly placement: string;
  readonly policy: string;
  readonly promised: string;
  readonly kernel: string;
  readonly verdict: string;
  readonly because: string;
}

export function readContainers(answer: unknown): ShownContainer[] {
  const { containers } = asObject(answer);
  if (!Array.isArray(containers)) throw notUnderstood();
  return asArray(containers)
    .map(asObject)
    .filter(({ pause }) => pause !== true)
    .map((container) => {
      const { kind, reason } = asObject(container['verdict']);
      const promised = asString(asObject(container['promise'])['cpus']);
      const verdict = asString(kind);
      return {
        namespace: asString(container['namespace']),
        pod: asString(container['pod']),
        container: asString(container['container']),
        placement: asString(container['placement']),
        policy: asString(asObject(container['rules'])['policy']),
        promised,
        kernel: asString(asObject(container['observation'])['cpus']),
        verdict,
        because: (verdict === 'kept' ? '' : asString(reason)) || asString(container['because']),
      };
    });
}

/** The records of `/api/v1/history`, the latest last. */
export function readHistory(answer: unknown): JournalRecord[] {
  const { records } = asObject(answer);
  if (!Array.isArray(records)) throw notUnderstood();
  return records.filter((record) => typeof asObject(record)['at'] === 'string') as JournalRecord[];
}

/** The machine of `/api/v1/topology`, and the owners of its CPUs. */
export function readMachine(answer: unknown): MachineView {
  return understood(() => {
    const {
      nodeName,
      cpus,
      memoryNodes,
      uncoreCaches,
      coreKinds,
      owners,
      isolated,
      offline,
      barred,
      barredBy,
      reserved,
      sharedPool,
      free,
    } = asObject(answer);
    const placed = asArray(cpus)
      .map(asObject)
      .filter(({ core }) => typeof core === 'number');
    const machine = buildTopology({
      cpus: placed.map(({ id, core, socket, numaNode, uncoreCache }) => {
        return {
          id: toNumber(id),
          core: toNumber(core),
          socket: toNumber(socket),
          numaNode: toNumber(numaNode),
          uncoreCache: toNumber(uncoreCache),
        };
      }),
      isolated: toCpus(isolated),
      memoryNodes: asArray(memoryNodes)
        .map(asObject)
        .map(({ id, memoryBytes, cpus: listed, isOfGpu }) => ({
          id: toNumber(id),
          memoryBytes: toNumber(memoryBytes),
          distances: new Map<number, number>(),
          ...(listed !== undefined && { cpus: toCpus(listed) }),
          ...(isOfGpu === true && { isOfGpu }),
        })),
      cacheLevels: new Map(
        asArray(uncoreCaches)
          .map(asObject)
          .map(({ id, level }) => [toNumber(id), toCacheLevel(level)]),
      ),
      coreKinds: asArray(coreKinds)
        .map(asObject)
        .map(({ name, cpus: ofKind }) => ({ name: asString(name), cpus: toCpus(ofKind) })),
    });
    const [pool, ofSystem] = [toCpus(sharedPool), toCpus(reserved)];
    return {
      ...(typeof nodeName === 'string' && { nodeName }),
      topology: confineTopology(machine, { cgroup: asString(barredBy), cpus: machine.online.minus(toCpus(barred)) }),
      offline: toCpus(offline),
      owners: asArray(owners).map(asObject).map(readOwner),
      unowned: {
        reserved: ofSystem,
        strict: !ofSystem.isEmpty && !ofSystem.overlaps(pool),
        sharedPool: pool,
        free: toCpus(free),
      },
    };
  });
}

/** A kind of a newer daemon is shown as the default one. */
function toKind(text: string): Owner['kind'] {
  return isPolicyName(text) && text !== 'none' ? text : DEFAULT_KIND;
}

function readOwner({
  mark,
  kind,
  isIdle,
  isPlanned,
  cpus,
  nodes,
  namespace,
  pod,
  podUid,
  containers,
}: JsonObject): Owner {
  return {
    mark: asString(mark),
    kind: toKind(asString(kind)),
    isIdle: isIdle === true,
    ...(isPlanned === true && { isPlanned }),
    cpus: toCpus(cpus),
    nodes: toCpus(nodes),
    namespace: asString(namespace),
    pod: asString(pod),
    podUid: asString(podUid),
    containers: asArray(containers).map(asString),
  };
}

/** Fields that are CPU sets, wherever they stand in an explanation. */
const SETS: ReadonlySet<string> = new Set([
  ...['cpus', 'effectiveCpus', 'mems', 'nodes', 'reserved', 'took', 'narrowerCpus', 'outside'],
]);

/** The answer of `/api/v1/explain`. */
export function readExplanation(answer: unknown): Extract<Explanation, { kind: 'containers' }> {
  return understood(() => {
    const { containers, idle, refused, others = [] } = asObject(revive('', answer));
    if (![containers, idle, refused, others].every(Array.isArray)) throw notUnderstood();
    return { kind: 'containers', containers, idle, refused, others } as Extract<Explanation, { kind: 'containers' }>;
  });
}

function revive(name: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => revive('', item));
  if (typeof value === 'string' && SETS.has(name)) return parseCpuList(value);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, revive(key, inner)]));
}

/** The machine alone, for the places of CPUs. */
export function readTopology(answer: unknown): Topology {
  return readMachine(answer).topology;
}

function understood<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof CpusetdError) throw error;
    throw notUnderstood(error);
  }
}

function notUnderstood(cause?: unknown): CpusetdError {
  return new CpusetdError(
    'INTERNAL',
    'the daemon answered with something that is not understood: is it older than the plugin?',
    {
      cause,
    },
  );
}

function toCpus(value: unknown): CpuSet {
  return parseCpuList(asString(value));
}

function toNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  throw notUnderstood();
}
