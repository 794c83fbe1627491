/** Present on the API server's mirror of a static pod, and the uid that the kubelet gave the pod itself. */
export const MIRROR = 'kubernetes.io/config.mirror';
export const MIRROR_HASH = 'kubernetes.io/config.hash';
