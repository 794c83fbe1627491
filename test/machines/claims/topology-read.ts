import assert from 'node:assert/strict';
import type { Claim } from '../claim';
import { expectedLayout, layoutOf } from '../machine';

/** The topology that cpusetd reads is that of the machine's description. */
export const topologyRead: Claim = {
  name: 'topology read',
  async run(context) {
    const layout = layoutOf(context.topology);
    assert.deepEqual(layout, expectedLayout(context.machine));
    context.note(`nodes ${layout.numaNodes}, memory in ${layout.memoryNodes}`);
  },
};
