export { CriProxy, type CriProxyOptions } from './proxy-server';
export type { ProxyError } from './proxy-errors';
export { UpstreamMonitor } from './upstream-monitor';
export type { CallContext, CallEnd, Interceptor, Interceptors, RequestVerdict } from './interceptor';
