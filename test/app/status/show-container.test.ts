import { showAssignment, showContainer } from '../../../src/app/status/show-container';
import type { VerdictEntry } from '../../../src/app/status/verdict-store';
import { basisOf } from '../../../src/core/verdict/judgement';
import { cpus, NodeDriver } from '../../core/transition/node-driver';

const NOW = '2026-01-01T00:00:09Z';
const SINCE = '2026-01-01T00:00:05Z';

function show(
  history: string,
  target: `${string}/${string}`,
  entryOf: (node: NodeDriver) => Partial<VerdictEntry> | undefined = () => undefined,
) {
  const node = new NodeDriver().run(history);
  const { model } = node;
  const container = node.container(target)!;
  const entry = entryOf(node);
  return showContainer(
    model,
    {
      container,
      pod: model.pods.get(container.sandboxId),
      assignment: model.assignments.get(target),
      entry: entry && ({ basis: basisOf(model, container), since: SINCE, at: SINCE, ...entry } as VerdictEntry),
      drift: undefined,
      foreign: undefined,
      topology: model.topology,
      settings: model.settings,
      isPoolOverlapping: false,
      hasIdentity: false,
    },
    () => NOW,
  );
}

test('an exclusive container has its names, promise, kind and rules', () => {
  expect(show('make p/a 2', 'p/a')).toMatchObject({
    id: 'p/a#1',
    podUid: 'p',
    namespace: 'ns',
    pod: 'p',
    container: 'a',
    placement: 'exclusive',
    kind: 'static',
    requested: 2,
    rules: { policy: 'static' },
    promise: { cpus: cpus('1,5') },
  });
});

test('a shared container has neither kind nor rules, and without a reading no observation', () => {
  const shown = show('make q/s 0', 'q/s');
  expect(shown).toMatchObject({ placement: 'shared', requested: 0 });
  expect([shown.kind, shown.rules, shown.observation]).toEqual([undefined, undefined, undefined]);
});

test('an observation and the time of its verdict come from the last verdict', () => {
  const seen = { kind: 'seen', cpus: cpus('1,5'), effective: cpus('1'), mems: cpus('0') } as const;
  const verdict = { kind: 'kept', because: 'as promised' } as const;
  const shown = show('make p/a 2', 'p/a', () => ({ observation: seen, verdict }));
  expect(shown.observation).toEqual({ cpus: cpus('1,5'), effectiveCpus: cpus('1'), mems: cpus('0'), at: SINCE });
  expect(shown.verdict).toEqual({ kind: 'kept', reason: 'as promised', since: SINCE });
});

test('an idle assignment has an empty container id', () => {
  const { model } = new NodeDriver().run('make p/a 2; end p/a');
  const [assignment] = [...model.assignments.values()];
  expect(showAssignment(assignment!)).toMatchObject({ pod: 'p', container: 'a', containerId: '', cpus: cpus('1,5') });
});
