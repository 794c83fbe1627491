import type { Machine } from '../machine';

/**
 * True for one machine of each kind of system. Claims that do not depend on topology are tested only there: each takes half a minute.
 */
export const isTypical = ({ name }: Machine): boolean =>
  ['2x4x2-2numa', '2x4x2-v1', '2x4x2-systemd', '1x4x2-proxy'].includes(name);
