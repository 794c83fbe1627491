import { InputRecorder } from '../../../src/state/journal';
import type { NodeEvent, RuntimeAnswer } from '../../../src/core/model/events';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { NodeDriver, podOf, resourcesOf } from '../../core/transition/node-driver';
import { specOf } from '../../support/spec-of';

const timing = { decideMs: 0, saveMs: 0, moveMs: 0 };

/** A node, and what is recorded of its events. */
class RecordedNode extends NodeDriver {
  readonly recorder = new InputRecorder(this.model, () => ({ options: {} }));
  readonly recorded = this.take(this.recorder.start());

  override send(event: NodeEvent): RuntimeAnswer {
    const answer = super.send(event);
    this.recorded.push(...this.take(this.recorder.of({ request: event, answer, timing, reported: [] })));
    return answer;
  }

  private take(records: Iterable<object>): string[] {
    return [...records].map((record) => {
      const { of: part = '', event } = record as Readonly<Record<'of', string | undefined>> & {
        readonly event?: { readonly kind: string };
      };
      return event?.kind ?? part;
    });
  }
}

test('the life of a pod: each event that decides anything, and each once', () => {
  const node = new RecordedNode();
  node.run('pod p; make p/app 2; make p/side 0.1; end p/app; end p/side; stop p; remove p');
  const made = ['create-container', 'container-created', 'container-starting', 'container-started'];
  expect(node.recorded).toEqual([
    ...['settings', 'restored', 'pod-started'],
    ...made,
    ...made,
    ...['container-stopped', 'container-stopped', 'pod-stopped', 'pod-removed'],
  ]);
  expect(node.recorder.open).toBe(0);
});

test('a pod of which no event came is told before its container; an end without a beginning is not told', () => {
  const node = new RecordedNode();
  node.run('make p/app 2');
  node.send({ kind: 'container-stopped', containerId: 'unknown' });
  node.send({ kind: 'pod-removed', sandboxId: 'unknown' });
  expect(node.recorded.slice(2, 4)).toEqual(['pod-started', 'create-container']);
  expect(node.recorded).toHaveLength(7);
});

test('containers that are refused again and again, under an id of their own each time, take no memory', () => {
  const node = new RecordedNode();
  node.run('pod big');
  for (let i = 0; i < 1_000; i++) node.run('ask big/app 9');
  expect(node.recorded.filter((kind) => kind === 'create-container')).toHaveLength(1_000);
  expect(node.recorder.open).toBe(1); // the pod
});

test('after a list of the runtime those whose end was not seen are forgotten', () => {
  const node = new RecordedNode();
  for (let i = 0; i < 50; i++) node.run(`make p${i}/app 0.1`);
  expect(node.recorder.open).toBe(100);
  const pod = podOf('p0');
  const container = {
    id: 'p0/app#1',
    sandboxId: pod.sandboxId,
    name: 'app',
    phase: 'running',
    cgroupsPath: '/x',
    resources: resourcesOf(0.1),
  } as const;
  node.send({ kind: 'synchronize', pods: [pod], containers: [container] });
  expect(node.recorder.open).toBe(2);
  expect(node.recorded.slice(-3)).toEqual(['pod', 'container', 'listed']);
});

test('news of how a request ended is no input', () => {
  const node = new RecordedNode();
  const pod = podOf('p');
  const container = {
    id: 'c',
    sandboxId: pod.sandboxId,
    name: 'app',
    phase: 'creating',
    cgroupsPath: '',
    resources: {},
  } as const;
  const request = { kind: 'create-container', pod, container } as const;
  expect(node.recorder.of({ request, answer: { kind: 'ok' }, reported: [] })).toEqual([]);
  expect(node.recorder.of({ answer: { kind: 'ok' }, timing, reported: [] })).toEqual([]);
});

test('a decision that was not saved, or not made, is no input', () => {
  const node = new RecordedNode();
  const pod = podOf('p');
  const request = { kind: 'pod-started', pod } as const;
  for (const code of ['UNAVAILABLE', 'INTERNAL'] as const)
    expect(node.recorder.of({ request, timing, reported: [], answer: { kind: 'refuse', code, message: '' } })).toEqual(
      [],
    );
  const refused = { kind: 'refuse', code: 'RESOURCE_EXHAUSTED', message: '' } as const;
  expect(node.recorder.of({ request, timing, reported: [], answer: refused })).toHaveLength(1);
});

test('a complete list of pods tells which specs had been reported before: decisions follow from the others alone', () => {
  const node = new RecordedNode();
  const [p, q] = [specOf('p', 'app 1'), specOf('q', 'app 1')];
  const again = specOf('q', 'app 1');
  const record = (request: NodeEvent) => node.recorder.of({ request, answer: { kind: 'ok' }, timing, reported: [] });
  const listKnown = (...specs: PodSpec[]) => record({ kind: 'pod-specs', specs }).map(({ known }) => known ?? false);
  record({ kind: 'pod-spec', spec: p });
  // The last record ends the list.
  expect(listKnown(p, q)).toEqual([true, false, false]);
  expect(listKnown(p, again)).toEqual([true, false, false]);
  record({ kind: 'pod-spec-gone', uid: 'p' });
  expect(listKnown(p, again)).toEqual([false, true, false]);
});

test('rules that have changed come before what follows from them, and an end that no event told of is told', () => {
  const node = new RecordedNode();
  node.run('make p/app 2');
  const { model } = node;
  model.apply({ kind: 'set-settings', settings: { ...model.settings, minSharedCpus: 2 } });
  model.apply({ kind: 'drop-container', id: 'p/app#1' });
  const records = node.recorder.of({ answer: { kind: 'ok' }, timing, reported: [] });
  expect(records).toMatchObject([
    { of: 'settings', reserved: model.settings.reserved },
    { of: 'event', event: { kind: 'container-removed', containerId: 'p/app#1' } },
  ]);
  expect(node.recorder.of({ answer: { kind: 'ok' }, timing, reported: [] })).toEqual([]);
});

test('a changed option that changes no rule is recorded too', () => {
  const node = new RecordedNode();
  const changes = [{ option: 'log-level', from: 'info', to: 'warn' }];
  const reported = [{ kind: 'settings-changed', changes }] as const;
  expect(node.recorder.of({ answer: { kind: 'ok' }, timing, reported })).toMatchObject([{ of: 'settings' }]);
});
