import type { ExplainQuery } from '../../admin/model/explanation';
import { POD_RULE, readPod } from '../../state/journal';
import { UsageError } from '../context';

/** Arguments of `cpusetd explain`. */
export interface ExplainTarget {
  readonly pod?: string;
  readonly container?: string;
  readonly cpus?: string;
}

const MAX_CPUS = 65_535;

/** The query for the daemon. Throws UsageError that names input, rule and remedy. */
export function parseTarget({ pod, container = '', cpus }: ExplainTarget): ExplainQuery {
  if (pod === undefined && cpus === undefined)
    throw new UsageError('nothing to explain: name a pod, or a number of CPUs with --cpus');
  if (cpus !== undefined) {
    if (pod !== undefined)
      throw new UsageError(`--cpus ${cpus}: asks of a container that does not exist yet; leave pod ${pod} out`);
    return { kind: 'cpus', count: parseCount(cpus) };
  }
  return { kind: 'pod', ...parsePod(pod!), container };
}

/** A pod as operators name it. `namespace` is empty for a name or uid alone. Throws UsageError. */
export function parsePod(text: string): { readonly namespace: string; readonly pod: string; readonly container: '' } {
  const pod = readPod(text);
  if (!pod) throw new UsageError(`pod "${text}": is no name of a pod; ${POD_RULE}`);
  return pod;
}

function parseCount(text: string): number {
  const count = /^\d{1,6}$/.test(text) ? Number(text) : NaN;
  if (count >= 1 && count <= MAX_CPUS) return count;
  throw new UsageError(`--cpus "${text}": is no number of CPUs; write a whole number from 1 to ${MAX_CPUS}`);
}
