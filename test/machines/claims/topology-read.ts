import assert from 'node:assert/strict';
import type { Claim } from '../claim';
import { expectedLayout, layoutOf } from '../machine';

/** The topology that cpusetd reads is that of the machine's description. */
export const topologyRead: Claim = {
  name: 'topology read',
  when: ({ mode }) => mode === 'nri',
  dependsOn: {
    traits: [
      'sockets',
      'cores',
      'threads',
      'cachesPerSocket',
      'nodes',
      'siblings',
      'offline',
      'kernelArguments',
      'cgroup',
      'kernel',
    ],
    because:
      'Everything that is read is the topology of the machine, as its kernel shows it (v1 and emulated nodes have other kernels); the machine with the proxy has that of 1x4x2.',
  },
  async run(context) {
    const layout = layoutOf(context.topology);
    assert.deepEqual(layout, expectedLayout(context.machine));
    context.note(`nodes ${layout.numaNodes}, memory in ${layout.memoryNodes}`);
  },
};
