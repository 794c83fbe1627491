import type { Phase } from '../../../src/qos/phases/phase';
import { NOT_SYNCHRONIZED, planRound, type RoundFacts } from '../../../src/qos/phases/plan-round';
import type { KnownObjects } from '../../../src/qos/objects/objects-of-node';

const OBJECTS: KnownObjects = {
  kind: 'known',
  nodeQoss: [],
  podQoss: [],
  actions: new Map(),
  pods: [],
  nodeLabels: {},
};
const LOST = { low: [], unknown: [] };
const FACTS: RoundFacts = {
  mode: 'enforce',
  isSynchronized: true,
  objects: () => OBJECTS,
  whyNoAction: () => undefined,
  lost: () => LOST,
};
const idle: Phase = { kind: 'idle', because: '' };
const starting: Phase = { kind: 'starting', because: '' };
const ending: Phase = { kind: 'ending', because: '' };
const acting: Phase = { kind: 'acting', followedMs: 0, collectedMs: 0 };
const away = { objects: () => ({ kind: 'unknown', because: 'no news' }) };
const noted = { whyNoAction: () => 'a note is lost' };
const owed = { lost: () => ({ because: 'specs are not known' }) };
const stop = (because: string) => ({ kind: 'stop', because });

test.each`
  name                                        | phase       | facts                                           | want
  ${'rules are followed'}                     | ${idle}     | ${{}}                                           | ${{ kind: 'enforce', objects: OBJECTS, lost: LOST }}
  ${'rules are followed again'}               | ${acting}   | ${{}}                                           | ${{ kind: 'enforce', objects: OBJECTS, lost: LOST }}
  ${'preview'}                                | ${idle}     | ${{ mode: 'preview' }}                          | ${{ kind: 'preview', objects: OBJECTS }}
  ${'preview does not need the note'}         | ${idle}     | ${{ mode: 'preview', ...noted, ...owed }}       | ${{ kind: 'preview', objects: OBJECTS }}
  ${'off'}                                    | ${acting}   | ${{ mode: 'off' }}                              | ${stop('qos-actions is off')}
  ${'off, and the start is not over'}         | ${starting} | ${{ mode: 'off' }}                              | ${stop('qos-actions is off')}
  ${'the start is not over'}                  | ${starting} | ${{ isSynchronized: false }}                    | ${{ kind: 'skip' }}
  ${'the end has begun'}                      | ${ending}   | ${{ mode: 'off' }}                              | ${{ kind: 'skip' }}
  ${'the runtime comes first'}                | ${acting}   | ${{ isSynchronized: false, ...away, ...noted }} | ${stop(NOT_SYNCHRONIZED)}
  ${'the API server comes before the note'}   | ${acting}   | ${{ ...away, ...noted }}                        | ${stop('no news')}
  ${'the API server is away in preview'}      | ${acting}   | ${{ mode: 'preview', ...away }}                 | ${stop('no news')}
  ${'a note is lost'}                         | ${acting}   | ${{ ...noted, ...owed }}                        | ${stop('a note is lost')}
  ${'a lost note can not be made up for yet'} | ${acting}   | ${owed}                                         | ${stop('specs are not known')}
`('$name', ({ phase, facts, want }: { phase: Phase; facts: Partial<RoundFacts>; want: unknown }) => {
  expect(planRound(phase, { ...FACTS, ...facts })).toEqual(want);
});

test('what costs a reading is read only when it decides', () => {
  const reads: string[] = [];
  const facts: RoundFacts = {
    ...FACTS,
    objects: () => (reads.push('objects'), OBJECTS),
    whyNoAction: () => void reads.push('note'),
    lost: () => (reads.push('quotas'), LOST),
  };
  planRound(idle, { ...facts, mode: 'off' });
  planRound(idle, { ...facts, isSynchronized: false });
  expect(reads).toEqual([]);
  planRound(idle, { ...facts, mode: 'preview' });
  expect(reads).toEqual(['objects']);
});
