import { parseReserved, reservedShareOf } from '../../../src/qos/reclaim/reserved';

test.each`
  text                    | want
  ${''}                   | ${{ cpuPercent: 0, memoryPercent: 0 }}
  ${'cpu=40%,memory=40%'} | ${{ cpuPercent: 40, memoryPercent: 40 }}
  ${' memory = 12.5% '}   | ${{ cpuPercent: 0, memoryPercent: 12.5 }}
  ${'cpu=0%,memory=100%'} | ${{ cpuPercent: 0, memoryPercent: 100 }}
`('"$text" reserves $want', ({ text, want }) => {
  expect(parseReserved(text)).toEqual({ ok: true, value: want });
});

test.each`
  text                 | problem
  ${'cpu'}             | ${/no share \(cpu\)/}
  ${'cpu=40'}          | ${/no share \(cpu=40\)/}
  ${'cpu=101%'}        | ${/no share/}
  ${'cpu=-1%'}         | ${/no share/}
  ${'cpu=1e1%'}        | ${/no share/}
  ${'cpu=%'}           | ${/no share/}
  ${'cpu=40%,'}        | ${/no share \(\)/}
  ${'disk=40%'}        | ${/no share/}
  ${'cpu=40%,cpu=50%'} | ${/sets cpu twice/}
  ${'cpu=40%\u202e'}   | ${/no share \(cpu=40%\\u202e\)/}
`('"$text" is refused', ({ text, problem }) => {
  expect(parseReserved(text)).toMatchObject({ ok: false, problem: expect.stringMatching(problem) as string });
});

const OPTION = { cpuPercent: 40, memoryPercent: 30 };

test.each`
  name                                                    | resource    | annotations                                       | percent | because
  ${'without an annotation the option counts'}            | ${'cpu'}    | ${{}}                                             | ${40}   | ${/^by the option node-resource-reserved$/}
  ${'an annotation stands above the option'}              | ${'cpu'}    | ${{ 'reserve.node.gocrane.io/cpu': '25%' }}       | ${25}   | ${/^by the annotation reserve\.node\.gocrane\.io\/cpu$/}
  ${'an annotation of the other does not'}                | ${'memory'} | ${{ 'reserve.node.gocrane.io/cpu': '25%' }}       | ${30}   | ${/option/}
  ${'an annotation may reserve nothing'}                  | ${'memory'} | ${{ 'reserve.node.gocrane.io/memory': ' 0% ' }}   | ${0}    | ${/annotation/}
  ${'a wrong annotation is named, and the option counts'} | ${'memory'} | ${{ 'reserve.node.gocrane.io/memory': '25' }}     | ${30}   | ${/^by the option .*, since the annotation reserve\.node\.gocrane\.io\/memory is "25"/}
  ${'a wrong annotation can move no cursor'}              | ${'cpu'}    | ${{ 'reserve.node.gocrane.io/cpu': '\u001b[2J' }} | ${40}   | ${/"\\u001b\[2J"/}
`('$name', ({ resource, annotations, percent, because }) => {
  const share = reservedShareOf(resource, OPTION, annotations);
  expect(share.percent).toBe(percent);
  expect(share.because).toMatch(because);
});
