import { pino } from 'pino';
import { Decider, jobOf, type Job } from '../../../src/app/transaction/decide';
import type { NodeEvent } from '../../../src/core/model/events';
import { NodeDriver } from '../../core/transition/node-driver';

let node: NodeDriver;
let decider: Decider;
beforeEach(() => {
  node = new NodeDriver().run('make q/s 0; make r/t 0');
  decider = new Decider({ model: node.model, now: () => '2026-01-01T00:00:00Z', log: pino({ level: 'silent' }) });
});

/** The request to create this container with two CPUs of its own. */
function creation(target: string): NodeEvent {
  const other = new NodeDriver().run(`make ${target} 2`);
  const { pod, container } = other.infoOf(target);
  return { kind: 'create-container', pod, container };
}

const FAULTY: Job = {
  kind: 'create-container',
  mayBeRefused: true,
  work: () => {
    throw new Error('boom');
  },
};

const assigned = (): string[] => [...node.model.assignments.values()].map(({ containerName }) => containerName);

test('a decision that throws is answered INTERNAL and changes nothing, and the rest of its batch is decided', () => {
  const [before, faulty, after] = decider.decideAll([
    jobOf(creation('p/a'), undefined),
    FAULTY,
    jobOf(creation('p/b'), undefined),
  ]);
  expect([before, faulty, after].map((each) => each!.outcome.answer.kind)).toEqual(['ok', 'refuse', 'ok']);
  expect(faulty).toMatchObject({ draft: undefined, outcome: { answer: { code: 'INTERNAL' } } });
  expect(assigned()).toEqual(['a', 'b']);
});

test('two creations of one batch move each shared container once, to the pool that both leave', () => {
  const decided = decider.decideAll([jobOf(creation('p/a'), undefined), jobOf(creation('x/b'), undefined)]);
  const targets = new Map(
    decided.flatMap(({ outcome }) => outcome.moves).map(({ containerId, to }) => [containerId, to]),
  );
  expect([...targets.keys()].sort()).toEqual(['q/s#1', 'r/t#1']);
  for (const to of targets.values()) expect(to.cpus.toString()).toBe(node.model.sharedPool.toString());
});

test('without saving, a request for CPUs is refused and rolled back, and only the log gets the problem', () => {
  const decided = decider.decideWithoutSaving(jobOf(creation('p/a'), undefined), 'ENOSPC');
  expect(decided).toMatchObject({
    outcome: { answer: { kind: 'refuse', code: 'UNAVAILABLE' }, moves: [] },
    problem: 'ENOSPC',
  });
  expect(JSON.stringify(decided.outcome)).not.toContain('ENOSPC');
  expect({ assigned: assigned(), reported: decided.draft!.reported }).toEqual({ assigned: [], reported: [] });
});

test('without saving, the removal of a container is kept', () => {
  node.run('make p/a 2');
  const event: NodeEvent = { kind: 'container-removed', containerId: 'p/a#1' };
  const decided = decider.decideWithoutSaving(jobOf(event, undefined), 'ENOSPC');
  expect({ answer: decided.outcome.answer.kind, durable: decided.draft!.isDurable }).toEqual({
    answer: 'ok',
    durable: true,
  });
  expect(node.model.containers.has('p/a#1')).toBe(false);
});
