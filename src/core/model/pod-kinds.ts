/** The quality-of-service class of a pod, in the kubelet's spelling. */
export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

/**
 * The role of a container in its pod; a sidecar is an init container that is restarted for as long as the pod lives.
 */
export type ContainerKind = 'init' | 'sidecar' | 'app';

/**
 * Annotations of the API server's mirror of a static pod: the first marks it, the second has the uid that the kubelet
 * gave the pod itself.
 */
export const MIRROR = 'kubernetes.io/config.mirror';
export const MIRROR_HASH = 'kubernetes.io/config.hash';
