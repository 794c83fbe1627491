import type { JournalRecord } from '../../state/journal';

/** The records that are asked for. */
export interface RecordFilter {
  /** ms since 1970. */
  readonly sinceMs?: number;
  readonly pod?: PodFilter;
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
export function isSelected(record: JournalRecord, { sinceMs, pod, kinds }: RecordFilter): boolean {
  if (sinceMs !== undefined && Date.parse(record.at) < sinceMs) return false;
  if (kinds ? !kinds.has(record.kind) : record.kind === 'input') return false;
  return !pod || isOfPod(record, pod);
}

function isOfPod(record: JournalRecord, { namespace, pod, container }: PodFilter): boolean {
  if (namesIn(record).some((name) => isNamed(name, { namespace, pod, container }))) return true;
  const { pod: name, podUid, container: of } = record;
  if (container !== '' && of !== container) return false;
  if (namespace !== '') return name === `${namespace}/${pod}`;
  return podUid === pod || name?.split('/')[1] === pod;
}

/** Some of the containers that moved together, as `namespace/pod/container`. */
function namesIn({ names }: JournalRecord): readonly string[] {
  return Array.isArray(names) ? names.filter((name): name is string => typeof name === 'string') : [];
}

function isNamed(name: string, { namespace, pod, container }: PodFilter): boolean {
  const [ofNamespace, ofPod, of] = name.split('/');
  return ofPod === pod && (namespace === '' || namespace === ofNamespace) && (container === '' || container === of);
}
