// Steers the interrupts of a fake folder and kills itself before the operation with the given number: of the file, or
// the move of an interrupt.
import { inShortWrites, watchOps } from '../../../state/support/fs-doubles';
import { moverIn, steeringOf } from './steering-of';

const [stateDir = '', procRoot = '', killAt = ''] = process.argv.slice(2);
const count = { value: 0 };
const step = (): void => {
  if (count.value++ === Number(killAt)) process.kill(process.pid, 'SIGKILL');
};
const move = moverIn(procRoot);

async function main(): Promise<void> {
  const { steering, own } = steeringOf({
    stateDir,
    procRoot,
    fs: watchOps(step, inShortWrites(100)),
    move: (irq, cpus) => {
      step();
      const outcome = move(irq, cpus);
      step();
      return outcome;
    },
  });
  await steering.resume();
  own('4-5');
  await steering.steer();
  own('4-6');
  await steering.steer();
  await steering.restore();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
