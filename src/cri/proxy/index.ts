export { CriProxy, type CriProxyOptions, type CriProxyStats } from './cri-proxy';
export { ERROR_DOMAIN, ERROR_PREFIX, type OwnError } from './grpc/error-answer';
export type { GrpcStatus } from './grpc/status';
export type { HeaderField } from './http2/hpack-static-table';
export type { ReportFault } from './intercepted-call';
export type { CallContext, CallEnd, Interceptor, Interceptors, RequestVerdict } from './interceptor';
