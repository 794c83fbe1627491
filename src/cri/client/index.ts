export { type CallOptions, type Channel, openChannel } from '../../net/grpc-client';
export { createCriClient, type CriClient, type RuntimeVersion } from './cri-client';
