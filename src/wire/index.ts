export type { ByteChannel, CloseReason, Receiver } from './channel';
export { SocketChannel, type SocketChannelOptions } from './socket-channel';
export { Mux, type MuxOptions } from './mux';
export { StatusCode, TtrpcError } from './status';
export { TtrpcClient, type CallOptions, type TtrpcClientOptions } from './ttrpc-client';
export { TtrpcServer, type TtrpcHandler, type TtrpcHandlers, type TtrpcServerOptions } from './ttrpc-server';
export type { TtrpcRequest } from './server-call';
export type { KeyValue } from './envelope';
