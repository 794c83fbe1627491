export type { CallOptions } from '../../net/grpc-client';
export { type Channel, createCriClient, type CriClient, openChannel, type RuntimeVersion } from './cri-client';
export type { RuntimeSettings } from './runtime-settings';
