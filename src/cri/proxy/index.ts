export { CriProxy, type CriProxyOptions } from './cri-proxy';
export { type OwnError } from './grpc/error-answer';
export type { CallContext, CallEnd, Interceptor, Interceptors, RequestVerdict } from './interceptor';
