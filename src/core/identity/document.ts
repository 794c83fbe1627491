import { parseCpuList, type CpuSet } from '../cpuset';
import type { CpuIdentity, IdentityKind } from '../model/cpu-identity';

/** Version of the format. Fields are added within a version, and never change their meaning. */
const VERSION = 1;

const KINDS: ReadonlySet<string> = new Set<IdentityKind>([
  'static',
  'exclusive',
  'immovable',
  'numa',
  'shared',
  'unmanaged',
]);

/** The document as JSON has it. */
interface Document {
  readonly version: number;
  readonly kind: IdentityKind;
  readonly scope?: 'pod';
  /** Lists in the format of the kernel, such as `0-3,8`. */
  readonly cpus?: string;
  readonly numaNodes?: string;
  readonly memoryNodes?: string;
  readonly since?: string;
}

/** The text of the file in the container. */
export function formatIdentity({ kind, scope, cpus, numaNodes, memoryNodes, since }: CpuIdentity): string {
  const document: Document = {
    version: VERSION,
    kind,
    ...(scope && { scope }),
    ...(cpus && { cpus: cpus.toString() }),
    ...(numaNodes && { numaNodes: numaNodes.toString() }),
    ...(memoryNodes && { memoryNodes: memoryNodes.toString() }),
    ...(since !== undefined && { since }),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

/**
 * Reads a file that an earlier process wrote. Undefined for anything else, which is written anew then. Never throws.
 */
export function parseIdentity(text: string): CpuIdentity | undefined {
  try {
    const found = JSON.parse(text) as Partial<Document> | null;
    if (found?.version !== VERSION || !KINDS.has(found.kind ?? '')) return undefined;
    const { kind, scope, since } = found as Document;
    const identity = {
      kind,
      ...(scope && { scope }),
      ...readSet(found, 'cpus'),
      ...readSet(found, 'numaNodes'),
      ...readSet(found, 'memoryNodes'),
      ...(since !== undefined && { since }),
    };
    return formatIdentity(identity) === text ? identity : undefined;
  } catch {
    return undefined;
  }
}

function readSet<K extends 'cpus' | 'numaNodes' | 'memoryNodes'>(
  document: Partial<Document>,
  key: K,
): { readonly [Key in K]?: CpuSet } {
  const list = document[key];
  return (list === undefined ? {} : { [key]: parseCpuList(list) }) as { readonly [Key in K]?: CpuSet };
}
