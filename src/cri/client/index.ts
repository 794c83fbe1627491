export { type CallOptions, type Channel, openChannel } from './channel';
export { createCriClient, type CriClient, type NodeInventory, type RuntimeVersion } from './client';
