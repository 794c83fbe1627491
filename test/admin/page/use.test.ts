import { PageModel } from '../../../src/admin/page/page-model';
import { diffContent } from '../../../src/admin/page/render/fragments';
import { renderUse } from '../../../src/admin/page/render/use';
import type { NodeStatus } from '../../../src/admin/model/status';
import { parseCpuList } from '../../../src/core/cpuset';
import { SampleBackend, sampleLent, sampleQos, sampleStatus, sampleUsage } from '../sample-status';
import { ask, startPage } from './page-rig';

const { usage: _usage, qos: _qos, lent: _lent, ...plain } = sampleStatus.node;
const render = (node: Pick<NodeStatus, 'usage' | 'qos' | 'lent'>) =>
  renderUse({ ...sampleStatus, node: { ...plain, ...node } });
/** The text that a browser shows, with one space between its parts. */
const textOf = (html: string): string =>
  html
    .replace(/<\/?time[^>]*>/g, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
const shownIn = (node: Parameters<typeof render>[0], id: string): string =>
  textOf(render(node).find((fragment) => fragment.id === id)?.html.text ?? 'no such section');

test('given nothing that is on: no section', () => {
  expect(render({})).toEqual([]);
});

test('a section for each part that there is', () => {
  const idsOf = (node: Parameters<typeof render>[0]) => render(node).map(({ id }) => id);
  expect(idsOf({ lent: sampleLent })).toEqual(['use-node']);
  expect(idsOf({ usage: { ...sampleUsage, sets: [] } })).toEqual(['use-node']);
  expect(idsOf({ usage: sampleUsage, qos: sampleQos })).toEqual([
    ...['use-node', 'use-sets', 'use-rules', 'use-throttled', 'use-actions'],
  ]);
});

test('the node in numbers', () => {
  expect(shownIn({ usage: sampleUsage, qos: sampleQos, lent: sampleLent }, 'use-node')).toBe(
    'Use and rules Read 2026-11-21T10:00:00Z. cpusetd qos has all of it. ' +
      'CPUs busy 37.5 % of 8 CPUs memory used 12 GiB of 32 GiB load 3.20 over 1 minute ' +
      'exclusive, by owners 2.5 CPUs used by the containers that have them ' +
      'exclusive, by others 0.25 CPUs host processes, kernel threads, interrupts ' +
      'exclusive, unused 1.25 CPUs of all exclusive CPUs together ' +
      'rules enforce 9 actions and 2 evictions left in this hour throttled 2 containers ' +
      'new pods kept away since 2026-11-21T10:00:00Z: busy/cpu is triggered ' +
      'lent 2.5 CPUs and 6 GiB of memory 40 % of the node is kept back',
  );
  expect(shownIn({ qos: { ...sampleQos, because: 'the API server is away' } }, 'use-node')).toContain(
    'rules enforce no rule is followed: the API server is away',
  );
});

test('promised CPUs with a bar for their use', () => {
  expect(shownIn({ usage: sampleUsage }, 'use-sets')).toContain(
    'default/ far numa 1,6-7 3 CPUs (100 %) - - default/ web app 2-3 0.75 CPUs (37.5 %) 12.3 ms/s 20 %',
  );
  const [, { html } = { html: { text: '' } }] = render({ usage: sampleUsage });
  expect([...html.text.matchAll(/<meter[^>]*value="(\d+)"/g)].map(([, value]) => value)).toEqual(['100', '38']);
});

test('more containers than are shown: those that waited most are, and the others are counted', () => {
  const sets = Array.from({ length: 150 }, (_, i) => ({
    namespace: 'n',
    pod: `p${i}`,
    container: 'c',
    containerId: String(i),
    cpus: parseCpuList('1'),
    usedMilliCpu: 1,
    waitMsPerSecond: i,
  }));
  const shown = shownIn({ usage: { ...sampleUsage, sets } }, 'use-sets');
  expect(shown).toContain('50 more are left out.');
  expect([shown.includes(' p149 '), shown.includes(' p50 '), shown.includes(' p49 ')]).toEqual([true, true, false]);
});

test('rules, throttled containers and actions with their reasons', () => {
  const shown = (id: string): string => shownIn({ qos: sampleQos }, id);
  expect(shown('use-rules')).toContain('busy/cpu triggered slow-down cpu_total_utilization is 81');
  expect(shown('use-throttled')).toContain('batch/ job main 2 CPUs 1.2 CPUs busy/cpu is triggered');
  expect(shown('use-throttled')).toContain('batch/ mapper main no limit 0.5 CPUs');
  expect(shown('use-actions')).toContain('evict batch/old failed a PodDisruptionBudget does not allow it');
  expect(shown('use-actions')).not.toContain('preview');
  expect(shownIn({ qos: { ...sampleQos, mode: 'preview' } }, 'use-actions')).toContain('preview changes nothing');
});

test('names and reasons are escaped, and no element has a style or a script', () => {
  const evil = '<script>"&\u202e';
  const [set] = sampleUsage.sets;
  const [rule] = sampleQos.rules;
  const html = render({
    usage: { ...sampleUsage, sets: [{ ...set!, pod: evil, namespace: evil }] },
    qos: { ...sampleQos, because: evil, rules: [{ ...rule!, rule: evil, state: evil, action: evil }] },
    lent: { ...sampleLent, because: evil },
  })
    .map((fragment) => fragment.html.text)
    .join('');
  expect(html).not.toMatch(/<script|\u202e| (style|on\w+)="/);
  expect(html.split('&lt;script&gt;&quot;&amp;').length - 1).toBe(7);
});

test('a new reading changes the figures alone; an end of all of it removes the sections', () => {
  const backend = new SampleBackend();
  const model = new PageModel(backend);
  const content = model.render([]);
  const usage = { ...sampleUsage, at: '2026-11-21T10:00:10.000Z' };
  backend.current = { ...sampleStatus, node: { ...sampleStatus.node, usage } };
  const next = model.render([]);
  const change = diffContent(content, next);
  expect(change?.replace.map(([id]) => id)).toEqual(['part-usage', 'use-node']);
  backend.current = { ...sampleStatus, node: plain };
  const end = diffContent(next, model.render([]));
  expect(end?.remove).toEqual(expect.arrayContaining(['use-node', 'use-sets', 'use-rules', 'part-usage']));
});

test('the page has the sections when it is loaded', async () => {
  const page = await startPage(new SampleBackend());
  try {
    const { body } = await ask(page, '/');
    expect(body).toContain('<section id="use-sets"');
    expect(textOf(body)).toContain('Use and rules Read 2026-11-21T10:00:00Z.');
  } finally {
    await page.close();
  }
});
