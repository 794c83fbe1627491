import { readFlags } from '../../../src/app/config/read-flags';

test('each flag is a setting', () => {
  expect(readFlags({ mode: ['nri'], 'state-dir': ['/x'] })).toEqual({
    settings: [
      { name: 'mode', text: 'nri', origin: { kind: 'flag' } },
      { name: 'state-dir', text: '/x', origin: { kind: 'flag' } },
    ],
    problems: [],
  });
});

test('a flag that is given twice is a problem, and its first value is the setting', () => {
  const { settings, problems } = readFlags({ mode: ['nri', 'cri-proxy'] });
  expect(settings.map(({ text }) => text)).toEqual(['nri']);
  expect(problems).toEqual(['--mode: is given 2 times; give it once']);
});
