import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseCpuList } from '../../../src/core/cpuset';
import type { RunningContainer } from '../../e2e/rig/container';
import type { Claim } from '../claim';
import { onHugePages, pinned } from '../guest/specs';

const pageBytes = 2 ** 21;
/** Pages that are set aside on node 1, those that the first container asks for, and those that it takes and holds. */
const [setAside, asked, held] = [64, 40, 16];
const filesOfNode = '/sys/devices/system/node/node1/hugepages/hugepages-2048kB';

/**
 * Huge pages are on node 1 alone. A container that asks for some gets CPUs and memory there on an idle machine, where
 * the same request without them gets node 0, and its process maps pages of that node. One that asks for more than the
 * promised pages leave is refused, and the reason names the size. `cpusetd check` names the node, and finds that
 * containerd tells of huge pages.
 */
export const hugePages: Claim = {
  name: 'huge pages',
  when: ({ name }) => name === '2x4x2-isolated-offline',
  dependsOn: {
    traits: ['nodes'],
    because:
      'One of two nodes has the pages. What is decided for other policies and sizes is in test/core/transition/huge-pages.test.ts.',
  },
  async run(context) {
    writeFileSync(join(filesOfNode, 'nr_hugepages'), String(setAside));
    try {
      const { memoryNodes, numaNodes } = context.topology;
      const pages = memoryNodes.map((node) => node.hugePages?.['hugepages-2Mi'] ?? 0);
      assert.deepEqual(pages, [0, setAside * pageBytes]);
      const daemon = await context.startDaemon('--topology-manager-policy', 'restricted', '--memory-nodes', 'follow');
      const containers = [
        { ...onHugePages(2, held * pageBytes, 'app'), hugePages: { '2MB': asked * pageBytes } },
        { ...pinned(2, 'plain'), hugePages: { '2MB': 0 } },
        { ...pinned(2, 'more'), hugePages: { '2MB': (setAside - asked + 1) * pageBytes } },
      ];
      const pod = await context.runPod({ containers });
      const placeOf = async (container: RunningContainer) => {
        const list = await container.firstLine();
        const nodes = numaNodes.filter(({ cpus }) => cpus.overlaps(parseCpuList(list))).map(({ id }) => id);
        return { list, nodes, mems: container.cpuset().mems };
      };
      const app = await pod.startContainer('app');
      const ofApp = await placeOf(app);
      assert.deepEqual({ ...ofApp, list: '' }, { list: '', nodes: [1], mems: '1' });
      const ofPlain = await placeOf(await pod.startContainer('plain'));
      assert.deepEqual({ ...ofPlain, list: '' }, { list: '', nodes: [0], mems: '0' });
      let reason = '';
      await assert.rejects(pod.startContainer('more'), (error: Error) => {
        reason = error.message;
        return /hugepages-2Mi/.test(reason);
      });

      await app.firstLines(2); // it has its memory
      const limit = readFileSync(join('/sys/fs/cgroup', app.cgroupPath, 'hugetlb.2MB.max'), 'utf8').trim();
      assert.equal(limit, String(asked * pageBytes));
      const mapped = countMapped(app.pids());
      assert.deepEqual([...mapped.keys()], ['N1']);
      assert.ok(mapped.get('N1')! >= held, `it has mapped ${mapped.get('N1')} pages`);
      const free = Number(readFileSync(join(filesOfNode, 'free_hugepages'), 'utf8'));
      assert.equal(setAside - free, mapped.get('N1'));
      await context.untilVerdict(daemon, app, 'kept');
      const check = await findInCheck('huge-pages');
      assert.deepEqual(check, { check: 'huge-pages', level: 'ok', text: 'hugepages-2Mi on memory nodes 1' });
      context.note(
        `${asked} of ${setAside} pages on node 1: CPUs ${ofApp.list}, ${mapped.get('N1')} mapped there; ` +
          `without, CPUs ${ofPlain.list}; then ${setAside - asked + 1}: ${reason.slice(reason.indexOf('topology-manager'))}`,
      );
    } finally {
      writeFileSync(join(filesOfNode, 'nr_hugepages'), '0');
    }
  },
};

/** A line of `cpusetd check`, asked of containerd in this machine. */
async function findInCheck(name: string): Promise<unknown> {
  const args = ['/in/cpusetd.js', 'check', '--report-only', '--reserved-cpus', '0', '-o', 'json'];
  const env = { PATH: process.env['PATH'] }; // a variable of the tests would be an option that it does not know
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env });
  assert.notEqual(stdout, '', stderr);
  const { findings } = JSON.parse(stdout) as { findings: readonly { readonly check: string }[] };
  return findings.find(({ check }) => check === name);
}

/**
 * Huge pages that these processes have mapped, by node: `7f0000400000 default file=/anon_hugepage huge anon=17 dirty=17
 * N1=17 …`.
 */
function countMapped(pids: readonly number[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of pids.flatMap((pid) => readFileSync(`/proc/${pid}/numa_maps`, 'utf8').split('\n')))
    if (line.includes(' huge '))
      for (const [, node, count] of line.matchAll(/ (N\d+)=(\d+)/g))
        counts.set(node!, (counts.get(node!) ?? 0) + Number(count));
  return counts;
}
