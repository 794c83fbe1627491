import { Alarms } from '../../../src/app/alarms/alarms';
import { Faults } from '../../../src/app/alarms/faults';
import { DaemonEvents } from '../../../src/app/transaction/daemon-events';
import { pino } from 'pino';

function open() {
  const logged: string[] = [];
  const log = pino({}, { write: (line) => void logged.push(line) });
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  return { events: new DaemonEvents(new Faults({ log, alarms })), logged, alarms };
}

test('given several listeners of a kind, each gets the event, in the order of registration', () => {
  const { events } = open();
  const called: string[] = [];
  events.on('repaired', 'counting', ({ outcome }) => void called.push(`count ${outcome}`));
  events.on('updateFailed', 'noting', () => void called.push('failed'));
  events.on('repaired', 'reporting', ({ containerId }) => void called.push(`report ${containerId}`));
  events.emit('repaired', { containerId: 'a', outcome: 'ok' });
  expect(called).toEqual(['count ok', 'report a']);
});

test('given a listener that throws, it is reported to the faults by its name, and the others are called', () => {
  const { events, logged, alarms } = open();
  let called = 0;
  events.on('changed', 'a part that fails', () => {
    throw new Error('an internal fault');
  });
  events.on('changed', 'a part that works', () => called++);
  for (let i = 0; i < 3; i++) events.emit('changed');
  expect(called).toBe(3);
  expect(logged[0]).toContain('"part":"a part that fails"');
  expect(alarms.list()).toMatchObject([{ kind: 'internal-fault', subject: 'a part that fails' }]);
});
