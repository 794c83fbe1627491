import { loadPodFingerprint } from '../../../src/kube/node-resource-topology/pod-fingerprint';

/** The fields of a pod in the API server that scheduler-plugins' NodeResourceTopologyMatch reads. */
export interface ApiPod {
  readonly namespace: string;
  readonly name: string;
  readonly nodeName: string;
  readonly phase: string;
}

/** `cache.informerMode` of the plugin's arguments. */
export type InformerMode = 'Dedicated' | 'Shared';

/**
 * The plugin's rules of which pods consume resources: IsPodRelevantDedicated and IsPodRelevantShared of its
 * podprovider.
 */
const IS_RELEVANT: Readonly<Record<InformerMode, (pod: ApiPod) => boolean>> = {
  Dedicated: ({ phase, nodeName }) => phase !== 'Pending' && nodeName !== '',
  Shared: ({ phase }) => phase === 'Running',
};

/**
 * The fingerprint that the plugin compares with the one in a node's object, with the resync method `all`. Undefined
 * where it has no pod for the node: then it does not compare at all.
 */
export async function loadFingerprintOfPlugin(): Promise<
  (mode: InformerMode, pods: readonly ApiPod[], nodeName: string) => string | undefined
> {
  const fingerprintOf = await loadPodFingerprint();
  return (mode, pods, nodeName) => {
    const counted = pods.filter((pod) => IS_RELEVANT[mode](pod) && pod.nodeName === nodeName);
    return counted.length === 0 ? undefined : fingerprintOf(counted);
  };
}
