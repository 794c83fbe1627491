import { DriftHistory } from '../../../src/app/status/drift-history';

const AT = '2026-11-24T10:00:00.000Z';
const LATER = '2026-11-24T10:00:05.000Z';

test('drifts and the outcomes of their repairs are counted for each container', () => {
  const history = new DriftHistory(() => new Set(['a', 'b']));
  history.noteDrift('a', AT);
  history.noteRepair('a', 'ok');
  history.noteDrift('a', LATER);
  history.noteRepair('a', 'failed');
  history.noteDrift('b', AT);
  expect(history.get('a')).toEqual({ drifts: 2, repairs: 1, failedRepairs: 1, lastAt: LATER });
  expect(history.get('b')).toEqual({ drifts: 1, repairs: 0, failedRepairs: 0, lastAt: AT });
  expect(history.get('c')).toBeUndefined();
});

test('a repair of a container that has not drifted changes nothing', () => {
  const history = new DriftHistory(() => new Set());
  const { revision } = history;
  history.noteRepair('a', 'ok');
  expect([history.get('a'), history.revision]).toEqual([undefined, revision]);
});

test('containers that are gone are forgotten, so the memory does not grow with them', () => {
  const known = new Set<string>();
  const history = new DriftHistory(() => known);
  for (let i = 0; i < 1_000; i++) {
    known.clear();
    known.add(`c${i}`);
    history.noteDrift(`c${i}`, AT);
    history.noteDrift(`c${i}`, AT);
  }
  const left = Array.from({ length: 1_000 }, (_, i) => history.get(`c${i}`)).filter((tally) => tally !== undefined);
  expect(left).toEqual([{ drifts: 2, repairs: 0, failedRepairs: 0, lastAt: AT }]);
});
