import { CpuSet, tryParseCpuList } from '../../core/cpuset';
import type { JournalRecord } from './record';

/** The records that are asked for. */
export interface RecordFilter {
  /** Not before this time, in ms since 1970. */
  readonly sinceMs?: number;
  /** Not after this time, in ms since 1970. */
  readonly untilMs?: number;
  readonly pod?: PodFilter;
  /** Only what is about one of these CPUs: an owner that got, keeps or left it, a drift to it, the CPU itself. */
  readonly cpus?: CpuSet;
  /** Absent: all kinds but `input`, which is for `cpusetd replay`. */
  readonly kinds?: ReadonlySet<string>;
}

export interface PodFilter {
  /** Empty: any, and `pod` may be a uid. */
  readonly namespace: string;
  readonly pod: string;
  /** Empty: all. */
  readonly container: string;
}

/** True for a record that the filter lets through. */
export function isSelected(record: JournalRecord, { sinceMs, untilMs, pod, kinds, cpus }: RecordFilter): boolean {
  if (sinceMs !== undefined && Date.parse(record.at) < sinceMs) return false;
  if (untilMs !== undefined && Date.parse(record.at) > untilMs) return false;
  if (kinds ? !kinds.has(record.kind) : record.kind === 'input') return false;
  return (!pod || isOfPod(record, pod)) && (!cpus || isAbout(record, cpus));
}

/** Records of shared containers: their CPUs are those that nobody owns, so nearly every CPU is in each of them. */
const SHARED = new Set(['shares', 'left-alone']);
const CPU_FACTS = ['cpus', 'promised', 'found', 'left', 'returned'];

/** A move has the CPUs that were left or taken; one of several containers has only where they are now. */
function isAbout(record: JournalRecord, cpus: CpuSet): boolean {
  if (SHARED.has(record.kind)) return false;
  if (record.kind === 'moved') {
    const [from, to] = [cpusOf(record['from']), cpusOf(record.cpus)];
    return from.isEmpty ? to.overlaps(cpus) : from.minus(to).union(to.minus(from)).overlaps(cpus);
  }
  return CPU_FACTS.some((fact) => cpusOf(record[fact]).overlaps(cpus));
}

/** Empty for a fact that is no list of CPUs. */
function cpusOf(fact: unknown): CpuSet {
  return (typeof fact === 'string' ? tryParseCpuList(fact) : undefined) ?? CpuSet.empty;
}

function isOfPod(record: JournalRecord, { namespace, pod, container }: PodFilter): boolean {
  if (namesIn(record).some((name) => isNamed(name, { namespace, pod, container }))) return true;
  const { pod: name, podUid, container: containerName } = record;
  if (container !== '' && containerName !== container) return false;
  if (namespace !== '') return name === `${namespace}/${pod}`;
  return podUid === pod || name?.split('/')[1] === pod;
}

/** Some of the containers that moved together, as `namespace/pod/container`. */
function namesIn({ names }: JournalRecord): readonly string[] {
  return Array.isArray(names) ? names.filter((name): name is string => typeof name === 'string') : [];
}

function isNamed(name: string, { namespace, pod, container }: PodFilter): boolean {
  const [ofNamespace, ofPod, ofContainer] = name.split('/');
  return (
    ofPod === pod && (namespace === '' || namespace === ofNamespace) && (container === '' || container === ofContainer)
  );
}
