import type { Machine } from '../machine';

/**
 * Claims about time and processes rather than topology are proven once for each kind of system, not on each machine: every
 * one of them costs half a minute.
 */
export const isTypical = ({ name }: Machine): boolean =>
  ['2x4x2-2numa', '2x4x2-v1', '2x4x2-systemd', '1x4x2-proxy'].includes(name);
