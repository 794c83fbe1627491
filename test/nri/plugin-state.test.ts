import { nextState, type PluginPhase, type PluginState } from '../../src/nri/serve-nri';

const at = (phase: PluginPhase): PluginState => ({ phase, sinceMs: 1000, reason: 'before' });

test.each`
  from              | to                | since
  ${'disconnected'} | ${'connecting'}   | ${1000}
  ${'connecting'}   | ${'disconnected'} | ${1000}
  ${'connecting'}   | ${'registered'}   | ${2000}
  ${'registered'}   | ${'synchronized'} | ${2000}
  ${'registered'}   | ${'registered'}   | ${1000}
  ${'synchronized'} | ${'disconnected'} | ${2000}
  ${'registered'}   | ${'disconnected'} | ${2000}
`('from $from to $to: the state began at $since', ({ from, to, since }: Record<string, never>) => {
  expect(nextState(at(from!), { phase: to!, reason: 'now' }, 2000)).toEqual({
    phase: to,
    reason: 'now',
    sinceMs: since,
  });
});

test('given the same phase and reason, then the state is the same object', () => {
  const state = at('synchronized');
  expect(nextState(state, { phase: 'synchronized', reason: 'before' }, 2000)).toBe(state);
});
