/** The state of the kubelet's CPU manager, formats v2 to v4. CPU lists are as in the file, not canonical. */
export interface KubeletState {
  /** `none` or `static`. */
  readonly policyName: string;
  /** The shared pool; empty under the policy none. */
  readonly defaultCpuSet: string;
  /** Pod UID → container name → CPU list. */
  readonly entries: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** Pod UID → CPU list of the pod as a whole (v3, v4). */
  readonly podEntries: ReadonlyMap<string, string>;
}

/** Format v1, which has only the runtime's ids of containers. */
export interface KubeletStateV1 {
  readonly policyName: string;
  readonly defaultCpuSet: string;
  /** Container id → CPU list. */
  readonly entries: ReadonlyMap<string, string>;
}

/** Gives the containers of a v1 state their names, as the kubelet does: unknown ids are dropped. */
export function nameContainers(
  state: KubeletStateV1,
  containers: ReadonlyMap<string, { readonly podUid: string; readonly containerName: string }>,
): KubeletState {
  const entries = new Map<string, Map<string, string>>();
  for (const [containerId, list] of state.entries) {
    const found = containers.get(containerId);
    if (!found) continue;
    const pod = entries.get(found.podUid) ?? new Map<string, string>();
    entries.set(found.podUid, pod.set(found.containerName, list));
  }
  return { policyName: state.policyName, defaultCpuSet: state.defaultCpuSet, entries, podEntries: new Map() };
}
