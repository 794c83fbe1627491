import type { Policy } from './policy';

/** Gives nobody CPUs of its own. What was given before, under another policy, stays until its container is gone. */
export const nonePolicy: Policy = () => ({
  kind: 'share',
  because: 'the policy is none: it gets no CPUs of its own',
});
