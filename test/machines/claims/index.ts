import type { Claim } from '../claim';
import { firstProcess } from './first-process';
import { topologyRead } from './topology-read';

/** In the order they are proven in each machine. */
export const claims: readonly Claim[] = [topologyRead, firstProcess];
