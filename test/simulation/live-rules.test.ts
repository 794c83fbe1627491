import { CpuSet } from '../../src/core/cpuset';
import { NO_OPTIONS, type Settings } from '../../src/core/model/settings';
import { findBrokenInvariants } from '../support/invariants';
import { EIGHT_CPUS, HISTORY, HistoryContext, SETTINGS } from './node-history';
import { SimulatedNode } from './simulated-node';

const RULES: Readonly<Record<string, Settings>> = {
  'more reserved CPUs': { ...SETTINGS, reserved: CpuSet.of([0, 1, 4]) },
  'strictly reserved CPUs': { ...SETTINGS, options: { ...NO_OPTIONS, strictCpuReservation: true } },
  'other reserved CPUs': { ...SETTINGS, reserved: CpuSet.of([7]) },
  'policy none': { ...SETTINGS, cpuManagerPolicy: 'none' },
  'policy numa': { ...SETTINGS, cpuManagerPolicy: 'numa' },
  'whole cores': { ...SETTINGS, options: { ...NO_OPTIONS, fullPcpusOnly: true } },
  'a larger shared pool, and sharing instead of refusing': {
    ...SETTINGS,
    minSharedCpus: 4,
    onInsufficientCpu: 'share',
    liftCpuQuota: false,
  },
};

/** The node after these first steps of the history. */
function runTo(steps: number): SimulatedNode {
  const node = new SimulatedNode(EIGHT_CPUS, SETTINGS);
  node.start();
  const context = new HistoryContext(node);
  for (const [, act] of HISTORY.slice(0, steps)) act(context);
  return node;
}

/** The assigned CPUs, and those of the kernel. */
function show(node: SimulatedNode): readonly string[] {
  const assignments = [...node.daemon!.model.assignments.values()].map(
    ({ podUid, containerName, containerId, kind, cpus }) =>
      `${podUid}/${containerName} ${containerId ?? 'idle'}: ${kind} ${cpus.toString()}`,
  );
  return [...assignments.sort(), ...[...node.kernel].map(([id, cpus]) => `${id} on ${cpus.toString()}`).sort()];
}

const ofAssigned = (node: SimulatedNode): readonly string[] =>
  [...node.daemon!.model.containers.values()]
    .filter(({ placement }) => placement === 'exclusive')
    .map(({ id }) => `${id} on ${node.kernel.get(id)?.toString() ?? 'nothing'}`);

describe.each(Object.keys(RULES))('%s', (name) => {
  const rules = RULES[name]!;
  const moments = HISTORY.map((_, i) => i + 1);

  test('taken live at any moment of a history: what has CPUs keeps them, and the invariants hold', () => {
    let held = 0;
    for (const steps of moments) {
      const node = runTo(steps);
      const before = ofAssigned(node);
      held += before.length;
      node.reload(rules);
      expect([steps, ofAssigned(node)]).toEqual([steps, before]);
      expect([steps, findBrokenInvariants(node)]).toEqual([steps, []]);
    }
    expect(held).toBeGreaterThan(moments.length);
  });

  test('a kill right after the change, and a start with the new rules: the same as if cpusetd had been restarted for them', () => {
    for (const steps of moments) {
      const [live, restarted] = [runTo(steps), runTo(steps)];
      live.reload(rules);
      for (const node of [live, restarted]) {
        node.kill();
        node.settings = rules;
        node.diskIsFull = false;
        node.start();
      }
      expect([steps, show(live)]).toEqual([steps, show(restarted)]);
    }
  });

  test('a kill at each effect of the change: the next start finds what has CPUs where it was', () => {
    for (const steps of moments) {
      for (let effects = 0; effects < 4; effects++) {
        const node = runTo(steps);
        const before = ofAssigned(node);
        node.effectsUntilCut = effects;
        node.reload(rules);
        node.kill();
        node.diskIsFull = false;
        node.start();
        const after = new Set(ofAssigned(node));
        expect([steps, effects, before.filter((each) => !after.has(each))]).toEqual([steps, effects, []]);
        expect([steps, effects, findBrokenInvariants(node)]).toEqual([steps, effects, []]);
      }
    }
  });
});
