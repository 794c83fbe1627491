import { onEachNode, onOneNode } from '../cluster/rig/on-each-node';
import { readChosenNames } from './chosen-names';

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

test.each([
  ['nothing', undefined, undefined],
  ['an empty text', '', undefined],
  ['one name', 'b', ['b']],
  ['several, in another order and with a comma too many', 'c,,a', ['a', 'c']],
])('%s in the variable', (_what, text, want) => {
  if (text !== undefined) process.env['CHOSEN'] = text;
  expect(readChosenNames('CHOSEN', ['a', 'b', 'c'])).toEqual(want);
});

test.each(['d', 'a,d', 'A', 'a b', 'toString'])('a name that is not known is refused: %j', (text) => {
  process.env['CHOSEN'] = text;
  expect(() => readChosenNames('CHOSEN', ['a', 'b'])).toThrow(/^CHOSEN has .*; there are a, b, with commas between$/);
});

test.each([
  ['CPUSETD_MODES', 'proxy', 'there are nri, cri-proxy'],
  ['CPUSETD_SUITES', 'sid,bookworm', 'there are trixie, sid, release, crio'],
])('tests of clusters are not defined with %s=%s', (variable, text, known) => {
  process.env[variable] = text;
  const matrix = { dependsOn: 'mode', because: 'of a test' } as const;
  expect(() => onEachNode('t', matrix, () => undefined)).toThrow(known);
  expect(() => onOneNode('t', () => undefined)).toThrow(known);
});
