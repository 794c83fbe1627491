import assert from 'node:assert/strict';
import { printMaskThenSleep } from '../../e2e/rig/commands';
import type { Claim } from '../claim';

/** The very first process of a pinned container runs where it was promised, and all say the same: status, file, process. */
export const firstProcess: Claim = {
  name: 'first process',
  async run(context) {
    const daemon = await context.startDaemon();
    const pinned = await context.startOne({ name: 'db', cpus: 2, command: printMaskThenSleep });
    const first = await pinned.firstLine();
    const { promise, verdict, placement } = await context.shown(daemon, pinned);
    assert.equal(placement, 'exclusive');
    assert.equal(first, promise?.cpus);
    assert.equal(pinned.cpuset().cpus, first);
    assert.equal(pinned.cpuset().effectiveCpus, first);
    assert.equal(verdict.kind, 'kept', verdict.reason);
    context.note(first);
  },
};
