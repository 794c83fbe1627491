import { RepairReporter } from '../../../src/app/reconcile/repair-reporter';
import type { Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

const node = new NodeDriver().run('make p/a 2');
let outcomes: string[];
let context: ReturnType<typeof contextOf>;
let reporter: RepairReporter;
beforeEach(() => {
  outcomes = [];
  context = contextOf({ model: node.model, cgroups: {} as Cgroups });
  context.events.on('repaired', 'noting', ({ containerId, outcome }) => outcomes.push(`${containerId} ${outcome}`));
  reporter = new RepairReporter(context);
});
const failUpdate = (containerId: string): void => context.events.emit('updateFailed', { containerId });

test('an update that failed is a failed repair only while the repair is the runtime’s', () => {
  failUpdate('p/a#1');
  reporter.delegate('p/a#1');
  failUpdate('p/a#1');
  failUpdate('q/b#1');
  reporter.reportSuccess('p/a#1');
  failUpdate('p/a#1');
  expect(outcomes).toEqual(['p/a#1 failed', 'p/a#1 ok']);
});

test('a delegated repair of a container that is gone is forgotten', () => {
  reporter.delegate('gone');
  reporter.keepOnly(node.model.containers);
  expect(reporter.isDelegated('gone')).toBe(false);
});
