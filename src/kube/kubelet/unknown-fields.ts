import { asObject } from '../json';

/** Fields of a KubeletConfiguration that concern CPUs, memory and cgroups. */
const FIELDS = [
  'cpuManagerPolicy',
  'cpuManagerPolicyOptions',
  'cpuManagerReconcilePeriod',
  'cpuCFSQuota',
  'cpuCFSQuotaPeriod',
  'reservedSystemCPUs',
  'systemReserved',
  'systemReservedCgroup',
  'kubeReserved',
  'kubeReservedCgroup',
  'enforceNodeAllocatable',
  'evictionHard',
  'evictionSoft',
  'memoryManagerPolicy',
  'reservedMemory',
  'topologyManagerPolicy',
  'topologyManagerPolicyOptions',
  'topologyManagerScope',
  'cgroupDriver',
  'cgroupRoot',
  'cgroupsPerQOS',
  'containerRuntimeEndpoint',
] as const;

/** Names of the kubelet's flags whose field has another name. */
const FLAGS: Readonly<Record<string, (typeof FIELDS)[number]>> = { reservedcpus: 'reservedSystemCPUs' };

/** Longer names are no misspelling, and are not compared. */
const MAX_LENGTH = 64;
/** Letters that may be wrong, missing or too many. */
const MOST_WRONG = 2;

/**
 * Names the fields of a configuration that the kubelet does not have and that look like one of its own, a sentence for
 * each.
 */
export function listUnknownFields(document: unknown): string[] {
  const outer = asObject(document);
  return Object.keys(asObject(outer['kubeletconfig'] ?? document)).flatMap((name) => {
    const meant = (FIELDS as readonly string[]).includes(name) ? undefined : findMeant(name);
    return meant === undefined ? [] : [`${name} is no field of a KubeletConfiguration; it is ${meant}`];
  });
}

function findMeant(name: string): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const plain = lettersOf(name);
  return FLAGS[plain] ?? FIELDS.find((field) => countWrong(plain, lettersOf(field)) <= MOST_WRONG);
}

/** Case and hyphens do not distinguish names. */
function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[^a-z]/g, '');
}

/** The number of letters to change, add or leave out. */
function countWrong(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length]!;
}
