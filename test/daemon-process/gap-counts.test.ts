import { MissedNode } from '../support/missed-node';
import { runInProcess } from '../support/run-cli';

// The containers of a gap, as a real process counts them.

let node: MissedNode;
beforeEach(async () => (node = await MissedNode.open()));
afterEach(() => node.close());

const countOf = (metrics: string): number => Number(/^cpusetd_gap_containers_total (\d+)$/m.exec(metrics)?.[1]);

/** The names that status has of the gap. */
async function missedNames(): Promise<readonly string[]> {
  const { stdout } = await runInProcess(['status', '-o', 'json', '--admin-socket', node.paths['admin-socket']!]);
  return (JSON.parse(stdout) as { node: { gap?: { names: readonly string[] } } }).node.gap?.names ?? [];
}

test('given that cpusetd runs in a container of the node, then a gap in which nothing else started has none', async () => {
  const own = await node.miss('cpusetd');
  const daemon = await node.startDaemon();
  node.makeCgroup(own, [daemon.pid]);
  await node.startRuntime();
  expect(countOf(await node.scrape())).toBe(0);
  expect(await missedNames()).toEqual([]);
});

test('given another container beside it, also one of its name, then this one counts', async () => {
  const own = await node.miss('cpusetd');
  const other = await node.miss('cpusetd-2');
  await node.miss();
  const daemon = await node.startDaemon();
  node.makeCgroup(own, [daemon.pid]);
  node.makeCgroup(other, [process.pid]);
  await node.startRuntime();
  expect(countOf(await node.scrape())).toBe(2);
  expect([...(await missedNames())].sort()).toEqual(['default/cpusetd-2/main', 'default/missed-1/main']);
});
