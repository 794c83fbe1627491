import type { Phase } from '../../../src/qos/phases/phase';
import { planLook, type LookFacts } from '../../../src/qos/phases/plan-look';

const PHASES = {
  starting: { kind: 'starting', because: 'not yet' },
  idle: { kind: 'idle', because: 'no news' },
  previewing: { kind: 'previewing', followedMs: 1_000, collectedMs: 900 },
  acting: { kind: 'acting', followedMs: 1_000, collectedMs: 900 },
  /** Collections still come, and their rules can't be followed. */
  stuck: { kind: 'acting', followedMs: 1_000, collectedMs: 30_000 },
  ending: { kind: 'ending', because: '' },
} as const satisfies Record<string, Phase>;

const FACTS: LookFacts = {
  mode: 'enforce',
  nowMs: 31_000,
  lateMs: 30_000,
  isInForce: false,
  owesUnknown: false,
  isUndoDue: true,
};

test.each`
  name                                               | phase           | facts                                                       | want
  ${'what an earlier process left is undone'}        | ${'starting'}   | ${{}}                                                       | ${'start'}
  ${'the first undo waits for its time'}             | ${'starting'}   | ${{ isUndoDue: false, isInForce: true }}                    | ${'nothing'}
  ${'nothing is left'}                               | ${'idle'}       | ${{}}                                                       | ${'nothing'}
  ${'what is left is undone, with the reason'}       | ${'idle'}       | ${{ isInForce: true }}                                      | ${'undo: no news'}
  ${'what is left waits for its time'}               | ${'idle'}       | ${{ isInForce: true, isUndoDue: false }}                    | ${'nothing'}
  ${'idle is never late'}                            | ${'idle'}       | ${{ nowMs: 10_000_000 }}                                    | ${'nothing'}
  ${'preview undoes what is left'}                   | ${'previewing'} | ${{ isInForce: true, mode: 'preview' }}                     | ${'undo: qos-actions is preview'}
  ${'preview has nothing to undo'}                   | ${'previewing'} | ${{ mode: 'preview' }}                                      | ${'nothing'}
  ${'preview is late'}                               | ${'previewing'} | ${{ mode: 'preview', nowMs: 31_001 }}                       | ${'stop: the node was not measured for 30 s'}
  ${'actions in force stay'}                         | ${'acting'}     | ${{ isInForce: true }}                                      | ${'nothing'}
  ${'a lost note is owed'}                           | ${'acting'}     | ${{ isInForce: true, owesUnknown: true }}                   | ${'undo-unknown'}
  ${'a lost note waits for its time'}                | ${'acting'}     | ${{ isInForce: true, owesUnknown: true, isUndoDue: false }} | ${'nothing'}
  ${'the node is not measured'}                      | ${'acting'}     | ${{ nowMs: 61_000, isInForce: true, isUndoDue: false }}     | ${'stop: the node was not measured for 60 s'}
  ${'it is measured, and rules can not be followed'} | ${'stuck'}      | ${{ nowMs: 42_000 }}                                        | ${'stop: rules could not be followed for 41 s'}
  ${'the end has begun'}                             | ${'ending'}     | ${{ isInForce: true, owesUnknown: true, nowMs: 61_000 }}    | ${'nothing'}
`(
  '$phase: $name',
  ({ phase, facts, want }: { phase: keyof typeof PHASES; facts: Partial<LookFacts>; want: string }) => {
    const step = planLook(PHASES[phase], { ...FACTS, ...facts });
    expect('because' in step ? `${step.kind}: ${step.because}` : step.kind).toBe(want);
  },
);
