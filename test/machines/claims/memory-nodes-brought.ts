import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { parseCpuList } from '../../../src/core/cpuset';
import type { RunningContainer } from '../../e2e/rig/container';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

/**
 * Memory nodes in the request, as the kubelet's memory manager puts them there: the CPUs are on these nodes, where the
 * same request without them gets the other node, and the memory is what was brought. A container that comes when no CPU
 * is free there runs elsewhere, and an alarm says so.
 */
export const memoryNodesBrought: Claim = {
  name: 'memory nodes brought',
  when: ({ name }) => name === '2x4x2-2numa',
  dependsOn: {
    traits: ['nodes'],
    because:
      'There is more than one node with CPUs and memory. The claim single-numa-node shows the refusal; test/cluster/memory-manager shows the requests of a real kubelet, on a machine of one node.',
  },
  async run(context) {
    const daemon = await context.usualDaemon();
    const { numaNodes } = context.topology;
    // The first leaves node 1 fewer free CPUs than node 0, and such a node comes first where nothing says otherwise.
    const requests = [
      { ...pinned(6, 'far'), cpusetMems: '1', nodes: [1] },
      { ...pinned(2, 'near'), cpusetMems: '0', nodes: [0] },
      { ...pinned(2, 'without'), nodes: [1] },
      { ...pinned(2, 'late'), cpusetMems: '1', nodes: [0] },
    ];
    const pod = await context.runPod({ containers: requests });
    const seen: string[] = [];
    let late: RunningContainer | undefined;
    for (const { name, cpusetMems = '', nodes } of requests) {
      const container = (late = await pod.startContainer(name));
      const list = await container.firstLine();
      const on = numaNodes.filter(({ cpus }) => cpus.overlaps(parseCpuList(list))).map(({ id }) => id);
      assert.deepEqual(on, nodes, `${name} has ${list}`);
      assert.equal(container.cpuset().mems, cpusetMems);
      if (cpusetMems !== '') assert.deepEqual(container.pids().map(readMemoryNodes), [cpusetMems]);
      seen.push(`${list} ${cpusetMems === '' ? 'without' : `with memory ${cpusetMems}`}`);
    }

    const isRaised = async (): Promise<boolean> => {
      const alarm = (await context.statusOf(daemon)).node.alarms.find(({ kind }) => kind === 'not-as-requested');
      return alarm?.because.startsWith(`default/${pod.name} late: its memory is on nodes 1`) ?? false;
    };
    await context.untilAsked('the alarm not-as-requested about the last one alone', isRaised);
    const { reason } = await context.untilVerdict(daemon, late!, 'kept', /memory/);
    context.note(`${seen.join(', ')}; ${reason}`);
  },
};

/** The memory nodes that a process may use. */
const readMemoryNodes = (pid: number): string =>
  /^Mems_allowed_list:\s*(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]!;
