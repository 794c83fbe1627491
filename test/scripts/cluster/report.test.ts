import { loadScript } from '../../support/load-script';

interface Report {
  formatTables(results: { testResults: { assertionResults: Assertion[] }[] }): string;
  updatePage(page: string, parts: readonly string[]): string;
}
interface Assertion {
  readonly ancestorTitles: readonly string[];
  readonly title: string;
  readonly status: string;
  readonly duration?: number | null;
}

let report: Report;
beforeAll(async () => {
  report = await loadScript<Report>('cluster/report.mjs');
});

const result = (group: string, status: string, duration: number | null = 4_250): Assertion => ({
  ancestorTitles: [group],
  title: 'resized',
  status,
  duration,
});

test('scenarios on several kinds of nodes are rows of the first table, those that run once are in the second', () => {
  const assertionResults = [
    result('pods [trixie, nri]', 'passed'),
    result('pods [sid, cri-proxy]', 'failed'),
    { ...result('pods [sid, nri]', 'pending', null), ancestorTitles: ['pods [sid, nri]', '[not run: a reason]'] },
    { ...result('rights [sid, nri]', 'passed', 90), title: 'all are used' },
    { ...result('schedulers', 'passed', 1_000), title: 'a | b' },
  ];
  expect(report.formatTables({ testResults: [{ assertionResults }] })).toBe(
    [
      '| scenario | sid, cri-proxy | sid, nri | trixie, nri |',
      '|---|---|---|---|',
      '| pods: resized | FAILED | not run | 4.3 |',
      '',
      '| scenario | on | seconds |',
      '|---|---|---|',
      '| rights: all are used | sid, nri | 0.1 |',
      '| schedulers: a \\| b | stand-in nodes | 1.0 |',
    ].join('\n'),
  );
});

test('the page keeps what is around the marks; a page without marks is refused', () => {
  const page = 'head\n\n<!-- table -->\n\nold\n\n<!-- end of table -->\n\ntail\n';
  const updated = report.updatePage(page, ['new', '| a |']);
  expect(updated).toBe('head\n\n<!-- table -->\n\nnew\n\n| a |\n\n<!-- end of table -->\n\ntail\n');
  expect(() => report.updatePage('head', [])).toThrow('the page has no <!-- table -->');
});
