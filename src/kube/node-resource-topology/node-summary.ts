import { isPolicyName, type PolicyName } from '../../core/model/policies';
import type { Room } from '../../core/node-resources/room';
import { PUBLISHED_VERDICTS, type PublishedVerdict } from '../../core/verdict/published-verdicts';
import { asArray, asObject, asString } from '../json';

/**
 * The attribute of a NodeResourceTopology, of both kinds, with the summary as JSON. Schedulers do not read it: it is
 * for `kubectl cpuset`, which so needs one list for all nodes.
 */
export const SUMMARY_ATTRIBUTE = 'cpusetd.io/summary';

/** The promises of a node in numbers. */
export interface PromiseCounts {
  /** Containers with CPUs of their own, and those that follow NUMA nodes. */
  readonly pinned: number;
  /** Containers by verdict, without those of which there are none. */
  readonly verdicts: Readonly<Partial<Record<PublishedVerdict, number>>>;
}

/** A time in which containers could start without cpusetd. */
export interface PublishedGap {
  /** RFC 3339. */
  readonly from: string;
  /** Absent while it lasts. */
  readonly to?: string;
  readonly containers: number;
}

/** A node in a few numbers. Its size has a limit, whatever runs there: counts, and names from fixed lists. */
export interface NodeSummary extends Room, PromiseCounts {
  /** The CPUs that requests can get in each zone now, in the order of the zones. Crane's object has no such field. */
  readonly available: readonly number[];
  readonly policy: PolicyName;
  /** Kinds of the present alarms, each once. */
  readonly alarms: readonly string[];
  /** The last gap in which a container started, or one that lasts. */
  readonly gap?: PublishedGap;
}

/** Longest attribute that is read. */
const MAX_LENGTH = 4_096;
const MAX_ALARMS = 32;
const MAX_ZONES = 256;

export function formatSummary(summary: NodeSummary): string {
  const { policy, available, freeCores, freeNodes, aligned, pinned, verdicts, alarms, gap } = summary;
  return JSON.stringify({
    policy,
    available: available.slice(0, MAX_ZONES),
    freeCores,
    freeNodes,
    aligned,
    pinned,
    ...(Object.keys(verdicts).length > 0 && { verdicts }),
    ...(alarms.length > 0 && { alarms: alarms.slice(0, MAX_ALARMS) }),
    ...(gap && { gap }),
  });
}

/** Undefined for a text that is no summary. A newer version may add fields. */
export function parseSummary(text: string): NodeSummary | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  let fields: ReturnType<typeof asObject>;
  try {
    fields = asObject(JSON.parse(text));
  } catch {
    return undefined;
  }
  const { policy, available, freeCores, freeNodes, aligned, pinned, verdicts, alarms, gap } = fields;
  if (typeof policy !== 'string' || !isPolicyName(policy)) return undefined;
  const { physical_cpu, uncore_cache, numa_node } = asObject(aligned);
  const found = asObject(gap);
  return {
    policy,
    available: asArray(available).slice(0, MAX_ZONES).map(toCount),
    freeCores: toCount(freeCores),
    freeNodes: toCount(freeNodes),
    aligned: {
      physical_cpu: toCount(physical_cpu),
      uncore_cache: toCount(uncore_cache),
      numa_node: toCount(numa_node),
    },
    pinned: toCount(pinned),
    verdicts: Object.fromEntries(
      PUBLISHED_VERDICTS.map((kind) => [kind, toCount(asObject(verdicts)[kind])] as const).filter(([, n]) => n > 0),
    ),
    alarms: asArray(alarms).slice(0, MAX_ALARMS).map(asString),
    ...(gap !== undefined && {
      gap: {
        from: asString(found['from']),
        ...(typeof found['to'] === 'string' && { to: found['to'] }),
        containers: toCount(found['containers']),
      },
    }),
  };
}

function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
