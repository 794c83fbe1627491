import {
  afterCollection,
  afterFirstUndo,
  afterRound,
  beginRound,
  delayStart,
  endPhase,
  FIRST_PHASE,
  reasonOf,
  stopRules,
  type Phase,
} from '../../../src/qos/phases/phase';

const STARTING: Phase = { kind: 'starting', because: 'not yet' };
const IDLE: Phase = { kind: 'idle', because: 'no news' };
const PREVIEWING: Phase = { kind: 'previewing', followedMs: 10, collectedMs: 9 };
const ACTING: Phase = { kind: 'acting', followedMs: 10, collectedMs: 9 };
const ENDING: Phase = { kind: 'ending', because: 'no news' };

const undo = { mode: 'enforce', isDone: false, areOnlyQuotasLeft: false, whyNotUndone: 'no answer' } as const;
const left = 'what an earlier process left is not undone yet: no answer';

/** The transitions by name, each with the arguments of an ordinary case. */
const TRANSITIONS: Readonly<Record<string, (phase: Phase) => Phase>> = {
  'first undo done': (phase) => afterFirstUndo(phase, { ...undo, isDone: true }),
  'only quotas left': (phase) => afterFirstUndo(phase, { ...undo, areOnlyQuotasLeft: true }),
  'first undo failed': (phase) => afterFirstUndo(phase, undo),
  'first undo failed, off': (phase) => afterFirstUndo(phase, { ...undo, mode: 'off' }),
  'note unreadable': (phase) => delayStart(phase, 'EIO'),
  collection: (phase) => afterCollection(phase, 20),
  'preview round begins': (phase) => beginRound(phase, 'preview', 21, 20),
  'enforce round begins': (phase) => beginRound(phase, 'enforce', 21, 20),
  'round ends': (phase) => afterRound(phase, 30),
  stop: (phase) => stopRules(phase, 'off'),
  end: endPhase,
};

test.each`
  from          | transition                  | to
  ${STARTING}   | ${'first undo done'}        | ${{ kind: 'idle', because: 'not yet' }}
  ${STARTING}   | ${'only quotas left'}       | ${{ kind: 'idle', because: 'not yet' }}
  ${STARTING}   | ${'first undo failed'}      | ${{ kind: 'starting', because: left }}
  ${STARTING}   | ${'first undo failed, off'} | ${STARTING}
  ${STARTING}   | ${'note unreadable'}        | ${{ kind: 'starting', because: 'EIO' }}
  ${STARTING}   | ${'collection'}             | ${STARTING}
  ${STARTING}   | ${'preview round begins'}   | ${STARTING}
  ${STARTING}   | ${'enforce round begins'}   | ${STARTING}
  ${STARTING}   | ${'round ends'}             | ${STARTING}
  ${STARTING}   | ${'stop'}                   | ${{ kind: 'starting', because: 'off' }}
  ${STARTING}   | ${'end'}                    | ${{ kind: 'ending', because: 'not yet' }}
  ${IDLE}       | ${'first undo done'}        | ${IDLE}
  ${IDLE}       | ${'only quotas left'}       | ${IDLE}
  ${IDLE}       | ${'first undo failed'}      | ${IDLE}
  ${IDLE}       | ${'first undo failed, off'} | ${IDLE}
  ${IDLE}       | ${'note unreadable'}        | ${IDLE}
  ${IDLE}       | ${'collection'}             | ${IDLE}
  ${IDLE}       | ${'preview round begins'}   | ${{ kind: 'previewing', followedMs: 21, collectedMs: 20 }}
  ${IDLE}       | ${'enforce round begins'}   | ${{ kind: 'acting', followedMs: 21, collectedMs: 20 }}
  ${IDLE}       | ${'round ends'}             | ${IDLE}
  ${IDLE}       | ${'stop'}                   | ${{ kind: 'idle', because: 'off' }}
  ${IDLE}       | ${'end'}                    | ${ENDING}
  ${PREVIEWING} | ${'first undo done'}        | ${PREVIEWING}
  ${PREVIEWING} | ${'only quotas left'}       | ${PREVIEWING}
  ${PREVIEWING} | ${'first undo failed'}      | ${PREVIEWING}
  ${PREVIEWING} | ${'first undo failed, off'} | ${PREVIEWING}
  ${PREVIEWING} | ${'note unreadable'}        | ${PREVIEWING}
  ${PREVIEWING} | ${'collection'}             | ${{ ...PREVIEWING, collectedMs: 20 }}
  ${PREVIEWING} | ${'preview round begins'}   | ${PREVIEWING}
  ${PREVIEWING} | ${'enforce round begins'}   | ${ACTING}
  ${PREVIEWING} | ${'round ends'}             | ${{ ...PREVIEWING, followedMs: 30 }}
  ${PREVIEWING} | ${'stop'}                   | ${{ kind: 'idle', because: 'off' }}
  ${PREVIEWING} | ${'end'}                    | ${{ kind: 'ending', because: '' }}
  ${ACTING}     | ${'first undo done'}        | ${ACTING}
  ${ACTING}     | ${'only quotas left'}       | ${ACTING}
  ${ACTING}     | ${'first undo failed'}      | ${ACTING}
  ${ACTING}     | ${'first undo failed, off'} | ${ACTING}
  ${ACTING}     | ${'note unreadable'}        | ${ACTING}
  ${ACTING}     | ${'collection'}             | ${{ ...ACTING, collectedMs: 20 }}
  ${ACTING}     | ${'preview round begins'}   | ${ACTING}
  ${ACTING}     | ${'enforce round begins'}   | ${ACTING}
  ${ACTING}     | ${'round ends'}             | ${{ ...ACTING, followedMs: 30 }}
  ${ACTING}     | ${'stop'}                   | ${{ kind: 'idle', because: 'off' }}
  ${ACTING}     | ${'end'}                    | ${{ kind: 'ending', because: '' }}
  ${ENDING}     | ${'first undo done'}        | ${ENDING}
  ${ENDING}     | ${'only quotas left'}       | ${ENDING}
  ${ENDING}     | ${'first undo failed'}      | ${ENDING}
  ${ENDING}     | ${'first undo failed, off'} | ${ENDING}
  ${ENDING}     | ${'note unreadable'}        | ${ENDING}
  ${ENDING}     | ${'collection'}             | ${ENDING}
  ${ENDING}     | ${'preview round begins'}   | ${ENDING}
  ${ENDING}     | ${'enforce round begins'}   | ${ENDING}
  ${ENDING}     | ${'round ends'}             | ${ENDING}
  ${ENDING}     | ${'stop'}                   | ${{ kind: 'ending', because: 'off' }}
  ${ENDING}     | ${'end'}                    | ${ENDING}
`('$from.kind, then $transition', ({ from, transition, to }: { from: Phase; transition: string; to: Phase }) => {
  expect(TRANSITIONS[transition]!(from)).toEqual(to);
});

test('the first phase says that nothing was measured; a phase that follows rules has no reason not to', () => {
  expect([FIRST_PHASE, PREVIEWING, ACTING, IDLE].map(reasonOf)).toEqual([
    'nothing was measured yet',
    '',
    '',
    'no news',
  ]);
});
