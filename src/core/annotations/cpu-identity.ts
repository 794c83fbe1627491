import { annotationOf, quote, type Annotations, type Remark } from './annotations';

/** For the whole pod. */
const OF_POD = 'cpusetd.io/cpu-identity';

/**
 * For one container, whose name follows. Only the second form passes an API server: Kubernetes allows one slash in a
 * name.
 */
const OF_CONTAINER = ['cpusetd.io/cpu-identity/container.', 'cpu-identity.cpusetd.io/container.'] as const;

export interface IdentityChoice {
  /** The container is to get a file with its CPUs. */
  readonly isWanted: boolean;
  readonly remarks: readonly Remark[];
}

const UNASKED: IdentityChoice = { isWanted: false, remarks: [] };

/**
 * The choice of a pod for one container: `on` or `off`. An annotation for the one container comes before the pod's.
 * Another value, and `on` where the operator does not offer the file, count as not set, and are remarked: no pod is
 * refused for it.
 */
export function chooseIdentity(
  { cpuIdentity = false }: { readonly cpuIdentity?: boolean },
  annotations: Annotations,
  containerName: string,
): IdentityChoice {
  const remarks: Remark[] = [];
  for (const annotation of [...OF_CONTAINER.map((prefix) => prefix + containerName), OF_POD]) {
    const value = annotationOf(annotations, annotation);
    if (value === undefined) continue;
    if (value === 'off' || (value === 'on' && cpuIdentity)) return { isWanted: value === 'on', remarks };
    remarks.push({
      annotation,
      because:
        value === 'on'
          ? 'the operator gives no container a file with its CPUs here (--cpu-identity)'
          : `${quote(value)} is neither on nor off`,
    });
  }
  return remarks.length === 0 ? UNASKED : { isWanted: false, remarks };
}

/** The names of all annotations of this kind for these containers. */
export function identityNames(containerNames: readonly string[]): string[] {
  return [OF_POD, ...OF_CONTAINER.flatMap((prefix) => containerNames.map((name) => prefix + name))];
}

/** True for the name of an annotation of this kind, for whichever container. */
export function isIdentityChoice(annotation: string): boolean {
  return annotation === OF_POD || OF_CONTAINER.some((prefix) => annotation.startsWith(prefix));
}
