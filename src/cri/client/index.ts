export { type CallOptions, type Channel, openChannel, type UnaryMethod } from './channel';
export { createCriClient, type CriClient, type NodeInventory, type RuntimeVersion } from './client';
