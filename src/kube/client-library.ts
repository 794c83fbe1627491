// The part of the client library that is used. The build packs this file separately, without the models and clients of
// all of Kubernetes, which would be most of it (scripts/pack-late.mjs).
export { KubeConfig } from '@kubernetes/client-node';
