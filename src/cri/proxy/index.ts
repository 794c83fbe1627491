export { CriProxy, type CriProxyOptions } from './proxy-server';
export { type OwnError } from './grpc/error-headers';
export type { CallContext, CallEnd, Interceptor, Interceptors, RequestVerdict } from './interceptor';
