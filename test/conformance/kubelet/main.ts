// Run by scripts/conformance.mjs: node main.js PROGRAMS DECISIONS SEED. Ends with 1 when a difference is of no
// documented kind.
import { compareWithKubelet } from './compare';
import { formatTally } from './format-tally';

async function main(): Promise<void> {
  const [programs = '', decisions = '', seed = ''] = process.argv.slice(2);
  const started = Date.now();
  const tally = await compareWithKubelet(programs, {
    seed: Number(seed),
    decisions: Number(decisions),
    mostCpus: 1024,
    onProgress: (now) => process.stderr.write(`${now.decisions} decisions, ${now.unexplained} unexplained\n`),
  });
  console.log(formatTally(tally));
  console.log(`seed ${seed}, ${Math.round((Date.now() - started) / 1000)} s`);
  for (const example of tally.examples) console.log(example);
  process.exitCode = tally.unexplained > 0 ? 1 : 0;
}

void main();
