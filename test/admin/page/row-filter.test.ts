import { parseFilter } from '../../../src/admin/page/client/row-filter';

const rows = [
  { text: 'default/db main exclusive 2-3,18-19 kept', verdict: 'kept', cpus: '2-3,18-19' },
  { text: 'default/web-17 main shared 0-1,16-17 drifted', verdict: 'drifted', cpus: '' },
  { text: 'default/model main exclusive 8-11 violated: it had drifted', verdict: 'violated', cpus: '8-11' },
  { text: 'default/job init idle 17', verdict: '', cpus: '17' },
];
const show = (typed: string): string =>
  rows
    .filter(parseFilter(typed).matches)
    .map(({ text }) => /\/(\S+)/.exec(text)![1])
    .join(' ');

test.each`
  typed                         | shown
  ${''}                         | ${'db web-17 model job'}
  ${'MAIN'}                     | ${'db web-17 model'}
  ${'main kept'}                | ${'db'}
  ${'17'}                       | ${'web-17 job'}
  ${'cpu 17'}                   | ${'job'}
  ${'cpu:17'}                   | ${'job'}
  ${'cpus 16-19'}               | ${'db job'}
  ${'9-17'}                     | ${'model job'}
  ${'3,9'}                      | ${'db model'}
  ${'cpu 3 main'}               | ${'db'}
  ${'cpu 0'}                    | ${''}
  ${'drifted'}                  | ${'web-17 model'}
  ${'verdict:drifted'}          | ${'web-17'}
  ${'verdict:drifted|violated'} | ${'web-17 model'}
  ${'verdict:drift'}            | ${''}
  ${'cpu'}                      | ${''}
  ${'19-3'}                     | ${''}
  ${'99999999999'}              | ${''}
  ${'cpu 1-'}                   | ${''}
`('"$typed" shows: $shown', ({ typed, shown }) => {
  expect(show(typed as string)).toBe(shown);
});

test('it says which CPUs it asks for', () => {
  expect(parseFilter('cpu 16-19 db 2').cpus.toString()).toBe('2,16-19');
  expect(parseFilter('web').cpus.isEmpty).toBe(true);
});
