import type { Settings } from '../model/settings';
import { nonePolicy } from './none';
import type { Policy } from './policy';
import { staticPolicy } from './static';

/** Every policy by its name. */
export const POLICIES: Readonly<Record<Settings['cpuManagerPolicy'], Policy>> = {
  none: nonePolicy,
  static: staticPolicy,
};

export type { Decision, PinRequest, Policy, Snapshot } from './policy';
