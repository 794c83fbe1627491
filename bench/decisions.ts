// CPU time of one decision of the static policy over a grid of machines, options, requests and wear: node bench/run.mjs
// decisions [nodes [every nth case]] Least of three runs per case; printed are the median, the 99th of a hundred, and
// the worst case with its name.
import { POLICIES } from '../src/core/policy';
import { listDecisions } from '../test/core/policy/decision-grid';
import { leastCpuMs } from '../test/support/cpu-time';
import { percentile } from '../test/support/percentile';

const only = process.argv[2]?.split(',').map(Number);
const stride = Number(process.argv[3] ?? 1);

for (const nodes of only ?? [1, 2, 4, 8, 16]) {
  const times: { readonly ms: number; readonly name: string }[] = [];
  let place = 0;
  for (const { name, snapshot, request } of listDecisions(nodes)) {
    if (place++ % stride !== 0) continue;
    const decide = (): unknown => POLICIES.static(snapshot, request);
    times.push({ ms: leastCpuMs(decide), name });
  }
  times.sort((a, b) => a.ms - b.ms);
  const allMs = times.map(({ ms }) => ms);
  const at = (share: number): string => percentile(allMs, share).toFixed(2);
  const over = times.filter(({ ms }) => ms > 20).length;
  console.log(
    `${nodes} nodes: ${times.length} decisions, median ${at(0.5)} ms, 99 % ${at(0.99)} ms, worst ${at(1)} ms; above 20 ms: ${over}`,
  );
  for (const { ms, name } of times.slice(-3)) console.log(`    ${ms.toFixed(2)} ms  ${name}`);
}
