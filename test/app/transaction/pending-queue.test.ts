import { pino } from 'pino';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Alarms } from '../../../src/app/alarms/alarms';
import { Faults } from '../../../src/app/alarms/faults';
import { PendingQueue } from '../../../src/app/transaction/pending-queue';
import { Draft } from '../../../src/core/transition';
import { NodeDriver } from '../../core/transition/node-driver';

/** The maximum number of decisions in one transaction on a machine with one NUMA node. */
const AT_ONCE = 32;

/** A node with this number of running containers that wait for more CPUs than are free. */
function startWaiting(waiting: number) {
  const node = new NodeDriver().run('make a/x 6');
  for (let i = 0; i < waiting; i++) {
    const target = `w${String(i).padStart(3, '0')}/c`;
    node.run(`know ${target} 4`);
    node.send({ kind: 'container-created', ...node.infoOf(target) });
  }
  const log = pino({ level: 'silent' });
  const faults = new Faults({ log, alarms: new Alarms({ log, now: () => '', onChange: () => undefined }) });
  const stop = new AbortController();
  /** The number of decisions in each transaction. */
  const turns: number[] = [];
  const transactor = {
    change: (work: (draft: Draft) => unknown) => {
      const draft = new Draft(node.model, '2026-01-01T00:00:00Z');
      const spend = jest.spyOn(draft, 'spend');
      work(draft);
      turns.push(spend.mock.results.filter(({ value }) => value === true).length);
      if (draft.isCut) line.goOn(); // as the daemon does after each transaction
    },
  };
  const line: PendingQueue = new PendingQueue({ model: node.model, transactor, faults, signal: stop.signal });
  return { node, line, turns, stop };
}

async function passTurns(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await nextTurn();
}

test('80 waiting containers are decided once each, in transactions of limited size', async () => {
  const { line, turns } = startWaiting(80);
  line.lookNow();
  expect(turns).toEqual([AT_ONCE]);
  await passTurns(10);
  expect(turns).toEqual([AT_ONCE, AT_ONCE, 80 - 2 * AT_ONCE]);
});

test('new releases in between do not restart the pass; one more pass follows', async () => {
  const { line, turns } = startWaiting(80);
  line.goOn();
  for (let i = 0; i < 2; i++) {
    await nextTurn();
    line.goOn();
  }
  await passTurns(20);
  const onePass = [AT_ONCE, AT_ONCE, 80 - 2 * AT_ONCE];
  expect(turns.slice(0, 3)).toEqual(onePass);
  expect(turns.slice(3)).toEqual(onePass);
});

test('without waiting containers no transaction is made, and none after abort', async () => {
  const idle = startWaiting(0);
  idle.line.lookNow();
  expect(idle.turns).toEqual([]);
  const ended = startWaiting(80);
  ended.line.goOn();
  ended.stop.abort();
  await passTurns(5);
  expect(ended.turns).toEqual([]);
});
