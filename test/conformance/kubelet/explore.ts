import { createRandom } from '../../support/random';
import { AskKubelet } from './ask-kubelet';
import { listRealMachines, makeMachine } from './machines';
import { compareHistory } from './histories';
import { compareSingles } from './single-decisions';
import { Tally } from './tally';

const [dir = '', seed = '1', machines = '200', per = '50'] = process.argv.slice(2);

async function main(): Promise<void> {
  const kubelets = { real: new AskKubelet(`${dir}/oracle`), repaired: new AskKubelet(`${dir}/repaired`) };
  const tally = new Tally();
  const random = createRandom(Number(seed));
  const started = Date.now();
  const real = process.env.REAL ? listRealMachines().filter(({ topology }) => topology.online.size <= 256) : [];
  const first = new Map<string, string>();
  const count = tally.count.bind(tally);
  tally.count = (what, kind, describe) => {
    if (kind && !first.has(`${what} ${kind}`)) first.set(`${what} ${kind}`, JSON.stringify(describe?.()));
    count(what, kind, describe);
  };
  for (let i = 0; i < Number(machines); i++) {
    const machine = real.length ? real[i % real.length]! : makeMachine(random, `random ${i}`);
    await Promise.all(Object.values(kubelets).map((k) => k.ask(machine.question)));
    if (process.env.HIST) { if (machine.topology.online.size > 3) for (let p = 0; p < 4; p++) await compareHistory(kubelets, machine, random, { tally, steps: Number(per) }); }
    else for (let p = 0; p < 4; p++) await compareSingles(kubelets, machine, random, { tally, questions: Number(per) });
  }
  await kubelets.real.stop(); await kubelets.repaired.stop();
  console.log(Object.fromEntries(tally.compared), tally.decisions, `${Date.now() - started} ms`);
  for (const [k, v] of [...tally.differences].sort()) console.log(String(v).padStart(6), k); console.log(tally.unexplained);
  for (const [k, v] of first) (k.includes('unknown') ? console.log(k, v.slice(-600)) : 0);
  require('node:fs').writeFileSync('/tmp/o13/examples.txt', tally.examples.join('\n'));
}
void main();
